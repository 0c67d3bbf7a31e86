// Vectors for rows whose width is a multiple of 4 doubles (Unit4) or of 8 (Unit8).
//
//   V          the vector         kWidth    doubles in it         kPerUnit   vectors in a unit
#pragma once

#include <type_traits>

#include "kernels/simd.hpp"

namespace fieldcraft::FIELDCRAFT_LEVEL {

template <int Width, int Doubles>
struct UnitOf {
  typedef double V __attribute__((vector_size(Width * 8)));
  static constexpr int kWidth = Width, kPerUnit = Doubles / Width;
  static V load(const double* p) { return *reinterpret_cast<const V*>(p); }
  static void store(double* p, V v) { *reinterpret_cast<V*>(p) = v; }
  static V splat(double x) { return x - V{}; }  // not +, which is an addition: -0 + 0 is 0
  static double sum(V v) { return sum_of<Width>(v); }
};

using Unit4 = UnitOf<(kWidth < 4 ? kWidth : 4), 4>;
using Unit8 = UnitOf<kWidth, 8>;

// Calls body with two flags as compile-time constants.
template <class Body>
inline void with_flags(bool first, bool second, const Body& body) {
  using std::bool_constant;
  if (first)
    return second ? body(bool_constant<true>{}, bool_constant<true>{})
                  : body(bool_constant<true>{}, bool_constant<false>{});
  return second ? body(bool_constant<false>{}, bool_constant<true>{})
                : body(bool_constant<false>{}, bool_constant<false>{});
}

}  // namespace fieldcraft::FIELDCRAFT_LEVEL
