#include "linear_map.hpp"

#include <algorithm>

namespace fieldcraft {

// Calls visit(position, entry, value) for every weight that takes part in a position, in order.
template <class Visit>
void LinearMap::each_entry(const Visit& visit) const {
  for (int64_t t = 0; t < n_positions; ++t)
    for (int64_t i = position_ptr[t]; i < position_ptr[t + 1]; ++i) {
      const int32_t a = attributes[i];
      const double value = values == nullptr ? 1.0 : values[i];
      for (int64_t k = ptr[a]; k < ptr[a + 1]; ++k) visit(t, k, value);
    }
}

void LinearMap::apply(const double* weights, double* out) const {
  std::fill_n(out, n_positions * width, 0.0);
  each_entry([&](int64_t t, int64_t k, double value) { out[t * width + column[k]] += value * weights[k]; });
}

void LinearMap::adjoint(const double* numbers, double* gradient) const {
  std::fill_n(gradient, n_entries, 0.0);
  each_entry(
      [&](int64_t t, int64_t k, double value) { gradient[k] += value * numbers[t * width + column[k]]; });
}

}  // namespace fieldcraft
