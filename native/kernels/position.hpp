// The end of a position's work in the backward recursion; see chain.cpp for the equations.
#pragma once

#include "kernels.hpp"
#include "kernels/simd.hpp"

namespace fieldcraft::FIELDCRAFT_LEVEL {

// Marginals of position t from a_t, b_t; leaves u_t in node and a_t / s_t in alpha.
template <int N>
[[gnu::always_inline]] inline void finish_vectors(const Lattice& l, int64_t at, Vec inverse, Vec weight,
                                                  const double* beta, double* marginals) {
  for (int v = 0; v < N; ++v) {
    const int64_t i = at + v * kWidth;
    const Vec b = load(beta + v * kWidth);
    const Vec a = load(l.alpha + i) * inverse;
    store(l.node + i, load(l.node + i) * b * inverse);
    store(l.alpha + i, a);
    store(marginals + i, a * b * weight);
  }
}

template <int N>  // a row of exactly N vectors
[[gnu::always_inline]] inline void finish_row(const Lattice& l, int64_t t, double weight, double* marginals) {
  finish_vectors<N>(l, t * l.P, splat(l.inverse[t]), splat(weight), l.beta, marginals);
}

inline void finish_position(const Lattice& l, int64_t t, double weight, double* marginals) {
  const Vec inverse = splat(l.inverse[t]), w = splat(weight);
  for (int i = 0; i < l.P; i += kWidth) finish_vectors<1>(l, t * l.P + i, inverse, w, l.beta + i, marginals);
}

}  // namespace fieldcraft::FIELDCRAFT_LEVEL
