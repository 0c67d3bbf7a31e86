#include "objectives.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "canary.hpp"

namespace fieldcraft {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
constexpr double kLeast = std::numeric_limits<double>::min();  // probabilities are not taken for less

double gold_nodes(const Chain& c, const double* node) {
  double total = 0;
  for (int64_t t = 0; t < c.T; ++t) total += node[t * c.edges->P + c.gold[t]];
  return total;
}

void add_costs(const Objective& o, const Chain& c, double* node) {
  const int S = c.edges->S, P = c.edges->P;
  for (int64_t t = 0; t < c.T; ++t) {
    const double scale = o.label_weight(c.gold[t]);
    const double* cost = o.cost.data() + static_cast<size_t>(c.gold[t]) * S;
    for (int y = 0; y < S; ++y) node[t * P + y] += scale * cost[y];
  }
}

bool has_costs(Loss loss) { return loss == Loss::margin || loss == Loss::softmax_margin; }

const SequencePass::Sink kNowhere = [](int64_t, const double*) {};

}  // namespace

std::optional<Loss> loss_by_name(const std::string& name) {
  static const std::pair<const char*, Loss> table[] = {
      {"likelihood", Loss::likelihood},
      {"exponential", Loss::exponential},
      {"perceptron", Loss::perceptron},
      {"margin", Loss::margin},
      {"softmax_margin", Loss::softmax_margin},
      {"marginal_likelihood", Loss::marginal_likelihood},
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
  switch (o.loss) {
    case Loss::likelihood:
    case Loss::exponential:
    case Loss::softmax_margin:
      return log_loss(o, c, weight, node, pairs);
    case Loss::perceptron:
    case Loss::margin:
      return max_loss(o, c, weight, node, pairs);
    case Loss::marginal_likelihood:
      return partial_loss(c, weight, node, pairs);
    case Loss::pointwise:
    case Loss::pointwise_exponential:
      return pointwise_loss(o, c, weight, node, pairs);
    case Loss::pseudo_likelihood:
      return neighbour_loss(o, c, weight, node, pairs);
  }
  return 0;
}

double ChainLoss::gold_edges(const Chain& c) {
  const int P = c.edges->P;
  double total = 0;
  for (int64_t t = 1; t < c.T; ++t) {
    const double* scores = c.edges->scores.data();
    if (c.own != nullptr && c.own->has(t)) {
      edge_.reserve(static_cast<size_t>(c.edges->S) * P);
      c.own->fill(t, edge_.data());
      scores = edge_.data();
    }
    total += scores[static_cast<size_t>(c.gold[t - 1]) * P + c.gold[t]];
  }
  return total;
}

void ChainLoss::subtract_gold(const Chain& c, double weight, double* node, const PairGradient& pairs) const {
  for (int64_t t = 0; t < c.T; ++t) {
    node[t * c.edges->P + c.gold[t]] -= weight;
    if (t > 0) pairs.cell(t, c.gold[t - 1], c.gold[t], -weight);
  }
}

// Sums over labelings: likelihood, its exponential, and with costs.
double ChainLoss::log_loss(const Objective& o, const Chain& c, double weight, double* node,
                           const PairGradient& pairs) {
  double gold = 0;
  const auto fill = [&](double* scores) {
    c.fill(scores);
    gold = gold_nodes(c, scores);  // assigned: a rescue fills again
    if (has_costs(o.loss)) add_costs(o, c, scores);
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
  subtract_gold(c, scale, node, pairs);
  return weight * loss;
}

// Maxima over labelings: perceptron and margin.
double ChainLoss::max_loss(const Objective& o, const Chain& c, double weight, double* node,
                           const PairGradient& pairs) {
  const int P = c.edges->P;
  double* scores = pass_.scratch(c.T, P);
  c.fill(scores);
  const double gold = gold_nodes(c, scores) + gold_edges(c);
  if (has_costs(o.loss)) add_costs(o, c, scores);
  best_.resize(c.T);
  const double best = pass_.viterbi(*c.edges, c.own, c.T, best_.data());
  std::fill_n(node, c.T * P, 0.0);
  for (int64_t t = 0; t < c.T; ++t) {
    node[t * P + best_[t]] += CANARY(OBJECTIVE, weight);
    if (t > 0) pairs.cell(t, best_[t - 1], best_[t], weight);
  }
  subtract_gold(c, weight, node, pairs);
  return weight * (best - gold);
}

// All labelings against those that the partial labels allow.
double ChainLoss::partial_loss(const Chain& c, double weight, double* node, const PairGradient& pairs) {
  const int S = c.edges->S, P = c.edges->P;
  const auto restricted = [&](double* scores) {
    c.fill(scores);
    for (int64_t t = 0; t < c.T; ++t)
      for (int y = 0; y < S; ++y)
        if (!c.allowed[t * S + y]) scores[t * P + y] = kMinusInf;
  };
  const double all = pass_.log_partition(*c.edges, c.own, c.T, c.fill, Numerics::automatic);
  pass_.marginals(weight, node, pairs.products, pairs.matrix, false);
  const double some = second_.log_partition(*c.edges, c.own, c.T, restricted, Numerics::automatic);
  rows_.reserve(static_cast<size_t>(c.T) * P);
  second_.marginals(CANARY(OBJECTIVE, -weight), rows_.data(), pairs.products, pairs.matrix, false);
  for (int64_t i = 0; i < c.T * P; ++i) node[i] += rows_[i];
  return weight * (all - some);
}

// With m_t(g_t) = mu_t(g_t) d loss / d mu_t(g_t): - 1 for - log mu, - 1 / mu for 1 / mu.
double ChainLoss::pointwise_loss(const Objective& o, const Chain& c, double weight, double* node,
                                 const PairGradient& pairs) {
  const int P = c.edges->P;
  pass_.log_partition(*c.edges, c.own, c.T, c.fill, Numerics::automatic);
  rows_.reserve(static_cast<size_t>(c.T) * P), moved_.reserve(static_cast<size_t>(c.T) * P);
  pass_.marginals(1.0, rows_.data(), nullptr, kNowhere, false);
  std::fill_n(moved_.data(), c.T * P, 0.0);
  double loss = 0;
  for (int64_t t = 0; t < c.T; ++t) {
    const int64_t at = t * P + c.gold[t];
    const double p = std::max(rows_[at], kLeast), w = o.label_weight(c.gold[t]);
    const bool log = o.loss == Loss::pointwise;
    loss += w * (log ? -std::log(p) : 1 / p - 1);
    moved_[at] = CANARY(OBJECTIVE, log ? -w : -w / p);
  }
  if (!std::isfinite(loss)) return loss;
  pass_.covariance(rows_.data(), moved_.data(), weight, node, pairs.matrix);
  return weight * loss;
}

// Each label given its gold neighbours: a soft maximum per position.
double ChainLoss::neighbour_loss(const Objective& o, const Chain& c, double weight, double* node,
                                 const PairGradient& pairs) {
  const int S = c.edges->S, P = c.edges->P;
  const size_t n = static_cast<size_t>(S) * P;
  double* scores = pass_.scratch(c.T, P);
  c.fill(scores);
  edge_.reserve(2 * n);
  const auto edges_of = [&](int64_t t, double* room) -> const double* {
    if (c.own == nullptr || !c.own->has(t)) return c.edges->scores.data();
    c.own->fill(t, room);
    return room;
  };
  double loss = 0;
  for (int64_t t = 0; t < c.T; ++t) {
    const int g = c.gold[t];
    double* row = node + t * P;
    std::copy_n(scores + t * P, P, row);
    if (t > 0) {
      const double* in = edges_of(t, edge_.data()) + static_cast<size_t>(c.gold[t - 1]) * P;
      for (int y = 0; y < S; ++y) row[y] += in[y];
    }
    if (t + 1 < c.T) {
      const double* out = edges_of(t + 1, edge_.data() + n);
      for (int y = 0; y < S; ++y) row[y] += out[static_cast<size_t>(y) * P + c.gold[t + 1]];
    }
    const double top = log_sum_exp(row, S), w = weight * o.label_weight(g);
    loss += o.label_weight(g) * (top - row[g]);
    for (int y = 0; y < P; ++y) row[y] = y < S ? CANARY(OBJECTIVE, w) * std::exp(row[y] - top) : 0.0;
    row[g] -= w;
    for (int y = 0; y < S; ++y) {
      if (t > 0) pairs.cell(t, c.gold[t - 1], y, row[y]);
      if (t + 1 < c.T) pairs.cell(t + 1, y, c.gold[t + 1], row[y]);
    }
  }
  return weight * loss;
}

}  // namespace fieldcraft
