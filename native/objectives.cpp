#include "objectives.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "canary.hpp"
#include "kernels.hpp"

namespace fieldcraft {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
constexpr double kLeast = 1e-100;  // smaller probabilities of gold labels are computed in log space

double gold_nodes(const Chain& c, const double* node) {
  double total = 0;
  for (int64_t t = 0; t < c.T; ++t) total += node[t * c.edges->P + c.gold[t]];
  return total;
}

bool has_costs(Loss loss) { return loss == Loss::margin || loss == Loss::softmax_margin; }

SequencePass::Fill only_allowed(const Chain& c) {
  return [&c](double* scores) {
    const int64_t S = c.edges->S, P = c.edges->P;
    c.fill(scores);
    for (int64_t t = 0; t < c.T; ++t)
      for (int y = 0; y < S; ++y)
        if (!c.allowed[t * S + y]) scores[t * P + y] = kMinusInf;
  };
}

const SequencePass::Sink kNowhere = [](int64_t, const double*) {};

}  // namespace

void add_labelling(const Chain& c, const int32_t* labels, double amount, double* node,
                   const PairGradient& pairs) {
  for (int64_t t = 0; t < c.T; ++t) {
    node[t * c.edges->P + labels[t]] += amount;
    if (t > 0) pairs.cells(t, labels[t - 1] * c.edges->P + labels[t], 1, 1, &amount);
  }
}

void add_costs(const Chain& c, const double* cost, double* node) {
  const int64_t S = c.edges->S, P = c.edges->P;
  for (int64_t t = 0; t < c.T; ++t)
    for (int y = 0; y < S; ++y) node[t * P + y] += cost[static_cast<size_t>(c.gold[t]) * S + y];
}

std::optional<Loss> loss_by_name(const std::string& name) {
  static const std::pair<const char*, Loss> table[] = {
      {"likelihood", Loss::likelihood},
      {"exponential", Loss::exponential},
      {"perceptron", Loss::perceptron},
      {"margin", Loss::margin},
      {"softmax_margin", Loss::softmax_margin},
      {"marginal_likelihood", Loss::marginal_likelihood},
      {"viterbi", Loss::viterbi},
      {"expectation", Loss::expectation},
      {"pointwise", Loss::pointwise},
      {"pointwise_exponential", Loss::pointwise_exponential},
      {"pseudo_likelihood", Loss::pseudo_likelihood},
  };
  for (const auto& [known, loss] : table)
    if (name == known) return loss;
  return std::nullopt;
}

double ChainLoss::evaluate(const Objective& o, const Chain& c, double weight, double* node,
                           const PairGradient& pairs) {
  if (c.T == 0) return 0;
  if (weight == 0) {  // nothing, even where the loss is not finite
    std::fill_n(node, c.T * c.edges->P, 0.0);
    return 0;
  }
  switch (o.loss) {
    case Loss::likelihood:
    case Loss::exponential:
    case Loss::softmax_margin:
      return log_loss(o, c, weight, node, pairs);
    case Loss::perceptron:
    case Loss::margin:
    case Loss::viterbi:
      return max_loss(o, c, weight, node, pairs);
    case Loss::marginal_likelihood:
    case Loss::expectation:
      return partial_loss(o, c, weight, node, pairs);
    case Loss::pointwise:
    case Loss::pointwise_exponential:
      return pointwise_loss(o, c, weight, node, pairs);
    case Loss::pseudo_likelihood:
      return neighbour_loss(o, c, weight, node, pairs);
  }
  return 0;
}

double ChainLoss::gold_edges(const Chain& c) {
  const int64_t P = c.edges->P;
  double total = 0;
  for (int64_t t = 1; t < c.T; ++t)
    total += edge_scores(*c.edges, c.own, t, edge_)[static_cast<size_t>(c.gold[t - 1]) * P + c.gold[t]];
  return total;
}

// Sums over labellings: likelihood, its exponential, and with costs.
double ChainLoss::log_loss(const Objective& o, const Chain& c, double weight, double* node,
                           const PairGradient& pairs) {
  double gold = 0;
  const auto fill = [&](double* scores) {
    c.fill(scores);
    gold = gold_nodes(c, scores);  // assigned: a rescue fills again
    if (has_costs(o.loss)) add_costs(c, o.cost.data(), scores);
  };
  double loss = pass_.log_partition(*c.edges, c.own, c.T, fill, Numerics::automatic);
  loss -= gold + gold_edges(c);
  double scale = weight;
  if (o.loss == Loss::exponential) {
    scale = weight * std::exp(loss);
    loss = std::expm1(loss);
    if (!std::isfinite(scale)) return scale;
  }
  pass_.marginals(CANARY(OBJECTIVE, scale), node, pairs.products, pairs.matrix, false);
  add_labelling(c, c.gold, -scale, node, pairs);
  return weight * loss;
}

double ChainLoss::best_path(const Chain& c, const SequencePass::Fill& fill) {
  fill(pass_.scratch(c.T, c.edges->P));
  best_.resize(c.T);
  return pass_.viterbi(*c.edges, c.own, c.T, best_.data());
}

// Maxima over labellings: perceptron, margin, and with partial labels.
double ChainLoss::max_loss(const Objective& o, const Chain& c, double weight, double* node,
                           const PairGradient& pairs) {
  double gold = 0;
  const double best = best_path(c, [&](double* scores) {
    c.fill(scores);
    gold = gold_nodes(c, scores);
    if (has_costs(o.loss)) add_costs(c, o.cost.data(), scores);
  });
  std::fill_n(node, c.T * c.edges->P, 0.0);
  add_labelling(c, best_.data(), CANARY(OBJECTIVE, weight), node, pairs);
  if (o.loss == Loss::viterbi) {
    gold = best_path(c, only_allowed(c));
    add_labelling(c, best_.data(), -weight, node, pairs);
  } else {
    gold += gold_edges(c);
    add_labelling(c, c.gold, -weight, node, pairs);
  }
  return weight * (best - gold);
}

