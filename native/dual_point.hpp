// A point of a dual problem: distributions over labellings, and the weights that belong to them.
//
//   primal   sum of c_i max over y of (theta(y) + cost(y) - theta(gold)) + sum of precision (w - mean)^2 / 2
//   dual     sum of c_i E_{q_i}[cost]  -  sum of precision v (mean + v / 2),      w = mean + v
//            v_f = (1 / precision_f) sum over i of c_i (gold counts_f - E_{q_i}[counts_f])
//
// (For the likelihood the entropy of q_i takes the place of the expected cost.) How q_i is kept differs from
// method to method; here are the weights and the steps of one q_i. A step changes c_i (gold - E_{q_i}) by
// `move`, in potential space; along s * move the dual rises by
//
//   s * slope - s^2 * quadratic / 2,      quadratic = |A move|^2 in the metric 1 / precision
//
// with A the transposed design. The quadratic is exact: the move is made in full and the sequence is scored
// again.
//
// A weight with infinite precision stays at its mean.
#pragma once

#include <cstdint>
#include <vector>

#include "dual_weights.hpp"

namespace fieldcraft {

using Move = SequenceParts;

class DualPoint {
 public:
  // gold [tokens]; mean, precision [n_features]; cost [S, S] by gold label and label, or null for none. The
  // problem must outlive this; all else is copied.
  DualPoint(const ChainProblem& problem, const int32_t* gold, const double* mean, const double* precision,
            const double* cost);

  const TrainingLayout& layout() const { return problem_.layout(); }
  int S() const { return layout().S(); }
  int P() const { return layout().P(); }
  int64_t n_features() const { return layout().n_features(); }
  int64_t n_sequences() const { return layout().n_sequences(); }
  int64_t first(int64_t i) const { return layout().first(i); }
  int64_t length(int64_t i) const { return layout().length(i); }
  double weight_of(int64_t i) const { return problem_.weight_of(i); }
  const int32_t* gold(int64_t i) const { return gold_.data() + first(i); }
  const Edges& edges() const { return live_.edges(); }
  // Marginals [tokens, S] and [N, S, S] of the gold labellings: where the weights are the means.
  void gold_marginals(std::vector<double>& node, std::vector<double>& pairs) const;

  // scores [T, P] <- those of sequence i.
  void score(int64_t i, Buffer& scores) const {
    scores.reserve(static_cast<size_t>(length(i)) * P());
    live_.score(i, scores.data());
  }
  // Costs of the labels of token t of sequence i; [S].
  const double* costs(int64_t i, int64_t t) const {
    return cost_.data() + static_cast<size_t>(gold(i)[t]) * S();
  }

  // The labelling of greatest score + cost, and that sum; scores [T, P] are without costs.
  double worst(int64_t i, const Buffer& scores, std::vector<int32_t>& labels);
  // score + cost of a labelling.
  double value(int64_t i, const double* scores, const int32_t* labels) const;
  double cost_of(int64_t i, const int32_t* labels) const;

  // Room for a move of sequence i, all 0.
  void clear(int64_t i, Move& move) const;
  // Adds amount * indicator.
  void add_labelling(int64_t i, const int32_t* labels, double amount, Move& move) const;

  // Makes a move in full but for its pairs; scores [T, P] are those before, `after` those then. Returns the
  // quadratic. settle() must follow.
  double make(int64_t i, const Move& move, const double* scores, Buffer& after);
  // Leaves `share` of the move that was made (its contents are lost).
  void settle(int64_t i, Move& move, double share);
  // Both with the best share in 0 .. most; returns it. scores become those at the end.
  double search(int64_t i, Move& move, double slope, double most, double* scores);

  // All anew: back to the means, then moves one by one, and ready().
  void reset() { live_.set(mean_.data()); }
  void add(int64_t i, const Move& move);
  void ready() { live_.refresh(); }
  // The same for marginals of all sequences, node [tokens, S] and pairs [N, S, S]: no rounding of earlier
  // steps is left in the weights, and whoever has the marginals has the same bits.
  void rebuild(const std::vector<double>& node, const std::vector<double>& pairs);

  // The dual's second term, sum of precision v (mean + v / 2).
  double penalty() const;
  void weights(double* out) const { live_.get(out); }
  const std::vector<double>& inverse() const { return inverse_; }
  SequenceOracle& oracle() { return oracle_; }

 private:
  const ChainProblem& problem_;
  std::vector<int32_t> gold_;
  std::vector<double> mean_, inverse_;  // [n_features] mean, 1 / precision
  std::vector<double> cost_;            // [S, S]
  DualWeights live_;
  SequenceOracle oracle_;
  Buffer after_;
};

// What the methods that visit one sequence after the other share.
class DualMethod {
 public:
  explicit DualMethod(DualPoint point) : point_(std::move(point)) {}
  virtual ~DualMethod() = default;

  int64_t n_sequences() const { return point_.n_sequences(); }
  int64_t n_features() const { return point_.n_features(); }
  void weights(double* out) const { point_.weights(out); }
  virtual double dual() const = 0;

 protected:
  DualPoint point_;
  Buffer scores_;  // of the sequence that is visited
  Move move_;
  std::vector<int32_t> worst_;  // the labelling that violates the margin most
};

}  // namespace fieldcraft
