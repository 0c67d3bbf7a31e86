// The loss of a corpus and its gradient, fused: scores, recursions and sums in one sweep.
//
//   value(w)    = sum over sequences of weight * loss        (objectives.hpp)
//   gradient(w) = design transposed times the gradients in potential space
//
// For the likelihood, the usual case, the gold part is computed once, outside the sweep:
//
//   value(w)    = sum over sequences of weight * log Z(x)  -  <w, empirical>
//   gradient(w) = expected counts under the model  -  empirical counts
//
// The corpus is cut once into blocks (block_layout.hpp). An evaluation has four phases, each of which any
// number of threads share: the weights are put into the field; each block is scored, its gradients of nodes
// computed and summed by column; the blocks' sums are added up; features take theirs. No sum depends on the
// number of threads.
//
// Stochastic and dual optimisers go from sequence to sequence, for which there is another layout
// (training_layout.hpp); they need values more often than gradients, and blocks only for these.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "block_layout.hpp"
#include "objectives.hpp"
#include "relay.hpp"
#include "training_layout.hpp"
#include "vectormath.hpp"

namespace fieldcraft {

// What a problem is made for.
struct ProblemUses {
  bool by_sequence = true;  // stochastic and dual optimisers go from sequence to sequence
  bool keep_order = false;  // of labels: losses with a maximum find the first of several best labellings
  AttributeTokens* columns = nullptr;  // the tokens, transposed, if that is at hand; it may be moved from
  // [features] how often each occurs, where that is the empirical part. They must outlive the problem.
  const int32_t* counts = nullptr;
};

// sum of precision (w - mean)^2 / 2
struct Quadratic {
  PerWeight mean, precision;
  double value;
};

class ChainProblem {
 public:
  // gold [tokens] states; weights [N] or null. The arrays of features and tokens must outlive the problem if
  // needs_arrays(); else they may go after construction.
  ChainProblem(const FeatureColumns& features, int n_states, const EncodedTokens& tokens, const int32_t* gold,
               const double* sequence_weights, int n_threads, ProblemUses uses);
  ~ChainProblem();

  // Another loss than the likelihood; gold [tokens], where it is needed.
  void use(Objective objective, const int32_t* gold);

  // Makes what the first evaluation would make: much memory, after the arrays of tokens may have gone.
  void prepare();

  // Back to the likelihood, with counts [n_features] instead of those of the gold labelling.
  void expect(const double* counts) {
    refuse_shared();
    fused_ = counted_ = true;
    counts_ = nullptr;
    empirical_.assign(counts, counts + n_features());
  }

  // gradient [n_features] is overwritten; per_sequence [N] (log Z or losses) may be null. Returns the value.
  // A penalty, if there is one, gets its value, and its gradient is added. One evaluation at a time; what an
  // interrupted one leaves in the arrays means nothing.
  double evaluate(const double* weights, double* gradient, double* per_sequence, Watch& watch,
                  Quadratic* penalty = nullptr);

  // Weights that act as one and start alike share a variable from here on (shared_weights.hpp). Returns how
  // many variables there are, 0 where too few weights would go and all stays as it was. It is for the loss
  // that the problem has now, and not for problems that are made `by_sequence`.
  size_t share(const double* start);
  // As evaluate(), with variables and their gradient.
  double evaluate_shared(const double* variables, double* gradient, Watch& watch, Quadratic* penalty);
  const SharedWeights& shared() const;  // throws unless they are

  // The same without the gradient, for problems that are made `by_sequence`.
  double value(const double* weights, Watch& watch);

  bool needs_tokens() const { return looks_at_edges_; }
  bool needs_arrays() const { return looks_at_edges_ || by_sequence_; }
  int64_t n_features() const { return features_.n_features; }
  int n_states() const { return n_states_; }
  int64_t n_tokens() const { return offsets_.back(); }
  int64_t n_sequences() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  const std::vector<double>& empirical() {
    refuse_shared(), prepare();
    if (counts_ != nullptr) empirical_.assign(counts_, counts_ + n_features()), counts_ = nullptr;
    return empirical_;
  }
  const TrainingLayout& layout() const;  // throws unless made for it
  const Objective& objective() const { return objective_; }
  const uint8_t* allowed(int64_t i) const {  // [T, S], or null
    return objective_.allowed.empty() ? nullptr : objective_.allowed.data() + offsets_[i] * n_states();
  }
  double weight_of(int64_t sequence) const {
    return sequence_weights_.empty() ? 1.0 : sequence_weights_[sequence];
  }
  size_t bytes() const {  // between calls
    return (blocks_ ? blocks_->bytes() : 0) + (by_sequence_ ? by_sequence_->bytes() : 0) +
           empirical_.size() * 8;
  }
  // Memory that matrices of label pairs take during an evaluation.
  static size_t matrix_bytes(int64_t S);

 private:
  struct Lane;
  struct Sweep;  // shared by the threads of an evaluation
  enum class Mode { likelihood, loss, gold };
  struct Less {  // what is taken from a gradient; nothing, or one of them
    const double* numbers = nullptr;
    const int32_t* counts = nullptr;
  };

  void refuse_shared() const;
  const SharedWeights* shared_or_null() const { return blocks_ ? blocks_->field().shared() : nullptr; }
  double evaluate_each(const double* weights, double* gradient, double* per_sequence, Watch& watch);
  double evaluate_field(const double* weights, double* gradient, double* per_sequence, Watch& watch,
                        Quadratic* penalty);
  void make_blocks(AttributeTokens* columns);
  void number_labels();
  double total(const double* values, double gold) const;
  double sweep(Mode mode, const double* weights, Less less, double* gradient, double* per_sequence,
               Watch& watch, Quadratic* penalty = nullptr);
  void sum_pairs(double* totals) const;
  double finish(const double* weights, Less less, double* gradient, Quadratic* penalty);
  void run_blocks(Lane& lane, Watch& watch);
  void run_chains(const Block& block, Lane& lane);
  size_t add_up(Relay::Task task, size_t kind, const double* node, const double* entries, bool patiently);
  void add_up_waiting(Lane& lane);
  size_t run_together(const Block& block, size_t first, Lane& lane);
  size_t run_grouped(const Block& block, size_t first, Lane& lane);
  void run_one(const BlockSequence& sequence, Lane& lane);
  SequencePass::Fill scores_of(const BlockSequence& sequence, const Lane& lane) const;
  void take(const BlockSequence& sequence, const double* gradients, Lane& lane) const;

  const FeatureColumns features_;
  const EncodedTokens tokens_;
  const int n_states_, n_threads_;
  const bool keep_order_;
  bool looks_at_edges_;
  std::vector<int64_t> offsets_;
  std::optional<BlockLayout> blocks_;
  std::optional<TrainingLayout> by_sequence_;
  std::vector<double> sequence_weights_;  // empty: all 1
  std::vector<double> empirical_;
  RawVector<int32_t> shared_counts_;           // [variables], where counts_ points to
  const int32_t* counts_ = nullptr;            // the same as whole numbers, instead
  Objective objective_, numbered_;             // as given; with the labels of the field
  std::vector<int32_t> gold_, numbered_gold_;  // of use()
  bool fused_ = true;                          // the likelihood, with the gold part in empirical_
  bool counted_ = false;                       // is it there
  std::unique_ptr<Sweep> sweep_;
};

}  // namespace fieldcraft
