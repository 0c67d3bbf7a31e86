// Inference on one chain over a state space with few transitions: time and memory follow their number E, not
// S * S.
//
//   a_t[y] = psi_t[y] sum over x of a_{t-1}[x] w[x, y],  divided by its sum c_t;    log Z = sum of log c_t
//   b_{t-1}[x] = sum over y of w[x, y] v_t[y],   v_t = psi_t b_t / c_t
//   p(y_t = y) = a_t[y] b_t[y],    p(y_{t-1} = x, y_t = y) = a_{t-1}[x] w[x, y] v_t[y]
//
// With a beam (beam.hpp) a_t becomes 0 where a state is dropped, and so do all sums over paths through it.
// psi and w are exponentials less the largest. As in chain.hpp the scaled recursions are used where scores
// spread over less than 240 and no value falls below 1e-200, else their twins in log space.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "aligned_buffer.hpp"
#include "beam.hpp"
#include "chain.hpp"
#include "interruption.hpp"
#include "state_graph.hpp"

namespace fieldcraft {

// Scores [E] of the transitions, and their exponentials.
struct StateEdges {
  StateEdges() = default;
  explicit StateEdges(std::vector<double> given) : scores(std::move(given)) { exponentiate(); }
  void exponentiate();
  // What bounds on sums over dropped states need: `incoming` and `highest`.
  void prepare_bounds(const StateGraph& graph);

  std::vector<double> scores;
  Buffer matrix;             // [E], padded
  Buffer incoming, highest;  // [E] the same in the order of in_edge; [S] the largest that leads to a state
  double shift = 0, spread = 0;
};

// The scores of one sequence.
struct StateScores {
  int64_t T = 0, C = 0;              // positions; width of a row of node scores
  const double* node = nullptr;      // [T, C] by node class
  const uint8_t* allowed = nullptr;  // [T, labels], or null
  const StateEdges* edges = nullptr;
  // Where step t has scores of its own: `own` writes those of transitions [E]; `fold`, of graphs that fold,
  // what is added to the scores of states [S]. One of them at the most is given.
  std::function<bool(int64_t t, double* scores)> own, fold;
  const Beam* beam = nullptr;     // null: all states
  const uint8_t* keep = nullptr;  // [T, labels]: states that the beam never drops, or null
};

// added [S] <- what the pairs [C, P] of a step add to the scores of states, beyond the shared pairs.
void fold_pairs(const StateGraph& graph, const double* pairs, const double* shared, int64_t P, double* added);

class StatePass {
 public:
  explicit StatePass(const StateGraph& graph, Watch* watch = nullptr) : graph_(graph), breath_(watch) {}

  using Sink = std::function<void(int64_t t, const double* pairs)>;  // [E] weight * p(transition)

  // log Z; -inf if no sequence of states is possible. The scores must stay for the questions below.
  double log_partition(const StateScores& scores, Numerics numerics);
  // With a beam, after log_partition(): at least 1 - Z(beam) / Z, the share of the paths that it dropped.
  double lost_mass();
  // weight * marginals: out [T, S]; transitions are added to totals [E] and, if there is a sink, given to it
  // position by position. totals are complete after collect(), once for all sequences with these edges.
  void marginals(double weight, double* out, double* totals, const Sink* sink);
  void collect(double* totals);
  void sample(const std::function<double()>& uniform, int32_t* states);
  // The best states and their score, -inf if there are none. With a beam the best that it keeps; where it
  // keeps none, all states are searched.
  double viterbi(const StateScores& scores, int32_t* states);
  std::vector<Labelling> k_best(const StateScores& scores, int k);

 private:
  bool may(int64_t t, int64_t s) const;
  bool scaled_forward();
  void log_forward();
  bool scaled_backward(double weight, double* out, double* totals, const Sink* sink);
  void log_backward(double weight, double* out, double* totals, const Sink* sink);
  const StateEdges& step(int64_t t);
  void state_scores(int64_t t, double* row);
  double exponentials(int64_t t, double* psi, double* spread);
  void prune(int64_t t, double* a);

  const StateGraph& graph_;
  Breath breath_;
  StateScores given_;
  StateEdges own_;
  int64_t own_t_ = -1;
  bool own_used_ = false, log_space_ = false;
  double log_z_ = 0;
  std::vector<double> alpha_, psi_, sums_, beta_, pairs_, products_;
  Buffer row_, added_;  // of the current position: exponentials of classes or states; what is folded
  std::vector<int32_t> previous_;
  std::vector<double> dropped_;  // [T, S] what the beam took from alpha
  std::vector<int32_t> order_;
  const StateEdges* summed_ = nullptr;  // of products_
};

}  // namespace fieldcraft
