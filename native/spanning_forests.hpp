// Forests of factors that cover a graph.
//
// Each forest is a largest set of factors (with two variables or more) without a cycle among factors and
// variables; together they contain every factor. A factor's share is the part of the forests that contain
// it. Factors that were covered least so far come first, so that the shares are even.
#pragma once

#include <cstdint>
#include <vector>

#include "graph.hpp"

namespace fieldcraft {

// A message of a factor to the variable at one place of its scope.
struct Step {
  int32_t factor, slot;
};

struct SpanningForests {
  explicit SpanningForests(const Graph& graph);

  std::vector<std::vector<int32_t>> factors;  // [forests] sorted
  std::vector<std::vector<Step>> upward;      // [forests] messages from the leaves to the roots; ...
  std::vector<std::vector<Step>> downward;    // ... and from the roots to the leaves
  std::vector<double> share;                  // [factors]; 1 for those with fewer than two variables

 private:
  void order(const Graph& graph, const std::vector<int32_t>& chosen);
};

}  // namespace fieldcraft
