#include "dual_point.hpp"

#include <algorithm>

#include "canary.hpp"
#include "vectormath.hpp"

namespace fieldcraft {

DualPoint::DualPoint(const ChainProblem& problem, const int32_t* gold, const double* mean,
                     const double* precision, const double* cost)
    : problem_(problem),
      gold_(gold, gold + problem.n_tokens()),
      mean_(std::vector<double>(mean, mean + problem.n_features())),
      inverse_(DualWeights::inverses(precision, problem.n_features())),
      has_costs_(cost != nullptr),
      cost_(static_cast<size_t>(problem.n_states()) * problem.n_states(), 0.0),
      live_(problem.layout(), inverse_.all()),
      oracle_(problem.layout()) {
  if (cost != nullptr) cost_.assign(cost, cost + cost_.size());
  reset();
}

double DualPoint::worst(int64_t i, const Buffer& scores, std::vector<int32_t>& labels) {
  const int64_t T = length(i);
  labels.resize(T);
  const auto fill = [&](double* node) { std::copy_n(scores.data(), T * P(), node); };
  return oracle_.argmax({&edges(), nullptr, T, fill, gold(i), nullptr}, cost_.data(), labels.data());
}

double DualPoint::cost_of(int64_t i, const int32_t* labels) const {
  double total = 0;
  for (int64_t t = 0; t < length(i); ++t) total += costs(i, t)[labels[t]];
  return total;
}

double DualPoint::value(int64_t i, const double* scores, const int32_t* labels) const {
  double total = 0;
  for (int64_t t = 0; t < length(i); ++t) {
    total += scores[t * P() + labels[t]] + costs(i, t)[labels[t]];
    if (t > 0) total += edges().scores[static_cast<size_t>(labels[t - 1]) * P() + labels[t]];
  }
  return total;
}

void DualPoint::clear(int64_t i, Move& move) const {
  const size_t n = static_cast<size_t>(length(i)) * P(), m = static_cast<size_t>(S()) * P();
  move.node.reserve(n), move.pairs.reserve(m);
  std::fill_n(move.node.data(), n, 0.0);
  std::fill_n(move.pairs.data(), m, 0.0);
}

void DualPoint::set(int64_t i, const double* node, const double* pairs, double amount, Move& move) const {
  clear(i, move);
  const auto spread = [&](const double* from, int64_t n, double* to) {
    for (int64_t t = 0; t < n; ++t)
      for (int y = 0; y < S(); ++y) to[t * P() + y] = amount * from[t * S() + y];
  };
  spread(node, length(i), move.node.data()), spread(pairs, S(), move.pairs.data());
}

double DualPoint::expected(int64_t i, const double* node, const double* pairs, const Buffer& scores) const {
  double total = 0;
  const auto add = [&](const double* mu, int64_t n, const double* score) {
    for (int64_t t = 0; t < n; ++t)
      for (int y = 0; y < S(); ++y) total += score[t * P() + y] * mu[t * S() + y];
  };
  add(node, length(i), scores.data()), add(pairs, S(), edges().scores.data());
  return total;
}

void DualPoint::add_labelling(int64_t i, const int32_t* labels, double amount, Move& move) const {
  for (int64_t t = 0; t < length(i); ++t) {
    move.node[t * P() + labels[t]] += amount;
    if (t > 0) move.pairs[static_cast<size_t>(labels[t - 1]) * P() + labels[t]] += amount;
  }
}

double DualPoint::make(int64_t i, const Move& move, const double* scores, Buffer& after) {
  const int64_t T = length(i);
  live_.add_nodes(i, move.node.data());
  score(i, after);
  double total = 0;
  for (int64_t t = 0; t < T; ++t)
    for (int64_t k = t * P(); k < t * P() + S(); ++k) total += (after[k] - scores[k]) * move.node[k];
  return total + live_.pair_square(move.pairs.data());
}

void DualPoint::settle(int64_t i, Move& move, double share) {
  if (share != 1) {
    for (int64_t k = 0; k < length(i) * P(); ++k) move.node[k] *= share - 1;
    live_.add_nodes(i, move.node.data());
    for (int64_t k = 0; k < S() * P(); ++k) move.pairs[k] *= share;
  }
  if (share == 0) return;
  live_.add_pairs(move.pairs.data());
  live_.refresh();
}

double DualPoint::search(int64_t i, Move& move, double slope, double most, double* scores) {
  const double quadratic = make(i, move, scores, after_);
  const double share = slope < most * quadratic ? std::max(0.0, slope / quadratic) : slope > 0 ? most : 0.0;
  for (int64_t t = 0; t < length(i); ++t)
    for (int64_t k = t * P(); k < t * P() + S(); ++k) scores[k] += share * (after_[k] - scores[k]);
  settle(i, move, CANARY(DUAL_POINT, share));
  return share;
}

void DualPoint::add(int64_t i, const Move& move) {
  live_.add_nodes(i, move.node.data());
  live_.add_pairs(move.pairs.data());
}

void DualPoint::rebuild(const std::vector<double>& node, const std::vector<double>& pairs) {
  reset();
  Move move;
  for (int64_t i = 0; i < n_sequences(); ++i) {
    const double c = weight_of(i);
    if (c == 0) continue;
    set(i, node.data() + first(i) * S(), pairs.data() + i * S() * S(), -c, move);
    add_labelling(i, gold(i), c, move);
    add(i, move);
  }
  ready();
}

double DualPoint::penalty() const {
  std::vector<double> w(inverse_.size());
  weights(w.data());
  CompensatedSum total;
  for (size_t f = 0; f < w.size(); ++f) {
    const double v = w[f] - mean_[f];
    if (inverse_[f] > 0) total.add(v * (mean_[f] + v / 2) / inverse_[f]);
  }
  return total.total();
}

double DualMethod::dual() const { return terms_of_sequences() - penalty(); }

double DualMethod::terms_of_sequences() const {
  CompensatedSum total;
  for (int64_t i = 0; i < n_sequences(); ++i) total.add(point_.weight_of(i) * term(i));
  return total.total();
}

}  // namespace fieldcraft
