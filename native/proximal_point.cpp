#include "proximal_point.hpp"

#include <algorithm>
#include <cmath>

#include "canary.hpp"
#include "parallel.hpp"
#include "vectormath.hpp"

namespace fieldcraft {
namespace {

constexpr double kChange = 1.4;                // of the ratio
constexpr double kLong = 0.7, kShort = 0.3;    // mean steps beyond which it changes
constexpr double kLeast = 1.0 / 8, kMost = 8;  // of the first ratio
constexpr size_t kPiece = 4096;                // weights: sums do not depend on the number of threads

// Calls body(first, end, piece) for pieces of 0 .. n-1.
template <class Body>
void each_piece(size_t n, int n_threads, const Body& body) {
  for_each_task(n < 32 * kPiece ? 1 : n_threads, (n + kPiece - 1) / kPiece,
                [&](size_t piece, int) { body(piece * kPiece, std::min(n, (piece + 1) * kPiece), piece); });
}

double total_of(const std::vector<double>& parts) {
  CompensatedSum total;
  for (const double part : parts) total.add(part);
  return total.total();
}

}  // namespace

ProximalPoint::ProximalPoint(const PriorNumbers& mean, const PriorNumbers& inverse, double ratio,
                             int n_threads)
    : mean_(mean),
      inverse_(inverse),
      first_ratio_(ratio),
      n_threads_(n_threads),
      state_{mean.all(), mean.all(), ratio} {}

ProximalPoint::Terms ProximalPoint::terms(const double* w) const {
  const size_t n = mean_.size(), n_pieces = (n + kPiece - 1) / kPiece;
  std::vector<double> penalty(n_pieces), distance(n_pieces);
  const double ratio = state_.ratio;
  each_piece(n, n_threads_, [&](size_t first, size_t end, size_t piece) {
    CompensatedSum quadratic, apart;
    for (size_t f = first; f < end; ++f) {
      if (inverse_[f] == 0) continue;
      const double v = (1 + ratio) * w[f] - mean_[f] - ratio * state_.z[f], off = w[f] - mean_[f] - v;
      quadratic.add(v * (mean_[f] + v / 2) / inverse_[f]);
      apart.add(off * off / (2 * inverse_[f]));
    }
    penalty[piece] = quadratic.total(), distance[piece] = apart.total();
  });
  return {total_of(penalty), total_of(distance)};
}

// <z - w, w - previous> in the metric of the precisions.
double ProximalPoint::along(const double* w) const {
  const size_t n = mean_.size();
  std::vector<double> parts((n + kPiece - 1) / kPiece);
  each_piece(n, n_threads_, [&](size_t first, size_t end, size_t piece) {
    double sum = 0;
    for (size_t f = first; f < end; ++f)
      if (inverse_[f] > 0) sum += (state_.z[f] - w[f]) * (w[f] - state_.previous[f]) / inverse_[f];
    parts[piece] = sum;
  });
  return total_of(parts);
}

void ProximalPoint::advance(double mean_step, double* w) {
  const double ratio = state_.ratio, root = std::sqrt(1 / (1 + ratio));
  const double beta = along(w) > 0 ? 0 : (1 - root) / (1 + root);
  double next = ratio;
  if (mean_step > kLong) next /= kChange;
  if (mean_step < kShort) next *= kChange;
  next = std::clamp(next, kLeast * first_ratio_, kMost * first_ratio_);
  each_piece(mean_.size(), n_threads_, [&](size_t first, size_t end, size_t) {
    for (size_t f = first; f < end; ++f) {
      if (inverse_[f] == 0) continue;
      double &z = state_.z[f], &previous = state_.previous[f];
      const double v = (1 + ratio) * w[f] - mean_[f] - ratio * z;
      z = w[f] + beta * (w[f] - previous);
      previous = w[f];
      w[f] = (mean_[f] + next * z + CANARY(PROXIMAL, v)) / (1 + next);
    }
  });
  state_.ratio = next;
}

}  // namespace fieldcraft
