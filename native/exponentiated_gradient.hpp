// Exponentiated gradient on the dual, in its log-linear parameterisation (Collins, Globerson, Koo, Carreras,
// Bartlett, 2008), for the margin and for the likelihood.
//
// q_i is itself a chain, q_i(y) ~ exp(lambda_i(y)), with parameters per token and label [T, S] and per label
// pair [S, S]. The dual's gradient in q_i(y) is theta(y) + cost(y) for the margin and theta(y) - log q_i(y)
// for the likelihood; multiplying q_i by exp(eta * gradient) stays a chain:
//
//   margin       lambda_i <- lambda_i + eta (theta + cost)
//   likelihood   lambda_i <- (1 - eta) lambda_i + eta theta
//
// A step that would lower the dual is tried again with a smaller eta; each sequence has a separate
// one, which follows the ratio of the linear to the quadratic part of the rise (1 where a step is as long as
// it should be). Sequences whose margin no labelling violates are skipped, and parameters far below the
// largest of their row are raised (kFloor): otherwise those of the margin would grow without bound.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "dual_point.hpp"

namespace fieldcraft {

class ExponentiatedGradient final : public DualMethod {
 public:
  // The likelihood if the point has no costs, else the margin.
  explicit ExponentiatedGradient(DualPoint point);

  // One pass in the order of `order` [N].
  void run(const int64_t* order, Watch& watch);

  struct State {
    std::vector<double> node, pairs;  // lambda: [tokens, S], [N, S, S]
    std::vector<double> rate;         // [N] eta
    auto fields() { return std::tie(node, pairs, rate); }
  };
  const State& state() const { return state_; }
  void restore(State state);
  bool accepts(const State& s) const {  // is it a state of this training
    return s.node.size() == state_.node.size() && s.pairs.size() == state_.pairs.size() &&
           s.rate.size() == state_.rate.size();
  }

  static size_t bytes(int64_t n_tokens, int64_t n_sequences, int64_t S) {
    return 16 * (static_cast<size_t>(n_tokens) * S + static_cast<size_t>(n_sequences) * (S * S + 1));
  }

 private:
  double term(int64_t i) const override { return term_[i]; }
  struct Marginals {
    Buffer node, pairs;  // [T, S], [S, S]
    double term;         // entropy, or expected cost
  };
  void infer(int64_t i, const double* node, const double* pairs, Marginals& out);
  void store(int64_t i, const Marginals& marginals);
  void propose(int64_t i, double rate);
  bool settled(int64_t i);
  void visit(int64_t i);
  void infer_all();

  bool entropic_;
  State state_;
  std::vector<double> mu_node_, mu_pairs_, term_;  // of the present lambda
  PairSums sums_;
  Buffer after_, rows_;
  Buffer node_, pairs_;  // the lambda that is tried
  Marginals found_;
  Buffer node_step_, pair_step_;  // how it changes the marginals
};

}  // namespace fieldcraft
