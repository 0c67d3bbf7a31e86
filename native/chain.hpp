// Inference on one chain: log Z and marginals, scaled where that is safe and in log space where it is not.
//
// Scores: node [T, P] per sequence, edges [S, P] shared by all positions (Edges) and, where edges
// depend on the input, a separate matrix for some positions (OwnEdges). Row t is the step from t-1 to t;
// position 0 has none. P = padded(S); padding and forbidden transitions are -inf.
//
// A SequencePass is one thread's memory for one sequence at a time:
//   log_z = pass.log_partition(edges, own, T, fill, numerics);   then, if wanted,
//   pass.marginals(weight, out, products, sink, every_position);
// When are scaled recursions safe? Let w be the widest finite spread of a node row and e that of the edges.
// If nothing is forbidden every forward value is at least exp(-(w + e)) / S, so w + e <= 500 keeps all of
// them normal. With forbidden transitions values can shrink over several steps, but if w + e <= 240 not past
// 1e-200 without being seen there: has_vanishing() looks. Suffix sums of states that no prefix reaches can
// grow without bound: all_below() looks. Otherwise, or where a row sum is 0, the log-space recursions are
// used.
//
// Scores near the largest number overflow when they are added. They are read in a larger unit (rescaled.hpp),
// in which every sum is finite: sums and maxima of scores are the same in any unit; exponentials and
// logarithms are converted here, results by the caller. Such chains are computed in log space.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "aligned_buffer.hpp"
#include "interruption.hpp"

namespace fieldcraft {

struct Lattice;
struct Spread;

enum class Numerics { automatic, scaled, log };

// -inf when all are. Numbers and result are in a unit that is worth `per_unit`, a power of two (see below).
double log_sum_exp(const double* x, int n, double per_unit = 1);

struct Edges {
  Edges(const double* scores, int64_t S);  // scores [S, S], -inf where there is no transition

  static size_t bytes(int64_t S) { return 4 * 8 * static_cast<size_t>(S) * padded(S); }

  int64_t S, P;
  double shift = 0;   // largest finite score
  double spread = 0;  // largest - smallest finite score
  bool forbidden = false;
  Buffer scores, scores_transposed;  // [S, P]
  Buffer matrix, transposed;         // [S, P] exp(scores - shift)
};

class OwnEdges {
 public:
  struct Addition {
    int64_t cell;  // of [S, P]; a cell may occur more than once
    double amount;
  };

  virtual ~OwnEdges() = default;
  virtual bool has(int64_t t) const = 0;
  virtual void fill(int64_t t, double* scores) const = 0;  // [S, P], all of it
  // Appends what step t adds to the shared scores; false where its scores are no such sum.
  virtual bool additions(int64_t, std::vector<Addition>&) const { return false; }
};

// The scores [S, P] of step t: its own, written to `room`, or the shared ones.
inline const double* edge_scores(const Edges& edges, const OwnEdges* own, int64_t t, Buffer& room) {
  if (own == nullptr || !own->has(t)) return edges.scores.data();
  room.reserve(static_cast<size_t>(edges.S) * edges.P);
  own->fill(t, room.data());
  return room.data();
}

class SequencePass {
 public:
  SequencePass() = default;
  // For scores in a unit that is worth `per_unit`, and for a call that may be interrupted.
  SequencePass(double per_unit, Watch* watch) : per_unit_(per_unit), breath_(watch) {}

  using Fill = std::function<void(double* node)>;                    // writes [T, P] scores
  using Sink = std::function<void(int64_t t, const double* pairs)>;  // [S, P] weight * p(y_{t-1}, y_t)

  // log Z, in the unit of the scores; log space alone if that is not 1.
  double log_partition(const Edges& edges, const OwnEdges* own, int64_t T, const Fill& fill,
                       Numerics numerics);

  // Node marginals into out [T, P], times weight. Pair marginals: positions without own edges go into
  // products (see add_edge_products) unless every_position; all others, and all of them in log space, go to
  // sink. `fill` of log_partition must still be valid: a change to log space computes the scores again.
  void marginals(double weight, double* out, double* products, const Sink& sink, bool every_position);

