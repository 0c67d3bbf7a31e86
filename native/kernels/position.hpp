// The end of a position's work in the backward recursion; see chain.cpp for the equations.
#pragma once

#include "kernels.hpp"
#include "kernels/simd.hpp"

namespace fieldcraft::FIELDCRAFT_LEVEL {

// Marginals of position t from a_t, b_t; leaves u_t in node and a_t / s_t in alpha.
inline void finish_position(const Lattice& l, int64_t t, double weight, double* marginals) {
  const Vec inverse = splat(l.inverse[t]), w = splat(weight);
  for (int i = 0; i < l.P; i += kWidth) {
    const Vec b = load(l.beta + i);
    const Vec a = load(l.alpha + t * l.P + i) * inverse;
    store(l.node + t * l.P + i, load(l.node + t * l.P + i) * b * inverse);
    store(l.alpha + t * l.P + i, a);
    store(marginals + t * l.P + i, a * b * w);
  }
}

}  // namespace fieldcraft::FIELDCRAFT_LEVEL
