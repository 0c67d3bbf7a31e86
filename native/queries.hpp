// Queries of a batch of chains, threaded over sequences. Results do not depend on the number of threads.
//
// A sequence without any labelling of finite score has log Z = -inf; all other queries refuse it by throwing
// ImpossibleSequence. Scores near the largest number are summed in a larger unit (rescaled.hpp): labellings,
// probabilities and samples are right. Where log Z, log marginals or the score of given labels is no
// floating-point number, BeyondRange is thrown; the scores of argmax and k_best are infinite then.
//
// Every query ends early, with Interrupted, when the watch says so (interruption.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "potentials.hpp"
#include "sequence_error.hpp"

namespace fieldcraft {

struct ImpossibleSequence : SequenceError {
  explicit ImpossibleSequence(int64_t i)
      : SequenceError(i, "no labelling has a finite score; every path is forbidden by -inf potentials") {}
};

// Node scores [tokens, S].
void node_scores(const Potentials& from, int n_threads, Watch& watch, double* out);

void log_partitions(const Potentials& from, Numerics numerics, int n_threads, Watch& watch, double* log_z);

enum class EdgeOutput { none, totals, rows };
// node [tokens, S]; edge [S, S] totals or [tokens, S, S] rows (first positions 0).
// Without edges log_z is infinite where it is beyond the range.
void marginals(const Potentials& from, Numerics numerics, int n_threads, Watch& watch, EdgeOutput output,
               double* node, double* edge, double* log_z);

// Logarithms of the node marginals [tokens, S], computed in log space: right where marginals vanish.
void log_marginals(const Potentials& from, int n_threads, Watch& watch, double* out);
// Gradient of the sum of moved [tokens, S] * log marginals; node [tokens, S], edge [tokens, S, S] (first
// positions are left as they are).
void covariances(const Potentials& from, const double* moved, int n_threads, Watch& watch, double* node,
                 double* edge);

void argmax(const Potentials& from, int n_threads, Watch& watch, int32_t* states, double* scores);
void score_labels(const Potentials& from, int n_threads, Watch& watch, const int32_t* states, double* scores);
// H = H(y_0) + sum over t of H(y_t | y_{t-1}): a sum of non-negative terms, so nothing cancels.
void entropies(const Potentials& from, int n_threads, Watch& watch, double* entropy);

struct Ranked {
  std::vector<int32_t> states;  // [n, T]
  std::vector<double> scores;   // [n] best first
};
std::vector<Ranked> k_best_of(const Potentials& from, int k, int n_threads, Watch& watch);
// states [n, T] for each sequence. A sequence draws by its number, counted from `first`: a batch that is cut
// into several gets the same samples.
std::vector<std::vector<int32_t>> samples(const Potentials& from, int n, uint64_t seed, int64_t first,
                                          int n_threads, Watch& watch);

// Windows: probability that positions first[r] .. of sequence[r] have states in allowed[ptr[r] .. ptr[r+1],
// S].
struct Windows {
  int64_t n;
  const int64_t *sequence, *first, *ptr;
  const uint8_t* allowed;
};
void window_probabilities(const Potentials& from, const Windows& windows, int n_threads, Watch& watch,
                          double* probability);

}  // namespace fieldcraft
