// Losses of one labelled chain, with their gradients in potential space.
//
// A labelling's score is theta(y); g is the gold one; cost(y) = sum over positions of C[g_t, y_t].
//
//   likelihood             log Z(theta) - theta(g)
//   exponential            exp(log Z(theta) - theta(g)) - 1                       = 1 / p(g | x) - 1
//   perceptron             max theta(y) - theta(g)
//   margin                 max (theta(y) + cost(y)) - theta(g)
//   softmax_margin         log sum exp (theta(y) + cost(y)) - theta(g)
//   marginal_likelihood    log Z(theta) - log Z(theta restricted to the allowed labels)
//   viterbi                max theta(y) - max theta(y) over the allowed labels
//   expectation            - log Z(theta restricted to the allowed labels): the E-step of EM
//   pointwise              sum over positions of - log p(g_t | x)
//   pointwise_exponential  sum over positions of 1 / p(g_t | x) - 1
//   pseudo_likelihood      sum over positions of - log p(g_t | g_{t-1}, g_{t+1}, x)
//
// Sums and maxima over labellings of changed node scores have marginals and indicators for gradients. The
// gradient of a function of the marginals is a covariance (SequencePass::covariance). Label weights multiply
// the terms of positions, or the costs, by the weight of the gold label.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "chain.hpp"

namespace fieldcraft {

enum class Loss {
  likelihood,
  exponential,
  perceptron,
  margin,
  softmax_margin,
  marginal_likelihood,
  viterbi,
  expectation,
  pointwise,
  pointwise_exponential,
  pseudo_likelihood
};

std::optional<Loss> loss_by_name(const std::string& name);

struct Objective {
  Loss loss = Loss::likelihood;
  std::vector<double> cost;           // [S, S] by gold label and label, times its weight; for the margins
  std::vector<double> label_weights;  // [S]; empty: all 1
  std::vector<uint8_t> allowed;       // [tokens, S]; for partial labels

  bool partial() const {
    return loss == Loss::marginal_likelihood || loss == Loss::viterbi || loss == Loss::expectation;
  }
  double label_weight(int32_t y) const { return label_weights.empty() ? 1.0 : label_weights[y]; }
};

// Where the gradient of a sequence's pair potentials goes. Marginals of positions without own edges may be
// left to `products` (see SequencePass::marginals); everything else comes as whole matrices or as cells.
struct PairGradient {
  double* products;
  SequencePass::Sink matrix;
  // Amounts [n] for the cells first, first + step, … of step t's matrix [S, P].
  std::function<void(int64_t t, int64_t first, int64_t step, int64_t n, const double* amounts)> cells;
};

struct Chain {
  const Edges* edges;
  const OwnEdges* own;  // or null
  int64_t T;
  SequencePass::Fill fill;
  const int32_t* gold;     // [T]
  const uint8_t* allowed;  // [T, S] or null
};

// Adds amount times the indicator of a labelling [T].
void add_labelling(const Chain& chain, const int32_t* labels, double amount, double* node,
                   const PairGradient& pairs);
// Adds cost [S, S], by gold label and label, to the scores of nodes [T, P].
void add_costs(const Chain& chain, const double* cost, double* node);

// One thread's memory for losses of one chain after the other.
class ChainLoss {
 public:
  // Returns weight * loss; weight * gradient goes to node [T, P] (overwritten, padding 0) and to pairs
  // (added).
  double evaluate(const Objective& objective, const Chain& chain, double weight, double* node,
                  const PairGradient& pairs);

 private:
  double gold_edges(const Chain& chain);
  double log_loss(const Objective& o, const Chain& c, double weight, double* node, const PairGradient& pairs);
  double max_loss(const Objective& o, const Chain& c, double weight, double* node, const PairGradient& pairs);
  double best_path(const Chain& c, const SequencePass::Fill& fill);  // into best_
  double partial_loss(const Objective& o, const Chain& c, double weight, double* node,
                      const PairGradient& pairs);
  double gold_marginals(const Objective& o, const Chain& c, double* mu, double* moved, Numerics numerics);
  double pointwise_loss(const Objective& o, const Chain& c, double weight, double* node,
                        const PairGradient& pairs);
  void add_neighbours(const Chain& c, double* node);
  double neighbour_loss(const Objective& o, const Chain& c, double weight, double* node,
                        const PairGradient& pairs);

  SequencePass pass_, second_;
  Buffer rows_, moved_, edge_;
  std::vector<int32_t> best_;
};

}  // namespace fieldcraft
