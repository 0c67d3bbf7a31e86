// The loss of a corpus and its gradient, fused: scores, recursions and scatter in one sweep.
//
//   value(w)    = sum over sequences of weight * loss        (objectives.hpp)
//   gradient(w) = design transposed times the gradients in potential space
//
// For the likelihood, the usual case, the gold part is computed once, outside the sweep:
//
//   value(w)    = sum over sequences of weight * log Z(x)  -  <w, empirical>
//   gradient(w) = expected counts under the model  -  empirical counts
//
// The corpus is cut once into rounds of a few thousand tokens, a round into 16 lanes of sequences. In a round
// the threads first work through lanes (scores, forward, backward; gradients of nodes go to a buffer, those
// of pairs to the lane's sum), then each thread walks all tokens of the round and adds the gradients to the
// weights that it owns (training_layout.hpp). A weight thus receives its contributions one by one in corpus
// order, and a lane's sum its sequences in corpus order: the result is the same to the last bit for any
// number of threads. Two buffers take turns, so one barrier per round is enough.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "objectives.hpp"
#include "training_layout.hpp"

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

  // Back to the likelihood, with counts [n_features] instead of those of the gold labelling.
  void expect(const double* counts) {
    fused_ = true;
    empirical_.assign(counts, counts + n_features());
  }

  // gradient [n_features] is overwritten; per_sequence [N] (log Z or losses) may be null. Returns the value.
  // One evaluation at a time; what an interrupted one leaves in the arrays means nothing.
  double evaluate(const double* weights, double* gradient, double* per_sequence, Watch& watch);

  bool needs_tokens() const { return layout_.needs_tokens(); }
  int64_t n_features() const { return layout_.n_features(); }
  int n_states() const { return layout_.S(); }
  int64_t n_tokens() const { return layout_.n_tokens(); }
  int64_t n_sequences() const { return layout_.n_sequences(); }
  const std::vector<double>& empirical() const { return empirical_; }
  const TrainingLayout& layout() const { return layout_; }
  const Objective& objective() const { return objective_; }
  const uint8_t* allowed(int64_t i) const {  // [T, S], or null
    return objective_.allowed.empty() ? nullptr : objective_.allowed.data() + layout_.first(i) * n_states();
  }
  double weight_of(int64_t sequence) const {
    return sequence_weights_.empty() ? 1.0 : sequence_weights_[sequence];
  }
  size_t bytes() const { return layout_.bytes() + empirical_.size() * 8; }  // between calls
  // Memory that matrices of label pairs take during an evaluation: sums of the lanes, weights, gradient and
  // edges.
  static size_t matrix_bytes(int64_t S) {
    return (kLanes + 3) * 8 * static_cast<size_t>(S) * padded(S) + Edges::bytes(S) + 4 * S * S;
  }

 private:
  static constexpr int kLanes = 16;
  struct Round {
    int64_t lanes[kLanes + 1];  // first sequence of each lane, and the end
  };
  struct Lane;
  struct Sweep;  // shared by the threads of an evaluation
  enum class Mode { likelihood, loss };

  void cut_rounds();  // and makes the sweep
  void run(Mode mode, const double* weights, double* gradient, double* per_sequence, Watch& watch);
  void sweep_rounds(int thread, int n_threads, Watch& watch);
  void run_lane(const Round& round, int lane, int slot);
  void run_grouped(Lane& lane, int64_t begin, int64_t end, double* marginals, int64_t first_token);

  TrainingLayout layout_;
  std::vector<double> sequence_weights_;  // empty: all 1
  std::vector<Round> rounds_;
  std::vector<double> empirical_;
  Objective objective_;
  std::vector<int32_t> gold_;  // of use()
  bool fused_ = true;          // the likelihood, with the gold part in empirical_
  std::unique_ptr<Sweep> sweep_;
};

}  // namespace fieldcraft
