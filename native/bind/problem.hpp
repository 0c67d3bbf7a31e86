// The training problem as a Python object.
#pragma once

#include <optional>

#include "bind/encoded.hpp"
#include "training.hpp"

namespace fieldcraft::bind {

// Keeps the arrays of its features and tokens alive only if they are read after construction.
struct BoundProblem {
  ChainProblem problem;
  std::optional<Tokens> tokens;
  std::optional<Columns> columns;
  std::optional<In1<int32_t>> counts;  // of the gold labelling
};

}  // namespace fieldcraft::bind
