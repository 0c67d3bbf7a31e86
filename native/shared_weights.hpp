// Weights that act as one, as one variable.
//
// Features with equal columns and the same label have the same gradient (field_layout.hpp). Where they also
// start alike and are penalised alike, they stay equal in each step of an optimiser whose steps are
// combinations of gradients. One variable then stands for n of them; where weights are multiplied with one
// another, as in lengths and inner products, it counts n times.
#pragma once

#include <cstddef>
#include <cstdint>

#include "raw_vector.hpp"

namespace fieldcraft {

// Do two features of one place in the field start alike, and are the same numbers taken from their gradients.
struct Alike {
  const double* start;    // [features] weights
  const int32_t* counts;  // [features], or null
  const double* numbers;  // [features], or null

  bool operator()(uint32_t a, uint32_t b) const {
    return start[a] == start[b] && (counts == nullptr || counts[a] == counts[b]) &&
           (numbers == nullptr || numbers[a] == numbers[b]);
  }
};

struct SharedWeights {
  static constexpr uint8_t kMost = 255;  // weights of a variable

  RawVector<uint32_t> variable;  // [features] of each feature
  RawVector<uint8_t> members;    // [variables] how many weights each has

  size_t size() const { return members.size(); }
  size_t n_features() const { return variable.size(); }
  size_t bytes() const { return 4 * variable.size() + members.size(); }

  // The variables of weights [features] that are equal where they share one.
  void variables_of(const double* weights, double* variables) const {
    for (size_t f = 0; f < n_features(); ++f) variables[variable[f]] = weights[f];
  }
  // The variables that score tokens as any weights do: means.
  void means_of(const double* weights, double* variables) const {
    for (size_t v = 0; v < size(); ++v) variables[v] = 0;
    for (size_t f = 0; f < n_features(); ++f) variables[variable[f]] += weights[f];
    for (size_t v = 0; v < size(); ++v) variables[v] /= members[v];
  }
  // weights [features] <- their variables; likewise the gradient.
  void weights_of(const double* variables, double* weights) const {
    for (size_t f = 0; f < n_features(); ++f) weights[f] = variables[variable[f]];
  }
};

}  // namespace fieldcraft
