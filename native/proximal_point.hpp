// Accelerated proximal-point steps, for methods that are quick where the penalty is strong.
//
// The penalty of the problem, sum of precision (w - mean)^2 / 2, is strengthened by
//
//   sum of ratio precision (w - z)^2 / 2,     so the precision is (1 + ratio) precision,
//                                             the mean is (mean + ratio z) / (1 + ratio),
//
// and z follows the solutions: after some passes z <- w + beta (w - previous w), with the beta of an
// accelerated gradient method, or 0 where z lies ahead of the step (a restart). One ratio serves all weights,
// whatever their precisions: everything happens in the metric of the prior.
//
// A dual point implies v = (1 / precision) sum of c_i (gold counts - expected counts), and
//
//   w = (mean + ratio z + v) / (1 + ratio).
//
// v stays when z or the ratio change. The original problem's dual has the penalty sum of
// precision v (mean + v / 2), and its objective at w lies above it by the sum of the sequences' gaps plus
// sum of precision (w - mean - v)^2 / 2.
//
// A weight with infinite precision (1 / precision = 0) stays at its mean.
#pragma once

#include <cstdint>
#include <vector>

#include "prior_numbers.hpp"

namespace fieldcraft {

class ProximalPoint {
 public:
  // mean, inverse (1 / precision) [n_features] must stay.
  ProximalPoint(const PriorNumbers& mean, const PriorNumbers& inverse, double ratio, int n_threads);

  // What a change of v is multiplied by to give that of w.
  double shrink() const { return 1 / (1 + state_.ratio); }

  struct Terms {
    double penalty;   // of the original dual
    double distance;  // sum of precision (w - mean - v)^2 / 2
  };
  Terms terms(const double* w) const;

  // Ends an outer step at w [n_features], which becomes the start of the next one. mean_step: how far the
  // sequences moved on average, 0 .. 1; short steps ask for a stronger penalty, long ones for a weaker one.
  void advance(double mean_step, double* w);

  struct State {
    std::vector<double> z, previous;  // [n_features]
    double ratio = 1;
  };
  const State& state() const { return state_; }
  void restore(State state) { state_ = std::move(state); }

 private:
  double along(const double* w) const;

  const PriorNumbers &mean_, &inverse_;
  const double first_ratio_;
  const int n_threads_;
  State state_;
};

}  // namespace fieldcraft
