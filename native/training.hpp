// The loss of a corpus and its gradient, fused: scores, recursions and scatter in one sweep.
//
//   value(w)    = sum over sequences of weight * loss        (objectives.hpp)
//   gradient(w) = design transposed times the gradients in potential space
//
// For the likelihood, which is what most people train, the gold part is taken out of the sweep:
//
//   value(w)    = sum over sequences of weight * log Z(x)  -  <w, empirical>
//   gradient(w) = expected counts under the model  -  empirical counts
//
// The corpus is cut once into rounds of a few thousand tokens, a round into 16 lanes of sequences. In a round
// the threads first work through lanes (scores, forward, backward; node marginals go to a buffer, pair
// marginals to the lane's own sum), then each thread walks all tokens of the round and adds the marginals to
// the weights that it owns (layout.hpp). A weight thus receives its contributions one by one in corpus order,
// and a lane's sum its sequences in corpus order: the result is the same to the last bit for any number of
// threads. Two buffers take turns, so one barrier per round is enough.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "layout.hpp"
#include "objectives.hpp"

namespace fieldcraft {

class ChainProblem {
 public:
  // gold [tokens] states; weights [N] or null. The arrays of `tokens` must outlive the problem only if the
  // features look at edges; else they may go after construction.
  ChainProblem(const FeatureColumns& features, int n_states, const EncodedTokens& tokens, const int32_t* gold,
               const double* sequence_weights, int n_threads);
  ~ChainProblem();

  // Another loss than the likelihood; gold [tokens], where it is needed.
  void use(Objective objective, const int32_t* gold);

  // Back to the likelihood, with counts [n_features] in the place of the gold labelling's.
  void expect(const double* counts) {
    gold_.clear();
    empirical_.assign(counts, counts + layout_.n_features);
  }

  // gradient [n_features] is overwritten; per_sequence [N] (log Z or losses) may be null. Returns the value.
  // One evaluation at a time.
  double evaluate(const double* weights, double* gradient, double* per_sequence);

  bool needs_tokens() const { return !layout_.edge.empty(); }
  int64_t n_features() const { return layout_.n_features; }
  int n_states() const { return layout_.S; }
  int64_t n_tokens() const { return offsets_.back(); }
  int64_t n_sequences() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  const std::vector<double>& empirical() const { return empirical_; }

  // The design, for those who go through it in another way.
  const Layout& layout() const { return layout_; }
  const std::vector<int64_t>& offsets() const { return offsets_; }
  TokenRows rows() const { return rows_.view(); }
  uint32_t sparse_label(int64_t entry) const { return rows_.label(entry); }
  uint32_t sparse_feature(int64_t entry) const { return rows_.feature(entry); }
  const EncodedTokens& tokens() const { return tokens_; }  // only if needs_tokens()
  const Objective& objective() const { return objective_; }
  const uint32_t* splits() const { return splits_.data(); }
  int n_threads() const { return n_threads_; }
  double weight_of(int64_t sequence) const {
    return sequence_weights_.empty() ? 1.0 : sequence_weights_[sequence];
  }
  size_t bytes() const;  // held between calls

 private:
  struct Round {
    int64_t lanes[kClasses + 1];  // first sequence of each lane, and the end
  };
  struct Lane;
  struct Sweep;  // what one evaluation shares between its threads

  void make_sweep();
  void begin(Sweep& sweep, const double* weights, double* gradient, double* per_sequence);
  int owner_of(int weight_class) const;
  void cut_rounds();
  void count_edge_entries();
  void split_owners();
  void count_gold(const int32_t* gold);
  void count_gold_edges(const int32_t* gold);
  SequencePass::Fill scores_of(const Sweep& sweep, int64_t sequence) const;
  void run_lane(Sweep& sweep, const Round& round, int lane, int slot);
  void run_losses(Sweep& sweep, Lane& lane, int64_t begin, int64_t end, int64_t round_first, int slot);
  void run_grouped(Sweep& sweep, Lane& lane, int64_t begin, int64_t end, int64_t round_first,
                   double* marginals);
  void scatter(Sweep& sweep, const Round& round, int owner, int slot);
  void sweep_rounds(Sweep& sweep, int thread);
  double edge_total(const Sweep& sweep, int x, int y) const;

  Layout layout_;
  EncodedTokens tokens_;
  int n_threads_;
  std::vector<int64_t> offsets_;
  std::vector<double> sequence_weights_;  // empty: all 1
  OwnedRows rows_;
  std::vector<uint32_t> splits_;    // [tokens, n_threads - 1, 2]
  std::vector<int64_t> entry_ptr_;  // [tokens + 1] edge entries before each token; empty without
  std::vector<Round> rounds_;
  int64_t round_tokens_ = 0, round_entries_ = 0;  // largest round
  std::vector<double> empirical_;
  Objective objective_;
  std::vector<int32_t> gold_;  // empty for the likelihood
  std::unique_ptr<Sweep> sweep_;
};

}  // namespace fieldcraft
