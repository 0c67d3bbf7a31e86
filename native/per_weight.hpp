// A number, or one number per weight.
#pragma once

#include <cstddef>

namespace fieldcraft {

struct PerWeight {
  const double* vector;  // or null
  double scalar;
  double operator[](size_t i) const { return vector == nullptr ? scalar : vector[i]; }
  PerWeight from(size_t first) const { return {vector == nullptr ? nullptr : vector + first, scalar}; }
};

}  // namespace fieldcraft
