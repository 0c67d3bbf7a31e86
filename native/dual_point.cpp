#include "dual_point.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "canary.hpp"
#include "vectormath.hpp"

namespace fieldcraft {
namespace {

std::vector<double> inverses(const double* precision, int64_t n) {
  std::vector<double> out(n);
  for (int64_t f = 0; f < n; ++f) {
    if (!(precision[f] > 0))
      throw std::invalid_argument("a dual needs a positive precision for every weight");
    out[f] = 1 / precision[f];
  }
  return out;
}

}  // namespace

DualPoint::DualPoint(const ChainProblem& problem, const int32_t* gold, const double* mean,
                     const double* precision, const double* cost)
    : problem_(problem),
      gold_(gold, gold + problem.n_tokens()),
      mean_(mean, mean + problem.n_features()),
      inverse_(inverses(precision, problem.n_features())),
      cost_(static_cast<size_t>(problem.n_states()) * problem.n_states(), 0.0),
      live_(problem, inverse_) {
  if (cost != nullptr) cost_.assign(cost, cost + cost_.size());
  reset();
}

void DualPoint::add_costs(int64_t i, double* scores) const {
  for (int64_t t = 0; t < length(i); ++t) {
    const double* cost = costs(i, t);
    for (int y = 0; y < S(); ++y) scores[t * P() + y] += cost[y];
  }
}

double DualPoint::worst(int64_t i, const double* scores, SequencePass& pass, int32_t* labels) const {
  const int64_t T = length(i);
  double* dearer = pass.scratch(T, P());
  std::copy_n(scores, T * P(), dearer);
  add_costs(i, dearer);
  return pass.viterbi(edges(), nullptr, T, labels);
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

void DualPoint::add_labelling(int64_t i, const int32_t* labels, double amount, Move& move) const {
  for (int64_t t = 0; t < length(i); ++t) {
    move.node[t * P() + labels[t]] += amount;
    if (t > 0) move.pairs[static_cast<size_t>(labels[t - 1]) * P() + labels[t]] += amount;
  }
}

double DualPoint::make(int64_t i, const Move& move, const double* scores, Buffer& after) {
  const int64_t T = length(i);
  after.reserve(static_cast<size_t>(T) * P());
  live_.add_nodes(i, move.node.data());
  live_.score(i, after.data());
  double total = 0;
  for (int64_t t = 0; t < T; ++t)
    for (int64_t k = t * P(); k < t * P() + S(); ++k) total += (after[k] - scores[k]) * move.node[k];
  for (int k = 0; k < S() * P(); ++k) total += move.pairs[k] * move.pairs[k] * live_.pair_factor()[k];
  return total;
}

void DualPoint::settle(int64_t i, Move& move, double share) {
  if (share != 1) {
    for (int64_t k = 0; k < length(i) * P(); ++k) move.node[k] *= share - 1;
    live_.add_nodes(i, move.node.data());
    for (int k = 0; k < S() * P(); ++k) move.pairs[k] *= share;
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
    clear(i, move);
    add_labelling(i, gold(i), c, move);
    for (int64_t t = 0; t < length(i); ++t)
      for (int y = 0; y < S(); ++y) move.node[t * P() + y] -= c * node[(first(i) + t) * S() + y];
    for (int x = 0; x < S(); ++x)
      for (int y = 0; y < S(); ++y) move.pairs[x * P() + y] -= c * pairs[(i * S() + x) * S() + y];
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

}  // namespace fieldcraft
