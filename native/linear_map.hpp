// Weights to numbers per position and column, and back: the linear map of a design, for one part.
//
//   out[t, c]       = sum over the attributes a of position t of value * weight(a, c)
//   gradient(a, c)  = sum over the positions t that have a of value * numbers[t, c]
//
// The weights of attribute a stand at entries ptr[a] .. ptr[a + 1] - 1, each with its column. Structures that
// have no native kernels are trained and applied through this map; chains have faster layouts of it.
#pragma once

#include <cstdint>

namespace fieldcraft {

struct LinearMap {
  int64_t n_positions;
  const int64_t* position_ptr;  // [positions + 1]
  const int32_t* attributes;
  const double* values;  // or null: all 1
  const int64_t* ptr;    // [attributes + 1]
  const int32_t* column;
  int64_t n_entries, width;

  // out [positions, width] is overwritten; weights [entries].
  void apply(const double* weights, double* out) const;
  // gradient [entries] is overwritten; numbers [positions, width].
  void adjoint(const double* numbers, double* gradient) const;

 private:
  template <class Visit>
  void each_entry(const Visit& visit) const;
};

}  // namespace fieldcraft
