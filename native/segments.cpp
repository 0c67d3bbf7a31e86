// Forward and backward recursions of a semi-Markov chain, in log space.
//
//   entry[s, X] = log sum over e of exp(alpha[s-1, e] + edge[s, e -> first(X)])                   (0 at s =
//   0) alpha[t, e] = log sum over the segments (X, s .. t) that leave through e of exp(entry[s, X] + inner(X,
//   s, t)) begun[s, X] = log sum over the segments (X, s .. t) of exp(inner(X, s, t) + beta[t, e]) beta[t, e]
//   = log sum over X of exp(edge[t+1, e -> first(X)] + begun[t+1, X])                 (0 at the end)
//
// shift[t], the largest alpha[t, .], is taken from the scores of token t, so that all numbers stay near 0:
// log Z is their sum plus the log-sum of the last row. Marginals of segments are
// exp(entry + inner + beta - log Z); those of tokens inside are sums of these, never differences.
//
// Sums over transitions are products with exp(edge), which is made once where all positions share the edges;
// a sum so small that it may have lost terms is computed again in log space.
#include "segments.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "canary.hpp"
#include "kernels.hpp"
#include "vectormath.hpp"

namespace fieldcraft {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
constexpr double kWidestMatrix = 300;    // largest |edge| of a matrix exp(edge)
constexpr double kSmallestSum = 1e-150;  // of products; below it terms may be lost

void exp_of(double* x, int64_t n) { FIELDCRAFT_DISPATCH(exp_all, x, x, static_cast<size_t>(padded(n))); }

// log of the sum of exp(values(i)), i < n.
template <class Values>
double log_sum(int64_t n, const Values& values) {
  double top = kMinusInf, total = 0;
  for (int64_t i = 0; i < n; ++i) top = std::max(top, values(i));
  if (!std::isfinite(top)) return top;
  for (int64_t i = 0; i < n; ++i) total += std::exp(values(i) - top);
  return top + std::log(total);
}

}  // namespace

SegmentSpace::SegmentSpace(std::vector<int32_t> longest_, std::vector<int32_t> first_,
                           std::vector<int32_t> later_, std::vector<int32_t> source_,
                           std::vector<int32_t> target_)
    : n_types(static_cast<int64_t>(longest_.size())),
      n_edges(static_cast<int64_t>(source_.size())),
      longest(std::move(longest_)),
      first(std::move(first_)),
      later(std::move(later_)),
      column(1, 0),
      source(std::move(source_)),
      target(std::move(target_)) {
  n_states = n_types;
  for (int64_t x = 0; x < n_types; ++x) {
    n_states += longest[x] > 1;
    column.push_back(column.back() + longest[x]);
  }
  n_columns = column.back();
  type_of.assign(n_states, -1);
  const auto take = [&](int32_t state, int64_t x) {
    if (state < 0 || state >= n_states || type_of[state] >= 0)
      throw std::invalid_argument("each type needs states of its own");
    type_of[state] = static_cast<int32_t>(x);
  };
  for (int64_t x = 0; x < n_types; ++x) {
    take(first[x], x);
    if (longest[x] > 1) take(later[x], x);
  }
  entering.assign(n_states * n_types, -1);
  second.assign(n_types, -1), inside.assign(n_types, -1);
  for (int64_t e = 0; e < n_edges; ++e) {
    const int32_t x = type_of[target[e]];
    if (target[e] == first[x])
      entering[source[e] * n_types + x] = static_cast<int32_t>(e);
    else if (source[e] == first[x])
      second[x] = static_cast<int32_t>(e);
    else if (source[e] == later[x])
      inside[x] = static_cast<int32_t>(e);
  }
  for (int64_t x = 0; x < n_types; ++x)
    if ((longest[x] > 1 && second[x] < 0) || (longest[x] > 2 && inside[x] < 0))
      throw std::invalid_argument("type " + std::to_string(x) + " has no transition for segments of " +
                                  std::to_string(longest[x]) + " tokens");
}

