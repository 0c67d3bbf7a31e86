// Threaded work on long vectors for the optimisers. Vectors are cut into fixed pieces; sums add the pieces'
// parts in order, so they do not depend on the number of threads.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "per_weight.hpp"

namespace fieldcraft {

// A running sum with compensation for rounding (Neumaier).
class CompensatedSum {
 public:
  void add(double x) {
    const double next = sum_ + x;
    lost_ += std::abs(sum_) >= std::abs(x) ? (sum_ - next) + x : (x - next) + sum_;
    sum_ = next;
  }
  void add(const CompensatedSum& other) { add(other.sum_), add(other.lost_); }
  double total() const { return sum_ + lost_; }

 private:
  double sum_ = 0, lost_ = 0;
};

// Where `members` is not null, element i stands for members[i] weights (shared_weights.hpp), and counts so
// often in sums of products.

double dot(const double* x, const double* y, size_t n, int n_threads, const uint8_t* members = nullptr);

// out = x + step * d
void advance(const double* x, double step, const double* d, size_t n, int n_threads, double* out);

// <g, x - old>
double change_along(const double* g, const double* x, const double* old, size_t n, int n_threads,
                    const uint8_t* members = nullptr);

// out = x - old
void difference(const double* x, const double* old, size_t n, int n_threads, float* out);

// products [3, columns] of g, s and y with the columns: every vector is read from memory once.
std::vector<double> pair_products(const double* g, const float* s, const float* y,
                                  const std::vector<const float*>& columns, size_t n, int n_threads,
                                  const uint8_t* members = nullptr);

// out = c[0] g + sum of c[1 + j] xs[j], and trial = start + out, if that is not null; returns <g, out>. The
// trial may take the place of out.
double combine(const double* g, const std::vector<const float*>& xs, const std::vector<double>& c, size_t n,
               int n_threads, double* out, const double* start, double* trial,
               const uint8_t* members = nullptr);

// gradient += precision (w - mean); returns sum of precision (w - mean)^2 / 2.
double gaussian(const double* w, PerWeight mean, PerWeight precision, size_t n, int n_threads,
                double* gradient, const uint8_t* members = nullptr);

// Sum of above max(w, 0) + below max(-w, 0).
double l1_norm(const double* w, PerWeight above, PerWeight below, size_t n, int n_threads);

// The sub-gradient of smallest norm of f + l1: where w = 0 the slope that is left after the l1 part resists.
void pseudo_gradient(const double* w, const double* g, PerWeight above, PerWeight below, size_t n,
                     int n_threads, double* out);

// d[i] = 0 where w[i] = 0 (anywhere if w is null) and d does not point downhill along the pseudo-gradient.
void align(const double* w, const double* pseudo, size_t n, int n_threads, double* d);

// out = w + step d, cut to 0 where it would leave the orthant of w (or of -pseudo where w = 0).
void orthant_step(const double* w, const double* pseudo, double step, const double* d, size_t n,
                  int n_threads, double* out);

}  // namespace fieldcraft
