// The layout that training scores and scatters: the tokens of a corpus, encoded once.
//
// Attributes seen with few labels keep a list of (feature, label) entries, which point straight into the
// weight vector; attributes seen with many get a dense row. Dense rows are numbered by falling frequency so
// that the busy ones share the cache.
//
// A token's entries are kept in order of class (16 classes of rows and of weights). Threads own ranges of
// classes when the gradient is added up, and the order of summation never depends on how many threads there
// are.
//
// A field is a weight vector, or anything that there is once per weight, as one flat memory: the dense part,
// then the part by feature. How rows and entries are stored is known to this class alone.
#pragma once

#include <cstdint>
#include <vector>

#include "scoring_layout.hpp"
#include "sparse_gradient.hpp"

namespace fieldcraft {

// A gradient, or a step, in the potentials of one sequence; padding 0.
struct SequenceParts {
  Buffer node;     // [T, P]
  Buffer pairs;    // [S, P] summed over positions
  Buffer entries;  // an amount for each edge entry, in the order of ObservedEdges::each_entry
};

class TrainingLayout final : public ScoringLayout {
 public:
  static constexpr int kAllOwners = -1;

  // The arrays of `tokens` must stay if needs_tokens(); else they may go after construction.
  TrainingLayout(const FeatureColumns& features, int n_states, const EncodedTokens& tokens, int n_threads);

  int64_t n_features() const override { return n_features_; }
  int64_t n_sequences() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  int64_t n_tokens() const { return offsets_.back(); }
  int64_t first(int64_t i) const { return offsets_[i]; }  // token of a sequence; of the end for i = N
  int64_t length(int64_t i) const { return offsets_[i + 1] - offsets_[i]; }
  int n_threads() const { return n_threads_; }  // as many owners
  size_t bytes() const;                         // of memory

  // Edges that look at the input.
  bool needs_tokens() const { return !edges_.empty(); }
  const EdgeEntries& edge_entries() const { return edges_; }
  int64_t entries_before(int64_t token) const { return edges_.before(token); }
  int64_t n_entries(int64_t i) const { return entries_before(first(i + 1)) - entries_before(first(i)); }

  void expand(const double* weights, double* dense) const override;
  // weights[f] <- dense, for the features that live in the dense part.
  void collect(const double* dense, double* weights) const;
  // The label pairs that have a feature without attribute, as places in [S, P].
  std::vector<uint32_t> pair_cells() const;
  // A field from values [n_features], and back.
  size_t field_size() const { return dense_size() + static_cast<size_t>(n_features_); }
  void spread(const double* values, double* field) const;
  void gather(const double* field, double* values) const;
  WeightView view(const double* field) const { return {field, field + dense_size()}; }

  // node [T, P] <- scores of a sequence.
  void score(int64_t i, const WeightView& weights, double* node) const {
    ScoringLayout::score({rows_.view(), first(i), first(i + 1)}, weights, node);
  }
  // counts [n_features] <- the sums of weights [N] (null: 1) * features of the labellings gold [tokens].
  void count(const int32_t* gold, const double* weights, double* counts) const;
  // Adds factors * change [T, P] of a sequence to the weights of one owner, or of all.
  void apply(int64_t i, const double* change, const Factors& factors, int owner, double* dense,
             double* each) const;

  // An empty gradient, for fields of this layout.
  SparseGradient sparse_gradient() const {
    return {static_cast<size_t>(n_rows_), static_cast<int>(P_), n_pairs(), static_cast<size_t>(n_features_)};
  }
  // out <- the sequence's gradient per weight; without `all`, parts with gradient 0 are left out.
  void collect(int64_t i, const SequenceParts& parts, bool all, SparseGradient& out) const;
  // out <- zeros for the weights that a sequence touches.
  void touch(int64_t i, SparseGradient& out) const;
  // The square of step [P] of a token, times what its features do with it, as if they were all different;
  // `squares` is the sum of its squares.
  double spread_square(int64_t token, const double* step, double squares) const;

 private:
  void place_nodes(const FeatureColumns& f, const int64_t* frequency);
  void encode();
  void encode_token(int64_t t);
  void count_entries_or_throw() const;
  void split_owners();
  template <class Visit>
  void each_pair(const Visit& visit) const;

  int n_threads_;
  int64_t n_features_;
  EncodedTokens tokens_;  // while they are encoded
  std::vector<int64_t> offsets_;
  OwnedRows rows_;                // of all tokens
  std::vector<uint32_t> splits_;  // [tokens, n_threads - 1, 2] where each owner's classes begin in a token

  static constexpr uint32_t kNoFeature = 0xffffffffu;
  std::vector<uint32_t> pair_feature_;  // [S * S] feature of the pair without attribute, or kNoFeature
  EdgeEntries edges_;
  std::vector<int64_t> row_ptr_;  // [n_rows + 1]
  std::vector<uint32_t> row_feature_;
  std::vector<uint16_t> row_label_;

  struct Place {     // of an attribute's node features
    uint32_t first;  // row number, or first entry
    uint32_t n;      // entries; kDense for a row
  };
  static constexpr uint32_t kDense = 0xffffffffu;
  std::vector<Place> place_;  // [A]; this and the entries are needed while tokens are encoded
  std::vector<uint32_t> entry_feature_;
  std::vector<uint16_t> entry_label_;
};

}  // namespace fieldcraft
