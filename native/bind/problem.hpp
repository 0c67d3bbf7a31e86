// The training problem as Python holds it.
#pragma once

#include <optional>

#include "bind/encoded.hpp"
#include "training.hpp"

namespace fieldcraft::bind {

// Keeps the arrays of its tokens alive only where it goes on reading them.
struct BoundProblem {
  ChainProblem problem;
  std::optional<Tokens> kept;
};

}  // namespace fieldcraft::bind