  // The same for several sequences that have no edges of their own, longest first, none empty: quicker when
  // there are many states (see kernels/chain_group.cpp). Each was prepared with the same edges.
  void prepare(const Edges& edges, const OwnEdges* own, int64_t T, const Fill& fill);
  static void log_partition_group(const std::vector<SequencePass*>& group, double* const* log_z);
  static void marginals_group(const std::vector<SequencePass*>& group, const double* weights,
                              double* const* out, double* products, const Sink* sinks);

  // Gradient of the sum of moved [T, P] * log marginals of nodes, times weight: how every part varies
  // together with them; after marginals(), whose result of weight 1 is mu [T, P]. Nodes go to out [T, P],
  // pairs to products (not null unless in log space) and sink, as in marginals().
  void covariance(const double* mu, const double* moved, double weight, double* out, double* products,
                  const Sink& sink);

  // log p(y_t = y) in the unit of the scores; after marginals() in log space.
  double log_marginal(int64_t t, int y) const;

  // Probability that the states at first .. first+n-1 lie in allowed [n, S]; after marginals().
  double window_probability(int64_t first, int64_t n, const uint8_t* allowed);

  // Draws one labelling by going backwards; `uniform` yields numbers in [0, 1). After log_partition().
  void sample(const std::function<double()>& uniform, int32_t* states);

  // Best labelling of the scores in scratch(); returns its score, -inf when there is none.
  double viterbi(const Edges& edges, const OwnEdges* own, int64_t T, int32_t* states);

  // [T, P] for callers that only need the scores; what log_partition kept is lost.
  double* scratch(int64_t T, int64_t P) {
    node_.reserve(static_cast<size_t>(T) * P);
    return node_.data();
  }

 private:
  void begin_scaled();
  bool scaled_forward();
  bool trustworthy(double widest_edge) const;
  void log_forward();
  void scaled_backward(double weight, double* out);
  void conclude(double weight, double* out, double* products, const Sink& sink, bool every_position);
  void pair_marginals(double weight, double* products, const Sink& sink, bool every_position);
  void log_backward(double weight, double* out, const Sink& sink);  // keeps the suffix sums in beta_ [T, P]
  void normalise(const double* logs, int64_t rows, double weight, double* out) const;
  void scaled_covariance(const double* mu, const double* moved, double mean, double weight, double* out,
                         double* products, const Sink& sink);
  void log_covariance(const double* mu, const double* moved, double mean, double weight, double* out,
                      const Sink& sink);
  void conditionals_at(int64_t t, const double* mu, double* pairs, double* onward, double* back);
  double log_window_probability(int64_t first, int64_t n, const uint8_t* allowed) const;
  const double* step_matrix(int64_t t);  // exp'd edges of step t, own or shared
  Spread own_step(int64_t t, double* matrix);
  bool own_cells(int64_t t, double* matrix, Spread& spread);
  const double* step_scores(int64_t t) const { return edge_scores(*edges_, own_, t, own_scores_); }
  double scaled_log_z() const;
  int64_t steps_at_once() const;
  Lattice lattice();

  double per_unit_ = 1;  // what the unit of scores is worth
  Breath breath_;
  const Edges* edges_ = nullptr;
  const OwnEdges* own_ = nullptr;
  int64_t T_ = 0;
  int64_t S_ = 0, P_ = 0;
  bool log_space_ = false, forbidden_ = false;
  Fill fill_;
  double log_z_ = 0, node_spread_ = 0;
  Buffer node_, alpha_, beta_, inverse_, shift_, pairs_;
  bool keep_matrices_ = false;
  Buffer own_matrix_;  // [S, P] of the current step, or [T, S, P] of all where they fit
  Buffer own_transposed_, own_shift_;
  Buffer own_sums_;  // [S, P] the shared scores, to which a step's additions are added while it is looked at
  std::vector<OwnEdges::Addition> added_;
  mutable Buffer own_scores_;
};

struct Labelling {
  std::vector<int32_t> states;  // [T]
  double score;
};
// Up to k best labellings of finite score, best first.
std::vector<Labelling> k_best(const Edges& edges, const OwnEdges* own, int64_t T, const double* node, int k,
                              Watch* watch = nullptr);

}  // namespace fieldcraft
