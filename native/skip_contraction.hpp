// Chains with skip edges, shortened to the positions that have one.
//
// Positions u_1 < ... < u_M have skip edges; those between two of them are summed out exactly:
//
//   edge'[k, a, b] = log sum over y_{u+1 .. v-1} of exp( node[u+1] + ... + node[v-1] + edge[u+1] + ... +
//   edge[v] ),   u = u_k (label a), v = u_{k+1} (label b)
//
// so that inference with skip edges passes over M positions instead of T. The positions before u_1 and behind
// u_M become part of their node scores. `expand` leads back: given p(a, b) of each step of the short chain,
// the marginals in between follow from
//
//   p(y_{t-1}, y_t | a) = F_{t-1}(a, y_{t-1}) S_t(y_{t-1}, y_t) p(y_t, a) / P_t(a, y_t),     P_t = F_{t-1}
//   S_t
//
// with F the filtered distributions from each label a on, S the exponentials of edge. This has no division
// by anything that underflows before its numerator does.
//
// Layout: as in skip_chain.hpp; ends [M] ascending. Rows of F are scaled to a sum of 1. A row whose sum
// underflows makes the answer `lost`: scores that differ by more than 700 are to be summed in logarithms.
#pragma once

#include <cstdint>

namespace fieldcraft {

struct LongChain {
  int64_t T, M;
  int Y;
  const double* node;   // [T, Y]
  const double* edge;   // [1 or T, Y * Y]
  int64_t edge_stride;  // Y * Y, or 0 where all steps have the same scores
  const int32_t* ends;  // [M]
};

// Node [M, Y] and edge [M, Y * Y] (the first row 0) of the short chain; rest: log Z of a chain without ends.
// False where it is lost.
bool contract(const LongChain& of, double* node, double* edge, double& rest);

// Marginals node [T, Y] and edge [T, Y * Y] (the first row 0), from those of the short chain.
bool expand(const LongChain& of, const double* short_node, const double* short_edge, double* node,
            double* edge);

}  // namespace fieldcraft
