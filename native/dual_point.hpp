// A point of a dual problem: distributions over labellings, and the weights that belong to them.
//
//   primal   sum of c_i max over y of (theta(y) + cost(y) - theta(gold)) + sum of precision (w - mean)^2 / 2
//   dual     sum of c_i E_{q_i}[cost]  -  sum of precision v (mean + v / 2),      w = mean + v
//            v_f = (1 / precision_f) sum over i of c_i (gold counts_f - E_{q_i}[counts_f])
//
// (For the likelihood the entropy of q_i replaces the expected cost.) How q_i is stored differs between the
// methods; this class has the weights and the steps of one q_i. A step changes c_i (gold - E_{q_i}) by
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
#include "prior_numbers.hpp"

namespace fieldcraft {

using Move = SequenceParts;

class DualPoint {
 public:
  // gold [tokens]; mean, precision [n_features]; cost [S, S] by gold label and label, or null for none. The
  // problem must outlive this; all else is copied.
  DualPoint(const ChainProblem& problem, const int32_t* gold, const double* mean, const double* precision,
            const double* cost);

  const TrainingLayout& layout() const { return problem_.layout(); }
  int64_t S() const { return layout().S(); }
  int64_t P() const { return layout().P(); }
  int64_t n_features() const { return layout().n_features(); }
  int64_t n_sequences() const { return layout().n_sequences(); }
  int64_t first(int64_t i) const { return layout().first(i); }
  int64_t length(int64_t i) const { return layout().length(i); }
  double weight_of(int64_t i) const { return problem_.weight_of(i); }
  bool has_costs() const { return has_costs_; }
  const int32_t* gold(int64_t i) const { return gold_.data() + first(i); }
  const Edges& edges() const { return live_.edges(); }
  // node [tokens, width], pairs [N, S, width] <- marginals of the gold labellings, for which the weights are
  // the means.
  template <class T>
  void gold_marginals(int width, std::vector<T>& node, std::vector<T>& pairs) const {
    node.assign(static_cast<size_t>(layout().n_tokens()) * width, T{0});
    pairs.assign(static_cast<size_t>(n_sequences()) * S() * width, T{0});
    for (int64_t i = 0; i < n_sequences(); ++i)
      for (int64_t t = 0; t < length(i); ++t) {
        const int32_t* y = gold(i) + t;
        node[(first(i) + t) * width + *y] = 1;
        if (t > 0) pairs[(i * S() + y[-1]) * width + *y] += 1;
      }
  }

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
  // move <- amount * (node [T, S], pairs [S, S]).
  void set(int64_t i, const double* node, const double* pairs, double amount, Move& move) const;
  // The expected score under marginals node [T, S] and pairs [S, S]; scores [T, P].
  double expected(int64_t i, const double* node, const double* pairs, const Buffer& scores) const;
  // Adds amount * indicator.
  void add_labelling(int64_t i, const int32_t* labels, double amount, Move& move) const;

  // Applies the node part of a move in full; scores [T, P] are those before it, `after` those after it.
  // Returns the quadratic. settle() must follow.
  double make(int64_t i, const Move& move, const double* scores, Buffer& after);
  // Reduces the applied move to `share` of it and applies the pairs; overwrites `move`.
  void settle(int64_t i, Move& move, double share);
  // Both with the best share in 0 .. most; returns it. scores become those at the end.
  double search(int64_t i, Move& move, double slope, double most, double* scores);

  // Recomputes the weights: reset() to the means, add() the moves one by one, then ready().
  void reset() { live_.set(mean_.all().data()); }
  void add(int64_t i, const Move& move);
  void ready() { live_.refresh(); }
  // The same for marginals of all sequences, node [tokens, S] and pairs [N, S, S]: removes the rounding of
  // earlier steps, so that equal marginals give equal bits.
  void rebuild(const std::vector<double>& node, const std::vector<double>& pairs);

  // The dual's second term, sum of precision v (mean + v / 2).
  double penalty() const;
  void weights(double* out) const { live_.get(out); }
  const PriorNumbers& mean() const { return mean_; }
  const PriorNumbers& inverse() const { return inverse_; }
  DualWeights& live() { return live_; }
  const DualWeights& live() const { return live_; }
  SequenceOracle& oracle() { return oracle_; }

 private:
  const ChainProblem& problem_;
  std::vector<int32_t> gold_;
  PriorNumbers mean_, inverse_;  // [n_features] mean, 1 / precision
  bool has_costs_;
  std::vector<double> cost_;  // [S, S]
  DualWeights live_;
  SequenceOracle oracle_;
  Buffer after_;
};

// The base of the methods.
class DualMethod {
 public:
  static constexpr bool kObserves = false;  // can it learn features of label pairs that look at the input

  explicit DualMethod(DualPoint point) : point_(std::move(point)) {}
  virtual ~DualMethod() = default;

  int64_t n_sequences() const { return point_.n_sequences(); }
  int64_t n_features() const { return point_.n_features(); }
  void weights(double* out) const { point_.weights(out); }
  // The dual objective: a lower bound of the minimum of the primal.
  double dual() const;

 protected:
  virtual double term(int64_t i) const = 0;  // expected cost or entropy of q_i
  virtual double penalty() const { return point_.penalty(); }
  double terms_of_sequences() const;  // sum of c_i term(i)

  DualPoint point_;
  Buffer scores_;  // of the sequence that is visited
  Move move_;
  std::vector<int32_t> worst_;  // the labelling that violates the margin most
};

}  // namespace fieldcraft
