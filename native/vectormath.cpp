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

const uint8_t* from(const uint8_t* members, size_t first) {
  return members == nullptr ? nullptr : members + first;
}

}  // namespace

double dot(const double* x, const double* y, size_t n, int n_threads, const uint8_t* members) {
  return ordered_sum(n, n_threads, [&](size_t i, size_t length) {
    return FIELDCRAFT_DISPATCH(dot, x + i, y + i, from(members, i), length);
  });
}

void advance(const double* x, double step, const double* d, size_t n, int n_threads, double* out) {
  each_piece(n, n_threads, [&](size_t first, size_t length, size_t) {
    for (size_t i = first; i < first + length; ++i) out[i] = x[i] + step * d[i];
  });
}

void difference(const double* x, const double* old, size_t n, int n_threads, float* out) {
  each_piece(n, n_threads, [&](size_t first, size_t length, size_t) {
    for (size_t i = first; i < first + length; ++i) out[i] = static_cast<float>(x[i] - old[i]);
  });
}

std::vector<double> pair_products(const double* g, const float* s, const float* y,
                                  const std::vector<const float*>& columns, size_t n, int n_threads,
                                  const uint8_t* members) {
  const size_t m = columns.size(), groups = (m + kColumnsAtOnce - 1) / kColumnsAtOnce;
  const size_t size = groups * 3 * kColumnsAtOnce;
  std::vector<double> parts((n + kPiece - 1) / kPiece * size), total(3 * m, 0.0);
  each_piece(n, n_threads, [&](size_t first, size_t length, size_t piece) {
    for (size_t group = 0; group < groups; ++group) {
      const float* at[kColumnsAtOnce];
      for (size_t j = 0; j < kColumnsAtOnce; ++j)  // the last group is filled up with the last column
        at[j] = columns[std::min(group * kColumnsAtOnce + j, m - 1)] + first;
      double* const out = &parts[piece * size + group * 3 * kColumnsAtOnce];
      FIELDCRAFT_DISPATCH(pair_products, g + first, s + first, y + first, at, from(members, first), length,
                          out);
    }
  });
  for (size_t begin = 0; begin < parts.size(); begin += size)
    for (size_t j = 0; j < m; ++j)
      for (size_t r = 0; r < 3; ++r) total[r * m + j] += parts[begin + 3 * j + r];
  return total;
}

double combine(const double* g, const std::vector<const float*>& xs, const std::vector<double>& c, size_t n,
               int n_threads, double* out, const double* start, double* trial, const uint8_t* members) {
  return ordered_sum(n, n_threads, [&](size_t first, size_t length) {
    std::vector<const float*> at(xs);
    for (auto& x : at) x += first;
    const int m = static_cast<int>(at.size());
    FIELDCRAFT_DISPATCH(combine, g + first, at.data(), c.data(), m, length, out + first);
    out[first] = CANARY(DIRECTION, out[first]);
    const double slope = FIELDCRAFT_DISPATCH(dot, g + first, out + first, from(members, first), length);
    if (trial != nullptr)
      for (size_t i = first; i < first + length; ++i) trial[i] = start[i] + out[i];
    return slope;
  });
}

double change_along(const double* g, const double* x, const double* old, size_t n, int n_threads,
                    const uint8_t* members) {
  return ordered_sum(n, n_threads, [&](size_t first, size_t length) {
    double change[kPiece];
    for (size_t i = 0; i < length; ++i) change[i] = x[first + i] - old[first + i];
    return FIELDCRAFT_DISPATCH(dot, g + first, change, from(members, first), length);
  });
}

double gaussian(const double* w, PerWeight mean, PerWeight precision, size_t n, int n_threads,
                double* gradient, const uint8_t* members) {
  return ordered_sum(n, n_threads, [&](size_t i, size_t length) {
    return FIELDCRAFT_DISPATCH(pull, w + i, mean.from(i), precision.from(i), from(members, i), length,
                               gradient + i) /
           2;
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
