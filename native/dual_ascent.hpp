// Dual coordinate ascent for the likelihood with a Gaussian prior.
//
// Every sequence i keeps a distribution q_i over its labellings, of which only the marginals are stored. The
// weights are a function of them all the time,
//
//   w_f = mean_f + (1 / precision_f) sum over i of c_i (gold counts_f - E_{q_i}[counts_f]),
//
// and the dual objective is D(q) = sum c_i H(q_i) - sum precision (w^2 - mean^2) / 2 <= P(w). A step mixes
// q_i with the distribution p_i of the current weights:  q_i <- (1 - s) q_i + s p_i. Only the features of the
// sequence change.
//
// How far? With h_i <= H(q_i) (entropy is concave: h_i <- (1 - s) h_i + s H(p_i)) the gain of a step is
//
//   gain >= s c_i K_i - s^2 c_i^2 Q_i / 2     K_i = log Z_i - <theta, q_i> - h_i >= KL(q_i || p_i)
//                                             Q_i = |E_{p_i} - E_{q_i}|^2 in the metric 1 / precision
//
// which s = min(1, K_i / (c_i Q_i)) makes largest. Q_i is estimated as if no two positions shared a feature;
// `overlap`, the ratio of the true quadratic to that estimate, is measured on some groups and corrects it.
// The sum of c_i K_i is the duality gap, P(w) - D(q), except that the weights change during the pass.
//
// Sequences run in groups: the weights stay as they are while a group is worked on and then take all its
// steps at once, each weight by the thread that owns it (training_layout.hpp), so that the result does not
// depend on the number of threads.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "dual_point.hpp"

namespace fieldcraft {

class DualAscent final : public DualMethod {
 public:
  explicit DualAscent(DualPoint point);

  // One pass over the n sequences of `order`: all of them, or those that matter most (see State::gaps).
  // Returns the sum of c_i K_i, each as it was last computed, and the dual.
  std::pair<double, double> run(const int64_t* order, size_t n, Watch& watch);

  // What must be saved to continue later bit for bit.
  struct State {
    std::vector<float> node, pairs;  // [tokens, P], [N, S, P], padding 0
    std::vector<double> entropy;     // [N]
    std::vector<double> gaps;        // [N] c_i K_i as it was last computed
    double overlap = 1;
    std::vector<double> weights;  // [n_features]; empty in state_
    auto fields() { return std::tie(node, pairs, entropy, gaps, overlap, weights); }
  };
  State state() const;
  void restore(State state);
  bool accepts(const State& s) const {  // is it a state of this training
    return s.node.size() == state_.node.size() && s.pairs.size() == state_.pairs.size() &&
           s.entropy.size() == state_.entropy.size() && s.gaps.size() == state_.gaps.size() &&
           s.weights.size() == static_cast<size_t>(n_features());
  }
  const std::vector<double>& gaps() const { return state_.gaps; }

  // Memory that the stored marginals take.
  static size_t bytes(int64_t n_tokens, int64_t n_sequences, int64_t S) {
    const size_t P = padded(S);
    return 4 * P * (static_cast<size_t>(n_tokens) + static_cast<size_t>(n_sequences) * S) + 8 * n_sequences;
  }

 private:
  struct Lane;
  struct Group;
  class Round;
  double term(int64_t i) const override { return state_.entropy[i]; }
  void work_out(Group& group, size_t k, Lane& lane);
  double infer(int64_t i, double* scores, Lane& lane) const;
  void apply(const Group& group, int owner);
  double quadratic(const Group& group, Lane& lane) const;

  const TrainingLayout& layout_;
  double usual_inverse_;  // the mean of 1 / precision: for the estimate of Q
  State state_;
};

}  // namespace fieldcraft