// All labellings (none of them for the E-step) against those that the partial labels allow.
double ChainLoss::partial_loss(const Objective& o, const Chain& c, double weight, double* node,
                               const PairGradient& pairs) {
  const size_t n = static_cast<size_t>(c.T) * c.edges->P;
  double all = 0;
  std::fill_n(node, n, 0.0);
  if (o.loss == Loss::marginal_likelihood) {
    all = pass_.log_partition(*c.edges, c.own, c.T, c.fill, Numerics::automatic);
    pass_.marginals(weight, node, pairs.products, pairs.matrix, false);
  }
  const auto restricted = only_allowed(c);
  const double some = second_.log_partition(*c.edges, c.own, c.T, restricted, Numerics::automatic);
  rows_.reserve(n);
  second_.marginals(CANARY(OBJECTIVE, -weight), rows_.data(), pairs.products, pairs.matrix, false);
  for (size_t i = 0; i < n; ++i) node[i] += rows_[i];
  return weight * (all - some);
}

// The loss; node marginals mu [T, P]; moved [T, P] = d loss / d log mu: - 1 for - log mu, - 1 / mu for 1 /
// mu. NaN when the gold marginals need log space and were not computed there.
double ChainLoss::gold_marginals(const Objective& o, const Chain& c, double* mu, double* moved,
                                 Numerics numerics) {
  const int64_t P = c.edges->P;
  const bool log = o.loss == Loss::pointwise;
  pass_.log_partition(*c.edges, c.own, c.T, c.fill, numerics);
  pass_.marginals(1.0, mu, nullptr, kNowhere, false);
  std::fill_n(moved, c.T * P, 0.0);
  double loss = 0;
  for (int64_t t = 0; t < c.T; ++t) {
    const int64_t at = t * P + c.gold[t];
    const double w = o.label_weight(c.gold[t]);
    if (w == 0) continue;
    if (mu[at] < kLeast && numerics != Numerics::log) return std::nan("");
    const double minus_log = mu[at] < kLeast ? -pass_.log_marginal(t, c.gold[t]) : -std::log(mu[at]);
    loss += w * (log ? minus_log : std::expm1(minus_log));
    moved[at] = CANARY(OBJECTIVE, log ? -w : -w * std::exp(minus_log));
  }
  return loss;
}

double ChainLoss::pointwise_loss(const Objective& o, const Chain& c, double weight, double* node,
                                 const PairGradient& pairs) {
  const size_t n = static_cast<size_t>(c.T) * c.edges->P;
  rows_.reserve(n), moved_.reserve(n);
  double loss = gold_marginals(o, c, rows_.data(), moved_.data(), Numerics::automatic);
  if (std::isnan(loss)) loss = gold_marginals(o, c, rows_.data(), moved_.data(), Numerics::log);
  if (!std::isfinite(weight * loss)) return weight * loss;
  pass_.covariance(rows_.data(), moved_.data(), weight, node, pairs.products, pairs.matrix);
  return weight * loss;
}

// Each label conditioned on its gold neighbours: a soft maximum per position.
double ChainLoss::neighbour_loss(const Objective& o, const Chain& c, double weight, double* node,
                                 const PairGradient& pairs) {
  const int64_t S = c.edges->S, P = c.edges->P;
  c.fill(node);
  add_neighbours(c, node);
  double loss = 0;
  for (int64_t t = 0; t < c.T; ++t) {
    const int g = c.gold[t];
    double* row = node + t * P;
    const double top = *std::max_element(row, row + S), gold = row[g] - top, w = o.label_weight(g);
    for (int y = 0; y < S; ++y) row[y] -= top;
    FIELDCRAFT_DISPATCH(exp_all, row, row, S);
    const double total = std::accumulate(row, row + S, 0.0);
    loss += w * (std::log(total) - gold);
    const double scale = CANARY_ELSEWHERE(THREADS, CANARY(OBJECTIVE, weight * w)) / total;
    for (int y = 0; y < P; ++y) row[y] = y < S ? scale * row[y] : 0.0;
    row[g] -= weight * w;
    if (t > 0) pairs.cells(t, c.gold[t - 1] * P, 1, S, row);
    if (t + 1 < c.T) pairs.cells(t + 1, c.gold[t + 1], P, S, row);
  }
  return weight * loss;
}

// Scores of the steps from and to the gold neighbours.
void ChainLoss::add_neighbours(const Chain& c, double* node) {
  const int64_t S = c.edges->S, P = c.edges->P;
  edge_.reserve(static_cast<size_t>(S) * P);
  for (int64_t t = 1; t < c.T; ++t) {
    const int64_t before = static_cast<int64_t>(c.gold[t - 1]) * P, after = c.gold[t];
    const bool own = c.own != nullptr && c.own->has(t);
    if (own) c.own->fill(t, edge_.data());
    const double* in = (own ? edge_ : c.edges->scores).data() + before;
    const double* out = own ? edge_.data() + after : c.edges->scores_transposed.data() + after * P;
    double* row = node + t * P;
    for (int y = 0; y < S; ++y) {
      row[y] += in[y];
      row[y - P] += out[own ? static_cast<int64_t>(y) * P : y];
    }
  }
}

}  // namespace fieldcraft
