// One step of a column of a factorial chain; see factorial.hpp.
#include "kernels/factorial.hpp"

namespace fieldcraft::FIELDCRAFT_LEVEL {

void move_column(const double* x, int64_t stride, const double* matrix, int n, double* row) {
  for (int z = 0; z < n; ++z) row[z] = 0;
  for (int y = 0; y < n; ++y) {
    const double from = x[y * stride];
    if (from == 0) continue;
    const double* const factors = matrix + static_cast<int64_t>(y) * n;
    for (int z = 0; z < n; ++z) row[z] += from * factors[z];
  }
}

void add_column_products(const double* x, int64_t stride, const double* g, int n, double* products) {
  for (int y = 0; y < n; ++y) {
    const double from = x[y * stride];
    if (from == 0) continue;
    double* const to = products + static_cast<int64_t>(y) * n;
    for (int z = 0; z < n; ++z) to[z] += from * g[z];
  }
}

}  // namespace fieldcraft::FIELDCRAFT_LEVEL
