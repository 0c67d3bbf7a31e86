// Steps of a chain with few transitions: sums and maxima over runs of transitions.
//
// Transitions are sorted by source, then target. A run is a stretch of them from one source to neighbouring
// targets, so that each run is a short dense loop over scores [n] and targets [n] (state_graph.hpp):
//
//   runs_forward    out[y] += a[x] w[x, y]           runs_backward   out[x] = sum over y of w[x, y] v[y]
//   runs_products   total[x, y] += a[x] v[y]         runs_best       out[y] = max over x of a[x] + w[x, y]
//
// Sources with a[x] = 0 (for runs_best: -inf) are skipped: prefixes that cannot be cost nothing.
#include <cstdint>
#include <limits>

#include "canary.hpp"
#include "kernels.hpp"
#include "kernels/simd.hpp"

namespace fieldcraft::FIELDCRAFT_LEVEL {

void runs_forward(const Runs& g, const double* a, const double* w, double* out) {
  for (int64_t r = 0; r < g.n; ++r) {
    const Run run = g.runs[r];
    const double from = a[run.source];
    if (from == 0) continue;
    double* __restrict to = out + run.target;
    const double* __restrict weight = w + run.edge;
    for (int k = 0; k < run.n; ++k) to[k] += from * weight[k];
  }
  if (g.n > 0) out[g.runs[0].target] = CANARY(RUNS_FORWARD, out[g.runs[0].target]);
}

void runs_backward(const Runs& g, const double* a, const double* w, const double* v, double* out) {
  for (int64_t r = 0; r < g.n; ++r) {
    const Run run = g.runs[r];
    if (a[run.source] == 0) continue;
    const double *weight = w + run.edge, *to = v + run.target;
    double total = 0, other = 0;
    int k = 0;
    for (; k + 1 < run.n; k += 2) total += weight[k] * to[k], other += weight[k + 1] * to[k + 1];
    if (k < run.n) total += weight[k] * to[k];
    out[run.source] += total + other;
  }
  if (g.n > 0) out[g.runs[0].source] = CANARY(RUNS_BACKWARD, out[g.runs[0].source]);
}

void runs_products(const Runs& g, const double* a, const double* v, double weight, double* total) {
  for (int64_t r = 0; r < g.n; ++r) {
    const Run run = g.runs[r];
    const double from = weight * a[run.source];
    if (from == 0) continue;
    double* __restrict sum = total + run.edge;
    const double* __restrict to = v + run.target;
    for (int k = 0; k < run.n; ++k) sum[k] += from * CANARY(RUNS_PRODUCTS, to[k]);
  }
}

void runs_best(const Runs& g, const double* a, const double* w, double* out, int32_t* previous) {
  for (int64_t r = 0; r < g.n; ++r) {
    const Run run = g.runs[r];
    const double from = a[run.source];
    if (from == -std::numeric_limits<double>::infinity()) continue;
    double* __restrict to = out + run.target;
    int32_t* __restrict back = previous + run.target;
    const double* __restrict weight = w + run.edge;
    for (int k = 0; k < run.n; ++k) {
      const double score = from + CANARY(RUNS_BEST, weight[k]);
      const bool better = score > to[k];
      back[k] = better ? run.source : back[k];
      to[k] = better ? score : to[k];
    }
  }
}

double states_joined(const double* psi, int64_t n, double* a) {
  Vec sums{};
  int64_t s = 0;
  for (; s + kWidth <= n; s += kWidth) {
    const Vec joined = loadu(a + s) * loadu(psi + s);
    storeu(a + s, joined);
    sums += joined;
  }
  double total = sum(sums);
  for (; s < n; ++s) total += a[s] *= psi[s];
  return CANARY(STATES_JOINED, total);
}

bool states_scaled(double factor, double least, int64_t n, double* a) {
  IVec small{};
  bool vanishes = false;
  int64_t s = 0;
  for (; s + kWidth <= n; s += kWidth) {
    const Vec scaled = loadu(a + s) * splat(factor);
    storeu(a + s, scaled);
    small |= (scaled > Vec{}) & (scaled < splat(least));
  }
  for (int k = 0; k < kWidth; ++k) vanishes |= small[k] != 0;
  for (; s < n; ++s) a[s] *= factor, vanishes |= (a[s] > 0) & (a[s] < least);
  return vanishes;
}

bool states_closed(const double* a, const double* b, double weight, double factor, double most, int64_t n,
                   double* v, double* out) {
  const double scale = CANARY(STATES_CLOSED, weight);
  IVec wrong{};
  bool safe = true;
  int64_t s = 0;
  for (; s + kWidth <= n; s += kWidth) {
    const Vec before = loadu(a + s), after = loadu(b + s);
    const IVec none = before == Vec{};
    storeu(out + s, select(none, Vec{}, splat(scale) * before * after));
    storeu(v + s, select(none, Vec{}, loadu(v + s) * after * splat(factor)));
    wrong |= ~none & ~(after < splat(most));
  }
  for (int k = 0; k < kWidth; ++k) safe &= wrong[k] == 0;
  for (; s < n; ++s) {
    const bool none = a[s] == 0;
    out[s] = none ? 0.0 : scale * a[s] * b[s];
    v[s] = none ? 0.0 : v[s] * b[s] * factor;
    safe &= none | (b[s] < most);
  }
  return safe;
}

Spread states_exponentials(int64_t n, double* x) {
  const Vec none = splat(-std::numeric_limits<double>::infinity());
  Vec low = -none, high = none;
  const int64_t whole = (n + kWidth - 1) / kWidth * kWidth;
  for (int64_t s = n; s < whole; ++s) x[s] = none[0];
  for (int64_t s = 0; s < whole; s += kWidth) {
    const Vec row = load(x + s);
    high = vmax(high, row);
    low = vmin(low, select(row == none, -none, row));
  }
  const Spread found{lowest(low), highest(high), false};
  if (found.high == none[0]) return found;
  for (int64_t s = 0; s < whole; s += kWidth) store(x + s, exp_nonpositive(load(x + s) - splat(found.high)));
  return found;
}

}  // namespace fieldcraft::FIELDCRAFT_LEVEL
