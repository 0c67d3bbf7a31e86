// Queries on batches of chains over a state space with few transitions: those of queries.hpp, for StateGraph.
//
// Scores come from arrays (one column per state, one number per transition), or from a model of node classes
// and pairs of these (potentials.hpp); `extra` [E] is added to transitions, `allowed` [tokens, labels]
// forbids labels.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "interruption.hpp"
#include "potentials.hpp"
#include "queries.hpp"
#include "state_pass.hpp"

namespace fieldcraft {

class StatePotentials {
 public:
  // node [tokens, classes], edge [E] or, if per_token, [tokens, E]; the arrays must stay.
  StatePotentials(const StateGraph& graph, const double* node, const double* edge, bool per_token,
                  std::vector<int64_t> offsets);
  // A model's potentials over the node classes of the graph, which must stay; extra [E] or empty.
  StatePotentials(const StateGraph& graph, const Potentials& base, const std::vector<double>& extra);

  int64_t n_sequences() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t n_tokens() const { return offsets.back(); }
  int64_t length(int64_t i) const { return offsets[i + 1] - offsets[i]; }

  // One thread's view of one sequence after the other.
  class Reader {
   public:
    explicit Reader(const StatePotentials& from);
    StateScores go_to(int64_t i);

   private:
    const StatePotentials& from_;
    std::unique_ptr<Potentials::Reader> base_;
    Buffer node_, pairs_;
  };

  const StateGraph& graph;
  std::vector<int64_t> offsets;
  std::vector<uint8_t> allowed;  // [tokens, labels], or empty
  StateEdges edges;              // shared by all positions

 private:
  const double *node_ = nullptr, *edge_ = nullptr;
  bool per_token_ = false;
  const Potentials* base_ = nullptr;
  std::vector<int64_t> cell_;  // [E] where a transition's pair of classes is in a matrix [C, P]
  std::vector<double> extra_;
};

void state_log_partitions(const StatePotentials& from, Numerics how, int n_threads, Watch& watch,
                          double* log_z);
// node [tokens, S]; edge [tokens, E] (rows), [E] (totals), or nothing.
void state_marginals(const StatePotentials& from, Numerics how, int n_threads, Watch& watch,
                     EdgeOutput output, double* node, double* edge, double* log_z);
// With a beam, if it is not null, the best of what it keeps.
void state_argmax(const StatePotentials& from, const Beam* beam, int n_threads, Watch& watch, bool may_fail,
                  int32_t* states, double* scores);
// log Z of the paths that a beam keeps, and bounds on the share of the others: see StatePass::lost_mass().
void state_beam_partitions(const StatePotentials& from, const Beam& beam, int n_threads, Watch& watch,
                           double* log_z, double* lost);
void state_scores(const StatePotentials& from, int n_threads, Watch& watch, const int32_t* states,
                  double* scores);
void state_entropies(const StatePotentials& from, int n_threads, Watch& watch, double* out);
std::vector<Ranked> state_k_best(const StatePotentials& from, int k, int n_threads, Watch& watch);
std::vector<std::vector<int32_t>> state_samples(const StatePotentials& from, int n, uint64_t seed,
                                                int64_t first, int n_threads, Watch& watch);

// As window_probabilities(), but `allowed` has a column per label.
void state_windows(const StatePotentials& from, const Windows& windows, int n_threads, Watch& watch,
                   double* probability);

}  // namespace fieldcraft
