// Block-coordinate Frank-Wolfe for the structured margin (Lacoste-Julien, Jaggi, Schmidt, Pletscher, 2013).
//
// q_i is kept as its node marginals [T, S] and summed pair marginals [S, S], which is all that weights and
// dual depend on. A step mixes q_i with the labelling y* that violates the margin most,
//
//   q_i <- (1 - s) q_i + s [y*],     gap_i = theta(y*) + cost(y*) - E_{q_i}[theta + cost] >= 0
//
// with the best s in 0 .. 1 in closed form (dual_point.hpp). At fixed weights the sum of c_i gap_i is the
// duality gap.
//
// Averaging: step n counts n times, mean_n = 2 / (n (n + 1)) sum of j w_j. With w_j = w_n - (the steps since
// j) this is w_n - 2 / (n (n + 1)) u, u = sum over steps m of (m (m - 1) / 2) (change by step m): lazy.
#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "dual_point.hpp"

namespace fieldcraft {

class FrankWolfe final : public DualMethod {
 public:
  FrankWolfe(DualPoint point, bool averaged);

  // One pass in the order of `order` [N]; returns the sum of c_i gap_i, each as computed at its visit.
  double run(const int64_t* order, Watch& watch);

  void average(double* out) const;  // the weights themselves without averaging

  struct State {
    std::vector<double> node, pairs;  // [tokens, S], [N, S, S]
    std::vector<double> cost;         // [N] expected
    std::vector<double> late;         // [n_features] u, or empty
    double steps = 0;
    auto fields() { return std::tie(node, pairs, cost, late, steps); }
  };
  State state() const;
  void restore(State state);
  bool accepts(const State& s) const {  // is it a state of this training
    return s.node.size() == state_.node.size() && s.pairs.size() == state_.pairs.size() &&
           s.cost.size() == state_.cost.size() &&
           s.late.size() == (late_ ? static_cast<size_t>(n_features()) : 0);
  }

  static size_t bytes(int64_t n_tokens, int64_t n_sequences, int64_t S) {
    return 8 * (static_cast<size_t>(n_tokens) * S + static_cast<size_t>(n_sequences) * (S * S + 1));
  }

 private:
  double term(int64_t i) const override { return state_.cost[i]; }
  double visit(int64_t i);

  State state_;
  std::unique_ptr<DualWeights> late_;
  Move whole_;
};

}  // namespace fieldcraft
