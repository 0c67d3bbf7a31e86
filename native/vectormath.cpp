#include "vectormath.hpp"

#include <algorithm>
#include <cmath>

#include "canary.hpp"
#include "kernels.hpp"
#include "parallel.hpp"

namespace fieldcraft {
namespace {

constexpr size_t kPiece = 4096;

// Calls body(first, length, piece) for every piece, on any thread.
template <class Body>
void each_piece(size_t n, int n_threads, const Body& body) {
  const size_t n_pieces = (n + kPiece - 1) / kPiece;
  for_each_task(n < 32 * kPiece ? 1 : n_threads, n_pieces, [&](size_t piece, int) {
    const size_t first = piece * kPiece;
    body(first, std::min(kPiece, n - first), piece);
  });
}

template <class Part>
double ordered_sum(size_t n, int n_threads, const Part& part) {
  std::vector<double> parts((n + kPiece - 1) / kPiece);
  each_piece(n, n_threads,
             [&](size_t first, size_t length, size_t piece) { parts[piece] = part(first, length); });
  CompensatedSum total;
  for (double p : parts) total.add(p);
  return total.total();
}

}  // namespace

double dot(const double* x, const double* y, size_t n, int n_threads) {
  return ordered_sum(n, n_threads,
                     [&](size_t i, size_t length) { return FIELDCRAFT_DISPATCH(dot, x + i, y + i, length); });
}

void advance(const double* x, double step, const double* d, size_t n, int n_threads, double* out) {
  each_piece(n, n_threads, [&](size_t first, size_t length, size_t) {
    for (size_t i = first; i < first + length; ++i) out[i] = x[i] + step * d[i];
  });
}

void subtract(const double* x, size_t n, int n_threads, double* out) {
  each_piece(n, n_threads, [&](size_t first, size_t length, size_t) {
    for (size_t i = first; i < first + length; ++i) out[i] -= x[i];
  });
}

void subtract_from(const double* x, size_t n, int n_threads, double* old) {
  each_piece(n, n_threads, [&](size_t first, size_t length, size_t) {
    for (size_t i = first; i < first + length; ++i) old[i] = x[i] - old[i];
  });
}

void copy(const double* x, size_t n, int n_threads, double* out) {
  each_piece(n, n_threads,
             [&](size_t first, size_t length, size_t) { std::copy_n(x + first, length, out + first); });
}

std::vector<double> inner_products(const std::array<const double*, 3>& rows,
                                   const std::vector<const double*>& columns, size_t n, int n_threads) {
  const size_t m = columns.size(), size = 3 * m;
  std::vector<double> parts((n + kPiece - 1) / kPiece * size), total(size, 0.0);
  each_piece(n, n_threads, [&](size_t first, size_t length, size_t piece) {
    const double* const at[3] = {rows[0] + first, rows[1] + first, rows[2] + first};
    for (size_t j = 0; j < m; ++j) {
      double out[3];
      FIELDCRAFT_DISPATCH(three_dots, at, columns[j] + first, length, out);
      for (size_t r = 0; r < 3; ++r) parts[piece * size + r * m + j] = out[r];
    }
  });
  for (size_t k = 0; k < parts.size(); ++k) total[k % size] += parts[k];
  return total;
}

void combine(const std::vector<const double*>& xs, const std::vector<double>& c, size_t n, int n_threads,
             double* out) {
  each_piece(n, n_threads, [&](size_t first, size_t length, size_t) {
    std::vector<const double*> at(xs);
    for (auto& x : at) x += first;
    FIELDCRAFT_DISPATCH(combine, at.data(), c.data(), static_cast<int>(at.size()), length, out + first);
    out[first] = CANARY(DIRECTION, out[first]);
  });
}

double gaussian(const double* w, PerWeight mean, PerWeight precision, size_t n, int n_threads,
                double* gradient) {
  return ordered_sum(n, n_threads, [&](size_t first, size_t length) {
    double total = 0;
    for (size_t i = first; i < first + length; ++i) {
      const double away = w[i] - mean[i], pull = precision[i] * away;
      gradient[i] += pull;
      total += pull * away;
    }
    return total / 2;
  });
}

double l1_norm(const double* w, PerWeight above, PerWeight below, size_t n, int n_threads) {
  return ordered_sum(n, n_threads, [&](size_t first, size_t length) {
    double total = 0;
    for (size_t i = first; i < first + length; ++i) total += w[i] > 0 ? above[i] * w[i] : -below[i] * w[i];
    return total;
  });
}

void pseudo_gradient(const double* w, const double* g, PerWeight above, PerWeight below, size_t n,
                     int n_threads, double* out) {
  each_piece(n, n_threads, [&](size_t first, size_t length, size_t) {
    for (size_t i = first; i < first + length; ++i) {
      const double right = g[i] + above[i], left = g[i] - below[i];  // slopes just above and just below
      out[i] = w[i] > 0 ? right : w[i] < 0 ? left : right < 0 ? right : left > 0 ? left : 0.0;
    }
  });
}

void align(const double* w, const double* pseudo, size_t n, int n_threads, double* d) {
  each_piece(n, n_threads, [&](size_t first, size_t length, size_t) {
    for (size_t i = first; i < first + length; ++i)
      if ((w == nullptr || w[i] == 0) && d[i] * pseudo[i] >= 0) d[i] = 0;
  });
}

void orthant_step(const double* w, const double* pseudo, double step, const double* d, size_t n,
                  int n_threads, double* out) {
  each_piece(n, n_threads, [&](size_t first, size_t length, size_t) {
    for (size_t i = first; i < first + length; ++i) {
      const double side = w[i] != 0 ? w[i] : -pseudo[i], to = w[i] + step * d[i];
      out[i] = to * side > 0 ? to : 0.0;
    }
  });
}

}  // namespace fieldcraft
