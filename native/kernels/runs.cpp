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

}  // namespace fieldcraft::FIELDCRAFT_LEVEL