SegmentSequence::SegmentSequence(const SegmentPotentials& from, int64_t i)
    : space(from.space),
      node(from.node + from.offsets[i] * from.space.n_states),
      edge(from.edge + (from.edge_rows ? from.offsets[i] * from.space.n_edges : 0)),
      segment(from.segment + (from.segment_rows ? from.offsets[i] * from.space.n_columns : 0)),
      T(from.length(i)),
      edge_stride(from.edge_rows ? from.space.n_edges : 0),
      segment_stride(from.segment_rows ? from.space.n_columns : 0) {}

void SegmentPass::prepare(const SegmentSequence& from) {
  const SegmentSpace& space = from.space;
  const int64_t K = space.n_types, S = space.n_states;
  alpha_.resize(from.T * S), entry_.resize(from.T * K), beta_.resize(from.T * S), shift_.resize(from.T);
  begun_.resize(K);
  runs_.reserve(padded(space.n_columns)), values_.reserve(padded(space.n_columns)),
      masses_.reserve(padded(S));
  std::fill_n(runs_.data(), padded(space.n_columns), kMinusInf);
  std::fill_n(values_.data(), padded(space.n_columns), kMinusInf);
  std::fill_n(masses_.data(), padded(S), kMinusInf);
  matrix_.reserve(padded(S * K));
  if (from.edge_stride == 0 && prepared_ != from.edge) take_step(from, 0);
  prepared_ = from.edge_stride == 0 ? from.edge : nullptr;
}

// matrix_ of the step to t, where it has edges of its own.
void SegmentPass::step_to(const SegmentSequence& from, int64_t t) {
  if (from.edge_stride != 0) take_step(from, t);
}

void SegmentPass::take_step(const SegmentSequence& from, int64_t t) {
  const int64_t n = from.space.n_states * from.space.n_types;
  const double* edge = from.edge_at(t);
  matrix_serves_ = true;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t step = from.space.entering[i];
    matrix_[i] = step < 0 ? kMinusInf : edge[step];
    matrix_serves_ = matrix_serves_ && (matrix_[i] == kMinusInf || std::abs(matrix_[i]) < kWidestMatrix);
  }
  std::fill(matrix_.data() + n, matrix_.data() + padded(n), kMinusInf);
  if (matrix_serves_) exp_of(matrix_.data(), n);
}

// entry_ of t > 0 from alpha_ of t - 1, whose largest is 0 or all of which are -inf.
void SegmentPass::enter(const SegmentSequence& from, int64_t t) {
  const SegmentSpace& space = from.space;
  const int64_t K = space.n_types, S = space.n_states;
  const double *alpha = &alpha_[(t - 1) * S], *edge = from.edge_at(t);
  double* entry = &entry_[t * K];
  step_to(from, t);
  const auto exactly = [&](int64_t x) {
    return log_sum(S, [&](int64_t e) {
      const int32_t step = space.entering[e * K + x];
      return step < 0 ? kMinusInf : alpha[e] + edge[step];
    });
  };
  if (matrix_serves_) {
    std::copy_n(alpha, S, masses_.data());
    exp_of(masses_.data(), S);
    std::fill_n(entry, K, 0.0);
    for (int64_t e = 0; e < S; ++e)
      for (int64_t x = 0; x < K; ++x) entry[x] += masses_[e] * matrix_[e * K + x];
  }
  for (int64_t x = 0; x < K; ++x)
    entry[x] = matrix_serves_ && entry[x] > kSmallestSum ? std::log(entry[x]) : exactly(x);
}

