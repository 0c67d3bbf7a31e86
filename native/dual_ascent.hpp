// Dual coordinate ascent for the likelihood with a Gaussian prior, inside accelerated proximal-point steps.
//
// Every sequence i keeps a distribution q_i over its labellings, of which only the marginals are stored. The
// weights are a function of them all the time,
//
//   w_f = mean_f + (1 / precision_f) sum over i of c_i (gold counts_f - E_{q_i}[counts_f]),
//
// where mean and precision are those of a strengthened prior that follows the solution
// (proximal_point.hpp). A step mixes q_i with the distribution p_i of the current weights:
// q_i <- (1 - s) q_i + s p_i. Only the features of the sequence change.
//
// The dual of the problem as it was posed, D(q) = sum c_i h_i - penalty, is a lower bound of its minimum,
// since h_i <= H(q_i): entropy is concave, and h_i <- (1 - s) h_i + s H(p_i).
//
// How far? The gain of a step is
//
//   gain >= s c_i K_i - s^2 c_i^2 Q_i / 2     K_i = log Z_i - <theta, q_i> - h_i >= KL(q_i || p_i)
//                                             Q_i = |E_{p_i} - E_{q_i}|^2 in the metric 1 / precision
//
// K_i exceeds the divergence by the slack of h_i, which is estimated (`slack`) and taken off: K'_i. The step
// is s = 2 K'_i / (2 K'_i + c_i Q_i): never 1, since sequences of a group that resemble one another would
// overshoot together. Q_i is estimated as if no two positions shared a feature; `overlap`, the ratio of the
// true quadratic to that estimate, is measured on some groups and corrects it.
//
// Sequences run in groups: the weights stay as they are while a group is worked on and then take all its
// steps at once (groups of few tokens, the fewer the more features tokens share: steps that do not know of
// one another overshoot together), each weight by the thread that owns it (training_layout.hpp), so that the
// result does not depend on the number of threads.
//
// Hazard: marginals are stored in 32 bits, and minus those of the gold labelling: most are near 0 or 1 in the
// end, and what counts is how near.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "dual_point.hpp"
#include "proximal_point.hpp"

namespace fieldcraft {

class DualAscent final : public DualMethod {
 public:
  static constexpr bool kObserves = true;

  // ratio: how much stronger than the prior the first proximal penalty is. together: tokens that a group may
  // have; it has two sequences in any case.
  DualAscent(DualPoint point, double ratio, int64_t together);
  DualAscent(const DualAscent&) = delete;

  // One pass over the n sequences of `order`: all of them, or those that matter most (see State::gaps).
  // Returns the sum of c_i K_i, each as it was last computed.
  double run(const int64_t* order, size_t n, Watch& watch);

  struct Bounds {
    double dual;      // of the problem as it was posed
    double distance;  // its objective at the weights is dual + this + the sum of c_i K_i at the weights
  };
  // weights [n_features] <- the current ones, and what is known about them.
  Bounds bounds(double* weights) const;

  // An outer step: from now on the proximal penalty draws to another point. The weights change.
  void accelerate();

  // What must be saved to continue later bit for bit.
  struct State {
    std::vector<float> node, pairs, entries;  // marginals minus gold; see Group
    std::vector<double> entropy, slack;       // [N] h_i, and about H(q_i) - h_i
    std::vector<double> parts, gaps;          // [N] c_i K_i and c_i K'_i as they were last computed
    double overlap = 1;
    double stepped = 0, met = 0;          // sums of s c_i K'_i and of c_i K'_i since the last outer step
    std::vector<double> weights;          // [n_features]; empty in state_, as the next two
    std::vector<double> towards, before;  // [n_features] z and the weights of the last outer step
    double ratio = 1;
    auto fields() {
      return std::tie(node, pairs, entries, entropy, slack, parts, gaps, overlap, stepped, met, weights,
                      towards, before, ratio);
    }
  };
  State state() const;
  void restore(State state);
  bool accepts(const State& s) const {  // is it a state of this training
    const size_t n = static_cast<size_t>(n_sequences()), m = static_cast<size_t>(n_features());
    return s.node.size() == state_.node.size() && s.pairs.size() == state_.pairs.size() &&
           s.entries.size() == state_.entries.size() && s.entropy.size() == n && s.slack.size() == n &&
           s.parts.size() == n && s.gaps.size() == n && s.weights.size() == m && s.towards.size() == m &&
           s.before.size() == m;
  }
  const std::vector<double>& gaps() const { return state_.gaps; }

  // Memory that the stored marginals take at most: less where some label pairs have no weight.
  static size_t bytes(int64_t n_tokens, int64_t n_sequences, int64_t S, int64_t n_entries) {
    const size_t P = padded(S);
    return 4 * P * (static_cast<size_t>(n_tokens) + static_cast<size_t>(n_sequences) * S) +
           4 * static_cast<size_t>(n_entries) + 32 * n_sequences;
  }

 private:
  struct Lane;
  struct Group;
  class Round;
  double term(int64_t i) const override { return state_.entropy[i]; }
  double penalty() const override;
  void work_out(Group& group, size_t k, Lane& lane);
  double infer(int64_t i, double* scores, Lane& lane) const;
  Comparison compare(Group& group, size_t k, Lane& lane) const;
  void move(Group& group, size_t k, double s);
  double step_length(Group& group, size_t k, double K, double size);
  void apply(const Group& group, int owner);
  std::vector<int64_t> matched(const int64_t* order, size_t n) const;
  double quadratic(const Group& group, Lane& lane) const;

  void take_cells(const double* pairs, double* out) const;

  const TrainingLayout& layout_;
  const std::vector<uint32_t> cells_;  // the label pairs that have a weight, in [S, P]
  const size_t n_cells_;               // padded with zeros
  double usual_inverse_;               // the mean of 1 / precision: for the estimate of Q
  const int64_t together_;             // tokens of a group
  ProximalPoint proximal_;
  State state_;
};

}  // namespace fieldcraft
