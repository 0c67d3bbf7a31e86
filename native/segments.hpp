// Semi-Markov chains: a sequence is cut into segments, each with a type.
//
//   score(segments) = sum over segments (X, s .. t) of inner(X, s, t)  +  sum over neighbours of edge[s, e ->
//   first(X)] inner(X, s, t)  = node[s, first(X)] + sum over u = s+1 .. t of (edge[u] + node[u, later(X)]) +
//   segment[t, X, d]
//
// A token of a segment is in the state first(X) or later(X); a segment of d = t - s + 1 tokens leaves through
// its last token's state e. Without segment scores this is the chain over these states in which later(X)
// follows only first(X) and later(X), and segments are at most longest[X] tokens long.
//
// Layout: node [tokens, S]; edge [E] or [tokens, E], row u is the step from u-1 to u; segment [C] or [tokens,
// C], row t is of the segments that end with token t, column column[X] + d - 1 of those of type X with d
// tokens. -inf forbids. Recursions run in log space, shifted at every position by the best prefix that ends
// there, so that long documents lose no digits. Cost: tokens * (C + S * types).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "aligned_buffer.hpp"
#include "interruption.hpp"
#include "queries.hpp"

namespace fieldcraft {

struct SegmentSpace {
  int64_t n_types, n_states, n_edges, n_columns;
  std::vector<int32_t> longest;         // [types] most tokens of a segment
  std::vector<int32_t> first, later;    // [types] states; later is -1 where segments have one token
  std::vector<int32_t> column;          // [types + 1]
  std::vector<int32_t> source, target;  // [E] states of each transition
  std::vector<int32_t> entering;        // [S, types] the transition e -> first(X), or -1
  std::vector<int32_t> second, inside;  // [types] first(X) -> later(X), later(X) -> later(X), or -1
  std::vector<int32_t> type_of;         // [S]

  // Throws std::invalid_argument where the transitions do not allow the lengths.
  SegmentSpace(std::vector<int32_t> longest_, std::vector<int32_t> first_, std::vector<int32_t> later_,
               std::vector<int32_t> source_, std::vector<int32_t> target_);
  int32_t exit_state(int64_t x, int64_t d) const { return d == 1 ? first[x] : later[x]; }
};

struct SegmentPotentials {
  const SegmentSpace& space;
  const double *node, *edge, *segment;
  bool edge_rows, segment_rows;  // a row for every token, or one for all
  std::vector<int64_t> offsets;

  int64_t n_sequences() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t length(int64_t i) const { return offsets[i + 1] - offsets[i]; }
};

// One sequence of a batch.
struct SegmentSequence {
  const SegmentSpace& space;
  const double *node, *edge, *segment;
  int64_t T, edge_stride, segment_stride;

  SegmentSequence(const SegmentPotentials& from, int64_t i);
  const double* node_at(int64_t t) const { return node + t * space.n_states; }
  const double* edge_at(int64_t t) const { return edge + t * edge_stride; }
  const double* segment_at(int64_t t) const { return segment + t * segment_stride; }
  // What token t adds to a segment of type x that had d - 1 tokens before it, d >= 2.
  double step(int64_t t, int64_t x, int64_t d) const {
    return edge_at(t)[d == 2 ? space.second[x] : space.inside[x]] + node_at(t)[space.later[x]];
  }
};

// The recursions over one sequence; the memory is used again by the next.
class SegmentPass {
 public:
  explicit SegmentPass(Watch* watch) : breath_(watch) {}

  // log Z, or -inf. The edges of a batch are prepared by the first call if all positions share them; where
  // their memory has other numbers by now, forget() comes first.
  void forget() { prepared_ = nullptr; }
  double log_partition(const SegmentSequence& from);
  // After log_partition, which was finite: node [T, S], edge [T, E], segment [T, C]; all of them were 0.
  void marginals(const SegmentSequence& from, double* node, double* edge, double* segment);
  // After log_partition: the states of a segmentation drawn at random; uniform() is in [0, 1).
  void sample(const SegmentSequence& from, const std::function<double()>& uniform, int32_t* states);

 private:
  void prepare(const SegmentSequence& from);
  void step_to(const SegmentSequence& from, int64_t t);
  void take_step(const SegmentSequence& from, int64_t t);
  void enter(const SegmentSequence& from, int64_t t);
  void end_segments(const SegmentSequence& from, int64_t t);
  void begin_segments(const SegmentSequence& from, int64_t s);
  void follow(const SegmentSequence& from, int64_t t);
  void pair_marginals(const SegmentSequence& from, int64_t s, double* edge);

  Breath breath_;
  const double* prepared_ = nullptr;  // the edges that matrix_ is made of, where all positions share them
  bool matrix_serves_ = false;        // whether sums over transitions use exp(edge)
  double log_z_ = 0;                  // without the shifts
  Buffer matrix_;              // [S, types] exp(edge) into the first states, 0 where there is no transition
  std::vector<double> alpha_;  // [T, S] log-sum of the prefixes that end in a state
  std::vector<double> entry_;  // [T, types] log-sum of what may stand before a segment that begins at t
  std::vector<double> beta_;   // [T, S] log-sum of what may follow
  std::vector<double> begun_;  // [types] log-sum of what may begin with a segment of this type
  std::vector<double> shift_;  // [T] taken from the scores of a token
  Buffer runs_, values_;       // [C] prefixes with an unfinished segment; what is exponentiated
  Buffer masses_;              // [S]
};

// The best segmentation of a sequence and its score; -inf where there is none.
double best_segments(const SegmentSequence& from, Breath& breath, int32_t* states);
bool is_segmentation(const SegmentSpace& space, const int32_t* states, int64_t T);
// The score of a sequence's states [T]; -inf where they are those of no segmentation.
double segments_score(const SegmentSequence& from, const int32_t* states);
Ranked k_best_segments(const SegmentSequence& from, int k, Breath& breath);

void segment_log_partitions(const SegmentPotentials& from, int n_threads, Watch& watch, double* log_z);
void segment_marginals(const SegmentPotentials& from, int n_threads, Watch& watch, double* node, double* edge,
                       double* segment, double* log_z);
void segment_argmax(const SegmentPotentials& from, int n_threads, Watch& watch, int32_t* states,
                    double* scores);
// -inf where the states are those of no segmentation.
void segment_scores(const SegmentPotentials& from, int n_threads, Watch& watch, const int32_t* states,
                    double* scores);
std::vector<Ranked> segment_k_best(const SegmentPotentials& from, int k, int n_threads, Watch& watch);
std::vector<std::vector<int32_t>> segment_samples(const SegmentPotentials& from, int n, uint64_t seed,
                                                  int64_t first, int n_threads, Watch& watch);

}  // namespace fieldcraft
