// Dual coordinate ascent for the likelihood with a Gaussian prior.
//
// Every sequence i keeps a distribution q_i over its labellings, of which only the marginals are stored. The
// weights are a function of them all the time,
//
//   w_f = mean_f + (1 / precision_f) sum over i of c_i (gold counts_f - E_{q_i}[counts_f]),
//
// and the dual objective is D(q) = sum c_i H(q_i) - sum precision (w^2 - mean^2) / 2 <= P(w). A step mixes
// q_i with what the model says now, p_i:  q_i <- (1 - s) q_i + s p_i. Only the features of the sequence
// change.
//
// How far? With h_i <= H(q_i) (entropy is concave: h_i <- (1 - s) h_i + s H(p_i)) the gain of a step is
//
//   gain >= s c_i K_i - s^2 c_i^2 Q_i / 2     K_i = log Z_i - <theta, q_i> - h_i >= KL(q_i || p_i)
//                                             Q_i = |E_{p_i} - E_{q_i}|^2 in the metric 1 / precision
//
// which s = min(1, K_i / (c_i Q_i)) makes largest. Q_i is estimated as if no two positions shared a feature;
// `overlap`, the ratio of the true quadratic to that estimate, is measured on some groups and corrects it.
// The sum of c_i K_i is the duality gap, P(w) - D(q), up to the weights' having moved during the pass.
//
// Sequences run in groups: the weights stay as they are while a group is worked on and then take all its
// steps at once, each weight by the thread that owns it (training_layout.hpp), so that the result does not
// depend on the number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "dual_weights.hpp"

namespace fieldcraft {

class DualAscent {
 public:
  // The problem's design is used, and must outlive this. gold [tokens]; mean, precision [n_features];
  // a precision is > 0, and infinite for a weight that must stay at its mean.
  DualAscent(const ChainProblem& problem, const int32_t* gold, const double* mean, const double* precision);

  int64_t n_sequences() const { return problem_.n_sequences(); }
  int64_t n_features() const { return problem_.n_features(); }

  struct Pass {
    double gap;      // sum of c_i K_i as they were met last
    double dual;     // D
    double overlap;  // see above
  };
  // One pass over the n sequences of `order`: all of them, or those that matter most (see State::gaps).
  Pass run(const int64_t* order, size_t n);

  // D as it is now: a lower bound of the objective's minimum.
  double dual() const;

  // The weights that belong to the stored marginals [n_features].
  void weights(double* out) const { live_.get(out); }

  // What must be kept, besides the weights, to go on later bit for bit.
  struct State {
    std::vector<float> node, pairs;  // [tokens, P], [N, S, P], padding 0
    std::vector<double> entropy;     // [N]
    std::vector<double> gaps;        // [N] c_i K_i as it was met last
    double overlap;
  };
  const State& state() const { return state_; }
  void restore(State state, const double* weights);

  // Memory that the stored marginals take.
  static size_t bytes(int64_t n_tokens, int64_t n_sequences, int S) {
    const size_t P = padded(S);
    return 4 * P * (static_cast<size_t>(n_tokens) + static_cast<size_t>(n_sequences) * S) + 8 * n_sequences;
  }

 private:
  struct Lane;
  struct Group;
  class Round;
  void work_out(Group& group, size_t k, Lane& lane);
  double infer(int64_t i, double* scores, Lane& lane) const;
  void apply(const Group& group, int owner);
  double quadratic(const Group& group, Lane& lane) const;

  const ChainProblem& problem_;
  const TrainingLayout& layout_;
  std::vector<double> mean_, inverse_;  // [n_features]; 1 / precision
  double usual_inverse_;                // their mean: for the estimate of Q
  DualWeights live_;
  State state_;
};

}  // namespace fieldcraft
