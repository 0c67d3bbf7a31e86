// The best labelling of a factorial chain: the recursion of factorial.hpp with maxima.
#include <algorithm>

#include "canary.hpp"
#include "factorial.hpp"
#include "factorial_algebra.hpp"

namespace fieldcraft {

using factorial::kForbidden;

double Factorial::best(const double* node, int64_t T, int32_t* labels) const {
  if (T == 0) return 0;
  std::vector<double> x(S_), out(S_);
  std::vector<int32_t> from(T * C_ * S_);  // [T, C, S] the label of a column before its step
  for (int64_t t = 0; t < T; ++t) {
    for (int c = C_ - 1; t > 0 && c >= 0; --c) {
      const int n = tables_.card[c];
      const bool apart = edge_[c].size() > static_cast<size_t>(n) * n;
      int32_t* previous = from.data() + (t * C_ + c) * S_;
      for (int64_t s = 0; s < S_; ++s) {
        const int64_t z = s / stride_[c] % n, base = s - z * stride_[c];
        const double* edge = edge_[c].data() + (apart ? s % stride_[c] * n * n : 0);
        double high = kForbidden;
        int32_t chosen = 0;
        for (int y = 0; y < n; ++y) {
          const double score = x[base + y * stride_[c]] + edge[y * n + z];
          if (score > high) high = score, chosen = y;
        }
        out[s] = high + (cross_[c].empty() ? 0.0 : cross_[c][s]);
        previous[s] = chosen;
      }
      x.swap(out);
    }
    for (int64_t s = 0; s < S_; ++s) {
      double score = t == 0 ? unit_[s] : x[s] + unit_[s];
      for (int c = 0; c < C_; ++c)
        score += node[(t * C_ + c) * tables_.width + s / stride_[c] % tables_.card[c]];
      x[s] = score;
    }
    x[0] = CANARY(FACTORIAL_BEST, x[0]);
  }
  int64_t s = std::max_element(x.begin(), x.end()) - x.begin();
  const double value = x[s];
  for (int64_t t = T - 1; t >= 0; --t) {
    for (int c = 0; c < C_; ++c) labels[t * C_ + c] = static_cast<int32_t>(s / stride_[c] % tables_.card[c]);
    for (int c = 0; t > 0 && c < C_; ++c) {
      const int32_t y = from[(t * C_ + c) * S_ + s];
      s += (y - s / stride_[c] % tables_.card[c]) * stride_[c];
    }
  }
  return value;
}

}  // namespace fieldcraft
