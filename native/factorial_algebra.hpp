// The numbers that the recursions of factorial chains add and multiply: probabilities, or their logarithms.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/factorial.hpp"

namespace fieldcraft::factorial {

constexpr double kForbidden = -std::numeric_limits<double>::infinity();

// Sums and products of probabilities; rows are scaled to a sum of 1.
struct Linear {
  static constexpr double zero = 0, one = 1;
  static double plus(double a, double b) { return a + b; }
  static double times(double a, double b) { return a * b; }
  static double from_score(double x) { return std::exp(x); }
  static double probability(double x) { return x; }
  static double scaled(double x, double log_sum) { return x * std::exp(-log_sum); }
};

// The same in logarithms, for scores of any size.
struct Logarithmic {
  static constexpr double zero = kForbidden, one = 0;
  static double plus(double a, double b) {
    const double high = a > b ? a : b, low = a > b ? b : a;
    return low == kForbidden ? high : high + std::log1p(std::exp(low - high));
  }
  static double times(double a, double b) { return a == kForbidden || b == kForbidden ? kForbidden : a + b; }
  static double from_score(double x) { return x; }
  static double probability(double x) { return std::exp(x); }
  static double scaled(double x, double log_sum) { return x - log_sum; }
};

inline double log_of_sum(Linear, const double* x, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; ++i) total += x[i];
  return std::log(total);
}

inline double log_of_sum(Logarithmic, const double* x, int64_t n) {
  const double high = *std::max_element(x, x + n);
  if (high == kForbidden) return high;
  double total = 0;
  for (int64_t i = 0; i < n; ++i) total += std::exp(x[i] - high);
  return high + std::log(total);
}

// One column of the states: row[z] = sum over y of x[y] matrix[y, z].
inline void move(Linear, const double* x, int64_t stride, const double* matrix, int n, double* row) {
  FIELDCRAFT_DISPATCH(move_column, x, stride, matrix, n, row);
}

inline void move(Logarithmic, const double* x, int64_t stride, const double* matrix, int n, double* row) {
  std::fill(row, row + n, kForbidden);
  for (int y = 0; y < n; ++y)
    for (int z = 0; z < n; ++z)
      row[z] = Logarithmic::plus(row[z], Logarithmic::times(x[y * stride], matrix[y * n + z]));
}

// products[y, z] += x[y] g[z]; in logarithms with the matrix.
inline void add(Linear, const double* x, int64_t stride, const double*, const double* g, int n,
                double* products) {
  FIELDCRAFT_DISPATCH(add_column_products, x, stride, g, n, products);
}

inline void add(Logarithmic, const double* x, int64_t stride, const double* matrix, const double* g, int n,
                double* products) {
  for (int y = 0; y < n; ++y)
    for (int z = 0; z < n; ++z)
      products[y * n + z] +=
          std::exp(Logarithmic::times(Logarithmic::times(x[y * stride], matrix[y * n + z]), g[z]));
}

}  // namespace fieldcraft::factorial
