// The kernels of factorial chains (factorial.hpp): columns of states are strided, matrices [n, n] row-major.
#pragma once

#include <cstdint>

#include "cpu.hpp"

namespace fieldcraft {

// row[z] = sum over y of x[y * stride] matrix[y, z]
FIELDCRAFT_EACH_LEVEL(void move_column(const double* x, int64_t stride, const double* matrix, int n,
                                       double* row))
// products[y, z] += x[y * stride] g[z]
FIELDCRAFT_EACH_LEVEL(void add_column_products(const double* x, int64_t stride, const double* g, int n,
                                               double* products))

}  // namespace fieldcraft
