#include "dual_entries.hpp"

#include <algorithm>

#include "canary.hpp"

namespace fieldcraft {

double take_off_gold(const DualWeights& live, int64_t i, const int32_t* gold, double* amounts) {
  const TrainingLayout& layout = live.layout();
  double score = 0;
  live.each_entry(i, [&](int64_t k, int64_t token, int64_t pair, uint32_t f, double value) {
    const int32_t* y = gold + token - layout.first(i);
    if (pair != y[-1] * layout.P() + y[0]) return;
    score += value * live.weight(f);
    amounts[k] -= value;
  });
  return score;
}

Comparison compare_entries(const DualWeights& live, int64_t i, const double* p, const float* q,
                           double* scores, double* step) {
  std::fill_n(step, live.layout().n_entries(i), 0.0);
  Comparison out{0, 0, 0};
  live.each_entry(i, [&](int64_t k, int64_t, int64_t, uint32_t f, double) {
    scores[k] = live.weight(f);
    step[k] = p[k] - q[k];
    out.with_q += scores[k] * q[k], out.with_p += scores[k] * p[k];
    out.squares += step[k] * step[k];
  });
  return out;
}

void move_entries(double s, double c, int64_t n, float* q, double* step) {
  for (int64_t k = 0; k < n; ++k) {
    const float old = q[k];
    q[k] = static_cast<float>(old + s * step[k]);
    step[k] = -c * CANARY(DUAL_ENTRIES, static_cast<double>(q[k]) - old);
  }
}

double moved_along(const DualWeights& live, int64_t i, const double* scores, const double* change) {
  double total = 0;
  live.each_entry(i, [&](int64_t k, int64_t, int64_t, uint32_t f, double) {
    if (change[k] != 0) total += (live.weight(f) - scores[k]) * change[k];
  });
  return total;
}

}  // namespace fieldcraft
