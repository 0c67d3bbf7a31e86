#include "exponentiated_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "canary.hpp"

namespace fieldcraft {
namespace {

constexpr double kFloor = 1000;    // of the spread of a row of parameters
constexpr double kSettled = 1e-6;  // a gap of theta + cost
constexpr double kHeadStart = 5;   // of the gold labels at first, above log S
constexpr double kLeastRate = 1e-12, kMostRate = 20;
constexpr double kGrowth = 1.3;      // of a rate, at the most, from one visit to the next
constexpr double kRounding = 1e-13;  // a fall of so little is none: sequences that have settled
constexpr int kTrials = 12;

void lift(double* row, int64_t n) {
  const double least = *std::max_element(row, row + n) - kFloor;
  for (int64_t y = 0; y < n; ++y) row[y] = std::max(row[y], least);
}

double dot(const double* x, const double* y, size_t n) {
  double total = 0;
  for (size_t k = 0; k < n; ++k) total += x[k] * y[k];
  return total;
}

}  // namespace

ExponentiatedGradient::ExponentiatedGradient(DualPoint point)
    : DualMethod(std::move(point)), entropic_(!point_.has_costs()), sums_(point_.layout().n_pairs()) {
  const int64_t S = point_.S();
  const int64_t N = point_.n_sequences();
  state_.node.assign(static_cast<size_t>(point_.layout().n_tokens()) * S, 0.0);
  state_.pairs.assign(static_cast<size_t>(N) * S * S, 0.0);
  state_.rate.assign(N, 0.5);
  const double start = kHeadStart + std::log(static_cast<double>(S));
  for (int64_t i = 0; i < N; ++i)
    for (int64_t t = 0; t < point_.length(i); ++t)
      state_.node[(point_.first(i) + t) * S + point_.gold(i)[t]] = start;
  infer_all();
  point_.rebuild(mu_node_, mu_pairs_);
}

// Marginals of the chain with the parameters lambda.
void ExponentiatedGradient::infer(int64_t i, const double* node, const double* pairs, Marginals& out) {
  const int64_t S = point_.S(), P = point_.P();
  const int64_t T = point_.length(i);
  const Edges edges(pairs, S);
  const auto fill = [&](double* rows) {
    for (int64_t t = 0; t < T; ++t)
      for (int y = 0; y < P; ++y)
        rows[t * P + y] = y < S ? node[t * S + y] : -std::numeric_limits<double>::infinity();
  };
  rows_.reserve(static_cast<size_t>(T) * P);
  out.node.reserve(static_cast<size_t>(T) * S), out.pairs.reserve(static_cast<size_t>(S) * S);
  sums_.clear();
  const double log_z =
      point_.oracle().marginals({&edges, nullptr, T, fill, nullptr, nullptr}, 1.0, rows_.data(), sums_);
  for (int64_t t = 0; t < T; ++t) std::copy_n(rows_.data() + t * P, S, out.node.data() + t * S);
  for (int x = 0; x < S; ++x)
    for (int y = 0; y < S; ++y) out.pairs[x * S + y] = sums_.total(x * P + y, edges);
  out.term = 0;
  if (entropic_)
    out.term = log_z - dot(node, out.node.data(), T * S) - dot(pairs, out.pairs.data(), S * S);
  else
    for (int64_t t = 0; t < T; ++t) out.term += dot(point_.costs(i, t), out.node.data() + t * S, S);
  out.term = CANARY(EXPONENTIATED, out.term);
}

void ExponentiatedGradient::store(int64_t i, const Marginals& m) {
  const int64_t S = point_.S();
  std::copy_n(m.node.data(), point_.length(i) * S, mu_node_.data() + point_.first(i) * S);
  std::copy_n(m.pairs.data(), S * S, mu_pairs_.data() + i * S * S);
  term_[i] = m.term;
}

void ExponentiatedGradient::infer_all() {
  const int64_t S = point_.S();
  mu_node_.resize(state_.node.size()), mu_pairs_.resize(state_.pairs.size());
  term_.assign(point_.n_sequences(), 0.0);
  for (int64_t i = 0; i < point_.n_sequences(); ++i) {
    if (point_.length(i) == 0) continue;
    infer(i, state_.node.data() + point_.first(i) * S, state_.pairs.data() + i * S * S, found_);
    store(i, found_);
  }
}

// node_, pairs_ <- the parameters after a step.
void ExponentiatedGradient::propose(int64_t i, double rate) {
  const int64_t S = point_.S(), P = point_.P();
  const double kept = entropic_ ? 1 - rate : 1;
  const double *node = state_.node.data() + point_.first(i) * S, *pairs = state_.pairs.data() + i * S * S;
  node_.reserve(static_cast<size_t>(point_.length(i)) * S), pairs_.reserve(static_cast<size_t>(S) * S);
  for (int64_t t = 0; t < point_.length(i); ++t) {
    const double *cost = point_.costs(i, t), *score = scores_.data() + t * P;
    for (int y = 0; y < S; ++y) node_[t * S + y] = kept * node[t * S + y] + rate * (score[y] + cost[y]);
    lift(node_.data() + t * S, S);
  }
  for (int x = 0; x < S; ++x)
    for (int y = 0; y < S; ++y)
      pairs_[x * S + y] = kept * pairs[x * S + y] + rate * point_.edges().scores[x * P + y];
  lift(pairs_.data(), S * S);
}

// Does no labelling violate the margin: parameters would only grow, and nothing else change.
bool ExponentiatedGradient::settled(int64_t i) {
  const int64_t S = point_.S();
  const double now =
      point_.expected(i, mu_node_.data() + point_.first(i) * S, mu_pairs_.data() + i * S * S, scores_);
  return point_.worst(i, scores_, worst_) - term_[i] - now <= kSettled;
}

void ExponentiatedGradient::visit(int64_t i) {
  const int64_t S = point_.S();
  const int64_t T = point_.length(i);
  const double c = point_.weight_of(i);
  if (T == 0 || c == 0) return;
  const double *mu = mu_node_.data() + point_.first(i) * S, *mu_pairs = mu_pairs_.data() + i * S * S;
  point_.score(i, scores_);
  if (!entropic_ && settled(i)) return;
  double& rate = state_.rate[i];
  node_step_.reserve(static_cast<size_t>(T) * S), pair_step_.reserve(static_cast<size_t>(S) * S);
  for (int trial = 0; trial < kTrials; ++trial) {
    propose(i, rate);
    infer(i, node_.data(), pairs_.data(), found_);
    for (int64_t k = 0; k < T * S; ++k) node_step_[k] = found_.node[k] - mu[k];
    for (int64_t k = 0; k < S * S; ++k) pair_step_[k] = found_.pairs[k] - mu_pairs[k];
    const double rise = found_.term - term_[i] +  // of term + <theta, mu>
                        point_.expected(i, node_step_.data(), pair_step_.data(), scores_);
    point_.set(i, node_step_.data(), pair_step_.data(), -c, move_);
    const double quadratic = point_.make(i, move_, scores_.data(), after_);
    const bool good = c * (rise + kRounding) >= quadratic / 2;
    point_.settle(i, move_, good ? 1.0 : 0.0);
    const double ratio = quadratic > 0 ? c * rise / quadratic : kGrowth;
    rate = std::clamp(rate * std::clamp(ratio, good ? 0.5 : 0.1, good ? kGrowth : 0.5), kLeastRate,
                      entropic_ ? 1.0 : kMostRate);
    if (!good) continue;
    std::copy_n(node_.data(), T * S, state_.node.data() + point_.first(i) * S);
    std::copy_n(pairs_.data(), S * S, state_.pairs.data() + i * S * S);
    return store(i, found_);
  }
}

void ExponentiatedGradient::run(const int64_t* order, Watch& watch) {
  point_.rebuild(mu_node_, mu_pairs_);
  for (int64_t k = 0; k < point_.n_sequences(); ++k) {
    watch.check();
    visit(order[k]);
  }
}

void ExponentiatedGradient::restore(State state) {
  state_ = std::move(state);
  infer_all();
  point_.rebuild(mu_node_, mu_pairs_);
}

}  // namespace fieldcraft
