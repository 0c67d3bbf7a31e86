// Tree-reweighted sums on a chain with skip edges: an upper bound on log Z.
//
// Every edge e (a step of the chain or a pair) has a share rho_e, the part of some spanning forests that
// contain it. Messages m and beliefs b are
//
//   b_v   = exp(node_v) * product over edges e of v of m_ev ^ rho_e
//   m_ev  = sum over the label of u of exp(score_e / rho_e) * b_u / m_eu                          e = (u, v)
//
// and where they agree, log Z <= sum_v log Z_v + sum_e rho_e (log Z_e - log Z_u - log Z_v), Z_v and Z_e being
// the sums of b_v and of exp(score_e / rho_e) * b_u / m_eu * b_v / m_ev. The bound is convex in the scores,
// its gradient are the beliefs, and an error of the messages changes it in the second order.
//
// An iteration passes forward along the chain, over the pairs, back along the chain and over the pairs again.
// Layout as in skip_chain.hpp; messages [T + P, 2, Y], logarithms, to the first and to the second end (those
// of step t, between t - 1 and t, in row t).
#pragma once

#include <cstdint>
#include <vector>

#include "skip_chain.hpp"

namespace fieldcraft {

struct Shares {
  const double* step;  // [T], the first is not used
  const double* pair;  // [P]
};

class ReweightedPass {
 public:
  // As SkipPass::run; false in `converged` where the number is no bound yet.
  SkipAnswer run(const SkipSequence& of, const Shares& shares, const SkipSettings& settings, double* messages,
                 double* node, double* edge, double* skip);

 private:
  struct Edge {
    int64_t u, v;
    double share;
    double* message;      // [2, Y]
    const double* table;  // [Y, Y]
    double shift;         // times share: taken off the scores
  };
  void prepare(const SkipSequence& of, const Shares& shares, double* messages);
  void add(int64_t u, int64_t v, double share, double* message, const double* scores);
  void refresh(const SkipSequence& of);
  bool update(const Edge& edge, int to, double damping);
  bool sweep(int64_t T, double damping);
  double cavity(const Edge& edge, int end, double* out) const;
  bool finish(const SkipSequence& of, double* node, double* edge, double* skip, double& log_z);

  int Y_ = 0;
  double change_ = 0;
  std::vector<Edge> edges_;                       // steps, then pairs
  std::vector<double> tables_;                    // [T - 1 + P, Y * Y] exponentials of score / share
  std::vector<double> belief_;                    // [T, Y] logarithms
  std::vector<double> from_, to_, next_, log_z_;  // [Y]; log_z_ [T]
};

}  // namespace fieldcraft