// alpha_ of t. runs_[X, d] becomes the log-sum of the prefixes whose last segment has type X and so far d
// tokens.
void SegmentPass::end_segments(const SegmentSequence& from, int64_t t) {
  const SegmentSpace& space = from.space;
  const int64_t K = space.n_types, S = space.n_states;
  const double *node = from.node_at(t), *edge = from.edge_at(t), *segment = from.segment_at(t);
  double* alpha = &alpha_[t * S];
  std::vector<double>& tops = begun_;  // [types]
  for (int64_t x = 0; x < K; ++x) {
    double *run = runs_.data() + space.column[x], *value = values_.data() + space.column[x];
    const double* own = segment + space.column[x];
    const int64_t D = space.longest[x], most = std::min(D, t + 1);
    if (most > 1) {
      const double here = node[space.later[x]];
      if (most > 2) {
        const double step = edge[space.inside[x]] + here;
        for (int64_t d = most - 1; d > 1; --d) run[d] = run[d - 1] + step;
      }
      run[1] = run[0] + edge[space.second[x]] + here;
    }
    run[0] = entry_[t * K + x] + node[space.first[x]];
    double top = kMinusInf;
    for (int64_t d = 0; d < most; ++d) value[d] = run[d] + own[d];
    for (int64_t d = 1; d < most; ++d) top = std::max(top, value[d]);
    tops[x] = top;
    alpha[space.first[x]] = value[0];
    if (!std::isfinite(top)) top = 0;
    for (int64_t d = 1; d < most; ++d) value[d] -= top;
    std::fill(value + most, value + D, kMinusInf);
  }
  exp_of(values_.data(), space.n_columns);
  double best = kMinusInf;
  for (int64_t x = 0; x < K; ++x) {
    const double* value = values_.data() + space.column[x];
    best = std::max(best, alpha[space.first[x]]);
    if (space.longest[x] == 1) continue;
    double total = 0;
    for (int64_t d = 1; d < space.longest[x]; ++d) total += value[d];
    double& later = alpha[space.later[x]];
    later = std::isfinite(tops[x]) ? tops[x] + std::log(total) : tops[x];
    later = x == 0 ? CANARY(SEGMENT_FORWARD, later) : later;
    best = std::max(best, later);
  }
  const double shift = shift_[t] = std::isfinite(best) ? best : 0.0;
  for (int64_t e = 0; e < S; ++e) alpha[e] -= shift;
  for (int64_t c = 0; c < space.n_columns; ++c) runs_[c] -= shift;
}

double SegmentPass::log_partition(const SegmentSequence& from) {
  const SegmentSpace& space = from.space;
  const int64_t K = space.n_types, S = space.n_states;
  if (from.T == 0) return log_z_ = 0;
  prepare(from);
  CompensatedSum shifts;
  for (int64_t t = 0; t < from.T; ++t) {
    if (t > 0)
      enter(from, t);
    else
      std::fill_n(entry_.data(), K, 0.0);
    end_segments(from, t);
    shifts.add(shift_[t]);
    breath_.after(8 * (space.n_columns + S * K));
  }
  const double* last = &alpha_[(from.T - 1) * S];
  log_z_ = log_sum(S, [&](int64_t e) { return last[e]; });
  return shifts.total() + log_z_;
}

// beta_ of t from begun_ of t + 1.
void SegmentPass::follow(const SegmentSequence& from, int64_t t) {
  const SegmentSpace& space = from.space;
  const int64_t K = space.n_types, S = space.n_states;
  const double* edge = from.edge_at(t + 1);
  const double top = *std::max_element(begun_.begin(), begun_.end());
  std::vector<double> mass(K);
  if (matrix_serves_ && std::isfinite(top))
    for (int64_t x = 0; x < K; ++x) mass[x] = std::exp(begun_[x] - top);
  for (int64_t e = 0; e < S; ++e) {
    double total = 0;
    for (int64_t x = 0; x < K && matrix_serves_; ++x) total += mass[x] * matrix_[e * K + x];
    if (total > kSmallestSum) {
      beta_[t * S + e] = top + std::log(total);
      continue;
    }
    beta_[t * S + e] = log_sum(K, [&](int64_t x) {
      const int32_t step = space.entering[e * K + x];
      return step < 0 ? kMinusInf : edge[step] + begun_[x];
    });
  }
}

