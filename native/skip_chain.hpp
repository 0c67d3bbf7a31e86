// Belief propagation on a chain with further pairs of positions (skip edges), chain by chain.
//
//   score(y) = sum over t of node[t, y_t] + edge[t, y_{t-1}, y_t]  +  sum over pairs p = (u, v) of skip[p,
//   y_u, y_v]
//
// An iteration passes messages along the whole chain, forward and back, and then one pair after the other,
// to and fro, while the messages of the chain stay. Its fixed points are those of loopy belief propagation
// with any schedule. log Z is the Bethe estimate
//
//   log Z(chain with messages) + sum over pairs of log Z(pair with cavities) - sum over ends of log <cavity,
//   message>
//
// whose gradient at a fixed point is the beliefs. Without pairs all of it is exact: forward and backward.
//
// Layout: node [T, Y], edge [1 or T, Y * Y] (row t is the step from t - 1 to t, the first is not used),
// positions of pairs are those of the sequence, skip [P, Y * Y] with the label of u first. Numbers are
// scaled per position: scores that differ by more than 700 may underflow, and the answer is then `lost`.
#pragma once

#include <cstdint>
#include <vector>

namespace fieldcraft {

struct SkipSettings {
  int max_iterations;
  double tolerance;  // converged when no entry of a message, scaled to a sum of 1, changes by more
  double damping;    // how much of the old message stays
};

struct SkipSequence {
  int64_t T, P;
  int Y;
  const double* node;
  const double* edge;
  int64_t edge_stride;   // Y * Y, or 0 where all steps have the same scores
  const int32_t* scope;  // [P, 2]
  const double* skip;
};

struct SkipAnswer {
  double log_partition = 0, residual = 0;
  int iterations = 0, level = 0;
  bool converged = true, lost = false;
};

class SkipPass {
 public:
  // Beliefs go to node [T, Y], edge [T, Y * Y] (the first row 0) and skip [P, Y * Y]. `messages` [P, 2, Y]
  // are those to begin with and become those at the end; `level` is how strongly they are damped at first.
  SkipAnswer run(const SkipSequence& of, const SkipSettings& settings, int level, double* messages,
                 double* node, double* edge, double* skip);

 private:
  void prepare(const SkipSequence& of);
  bool along_chain(const SkipSequence& of);
  double along_pairs(const SkipSequence& of, double damping);
  void update(const SkipSequence& of, int64_t p, int to, double damping);
  void cavity(const double* belief, const double* message, double* out) const;
  bool finish(const SkipSequence& of, double* node, double* edge, double* skip, double& log_z);

  int Y_ = 0;
  double log_z_ = 0, change_ = 0;
  std::vector<double> edges_, tables_;  // exponentials, scaled to a largest of 1
  std::vector<double> edge_shift_, table_shift_;
  std::vector<double> field_, local_,
      belief_;                            // [T, Y] node scores with messages, their exponentials, beliefs
  std::vector<double> alpha_, beta_;      // [T, Y] scaled sums before and after
  std::vector<double> message_;           // [P, 2, Y] from the pair to u and to v
  std::vector<double> from_, to_, next_;  // [Y]
};

}  // namespace fieldcraft