// begun_ of s; values_[X, d] become the weights exp(inner + beta - top) of the segments that begin at s.
void SegmentPass::begin_segments(const SegmentSequence& from, int64_t s) {
  const SegmentSpace& space = from.space;
  const int64_t S = space.n_states;
  for (int64_t x = 0; x < space.n_types; ++x) {
    double* value = values_.data() + space.column[x];
    const int64_t D = space.longest[x], most = std::min(D, from.T - s);
    double run = from.node_at(s)[space.first[x]] - shift_[s], top = kMinusInf;
    for (int64_t d = 1; d <= most; ++d) {
      const int64_t t = s + d - 1;
      if (d > 1) run += from.step(t, x, d) - shift_[t];
      value[d - 1] =
          run + from.segment_at(t)[space.column[x] + d - 1] + beta_[t * S + space.exit_state(x, d)];
      top = std::max(top, value[d - 1]);
    }
    begun_[x] = top;
    std::fill(value + most, value + D, kMinusInf);
    for (int64_t d = 0; d < most && std::isfinite(top); ++d) value[d] -= top;
  }
  exp_of(values_.data(), space.n_columns);
}

// p(exit e, then a segment of type X that begins at s), for all e and X; begun_ is that of s.
void SegmentPass::pair_marginals(const SegmentSequence& from, int64_t s, double* edge) {
  const SegmentSpace& space = from.space;
  const int64_t K = space.n_types, S = space.n_states;
  const double *alpha = &alpha_[(s - 1) * S], *scores = from.edge_at(s);
  if (matrix_serves_) {
    std::copy_n(alpha, S, masses_.data());
    exp_of(masses_.data(), S);
  }
  for (int64_t x = 0; x < K; ++x) {
    if (begun_[x] == kMinusInf) continue;
    const bool products = matrix_serves_ && entry_[s * K + x] > std::log(kSmallestSum);
    const double factor = products ? std::exp(begun_[x] - log_z_) : 0.0;
    for (int64_t e = 0; e < S; ++e) {
      const int32_t step = space.entering[e * K + x];
      if (step < 0 || alpha[e] == kMinusInf) continue;
      edge[step] = products ? masses_[e] * matrix_[e * K + x] * factor
                            : std::exp(alpha[e] + scores[step] + begun_[x] - log_z_);
    }
  }
}

void SegmentPass::marginals(const SegmentSequence& from, double* node, double* edge, double* segment) {
  const SegmentSpace& space = from.space;
  const int64_t K = space.n_types, S = space.n_states, E = space.n_edges, C = space.n_columns;
  if (from.T == 0) return;
  std::fill_n(&beta_[(from.T - 1) * S], S, 0.0);
  for (int64_t s = from.T - 1; s >= 0; --s) {
    begin_segments(from, s);
    for (int64_t x = 0; x < K; ++x) {
      const double* weight = values_.data() + space.column[x];
      const int64_t most = std::min<int64_t>(space.longest[x], from.T - s);
      const double top = begun_[x], before = entry_[s * K + x];
      if (top == kMinusInf) continue;
      const double factor = std::exp(before + top - log_z_);
      double total = 0, mass = 0;  // of these segments: weights, and probabilities
      for (int64_t d = most; d >= 1; --d) {
        const int64_t t = s + d - 1;
        double p = factor * weight[d - 1];
        p = d == 1 ? CANARY(SEGMENT_MARGINAL, p) : p;
        segment[t * C + space.column[x] + d - 1] = p;
        total += weight[d - 1], mass += p;
        node[t * S + (d == 1 ? space.first[x] : space.later[x])] += mass;
        if (d > 1) edge[t * E + (d == 2 ? space.second[x] : space.inside[x])] += mass;
      }
      begun_[x] = top + std::log(x == 0 ? CANARY(SEGMENT_BACKWARD, total) : total);
    }
    if (s > 0) step_to(from, s), pair_marginals(from, s, edge + s * E), follow(from, s - 1);
    breath_.after(8 * (C + S * K));
  }
}

}  // namespace fieldcraft
