// Weights laid out for scoring tokens: one interface, two layouts.
//
// A feature is (attribute, label) on nodes, (attribute, previous label, label) or (none, previous label,
// label) on edges. In both layouts the attributes that occur with many labels have a dense row of P weights,
// expanded from the weight vector; the weights of the other attributes are read one by one where they are;
// the label pairs are a matrix.
//
//   TrainingLayout (training_layout.hpp)   the tokens of a corpus are encoded once; the weights change
//   PackedFeatures (packed.hpp)            the arrays of a model file, read in place; tokens are encoded
//                                          batch by batch
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "chain.hpp"
#include "kernels.hpp"

namespace fieldcraft {

// The feature index as arrays, one entry per weight; -1 where there is no attribute or previous label.
struct FeatureColumns {
  int64_t n_features, n_attributes;
  const int32_t *attribute, *previous, *label;
};

// Encoded tokens of a batch: attribute ids per token, values or null.
struct EncodedTokens {
  int64_t n_sequences;
  const int64_t *offsets, *token_ptr;
  const int32_t* attributes;
  const double* values;
};

// Do (feature, label) entries need two words each; see Entry.
inline bool needs_wide_entries(int64_t n_features, int S) { return n_features > 0xffffff || S > 256; }

// Attributes with more labels than this have a dense row; the limit grows with the number of states.
inline int sparse_limit(int S) { return S / 8 > 2 ? S / 8 : 2; }

// TokenRows with its own memory.
struct OwnedRows {
  std::vector<uint32_t> dense_ptr, sparse_ptr, dense, sparse;
  std::vector<double> dense_values, sparse_values;
  bool valued = false, wide = false;

  TokenRows view() const;
  void make_room(int64_t n_tokens, int64_t n_attributes, int64_t most_entries);
  size_t words(size_t n_entries) const { return wide ? 2 * n_entries : n_entries; }
  uint32_t feature(int64_t k) const {
    return wide ? Entry<true>::feature(sparse.data(), k) : Entry<false>::feature(sparse.data(), k);
  }
  uint32_t label(int64_t k) const {
    return wide ? Entry<true>::label(sparse.data(), k) : Entry<false>::label(sparse.data(), k);
  }
  void set(int64_t k, uint32_t feature, uint32_t label) {
    if (wide)
      Entry<true>::set(sparse.data(), k, feature, label);
    else
      Entry<false>::set(sparse.data(), k, feature, label);
  }
};

// Tokens begin .. end-1 of `rows`, as a layout encodes them.
struct TokenBlock {
  TokenRows rows;
  int64_t begin, end;
};

// A weight vector as a layout reads it: the dense part [dense_size] (rows, then the label pairs [S, P]), and
// the weights by feature [n_features], which may be the vector itself.
struct WeightView {
  const double *dense, *each;
};

// Edge features that look at the input, by attribute.
struct EdgeFeatures {
  std::vector<int32_t> id;     // [A] number among the attributes with edge features, or -1; empty without any
  std::vector<int64_t> ptr;    // [edge attributes + 1]
  std::vector<uint32_t> pair;  // y' * P + y: 32 bits are enough for 65535 states
  std::vector<uint32_t> feature;

  bool empty() const { return ptr.empty(); }
};

class ScoringLayout {
 public:
  virtual ~ScoringLayout() = default;

  int64_t S() const { return S_; }
  int64_t P() const { return P_; }
  virtual int64_t n_features() const = 0;
  size_t n_pairs() const { return static_cast<size_t>(S_) * P_; }
  size_t pairs_at() const { return static_cast<size_t>(n_rows_) * P_; }
  size_t dense_size() const { return pairs_at() + n_pairs(); }

  // dense [dense_size] <- weights [n_features]; 0 where there is no feature.
  virtual void expand(const double* weights, double* dense) const = 0;
  // node [tokens, P] <- scores of a block; padding -inf.
  void score(const TokenBlock& block, const WeightView& weights, double* node) const {
    FIELDCRAFT_DISPATCH(score_tokens, block.rows, weights.dense, weights.each, block.begin, block.end, S_, P_,
                        node);
  }
  // The label pairs of scale * weights.
  std::unique_ptr<Edges> edges(const double* dense, double scale) const;

 protected:
  ScoringLayout(int n_states, int64_t n_rows) : S_(n_states), P_(padded(n_states)), n_rows_(n_rows) {}
  ScoringLayout(const ScoringLayout&) = default;
  ScoringLayout(ScoringLayout&&) = default;
  ScoringLayout& operator=(ScoringLayout&&) = default;

  int64_t S_, P_;
  int64_t n_rows_;
};

// Weights in a layout. The part by feature is a copy, or the caller's vector read in place.
class LaidOutWeights {
 public:
  enum class Memory { copy, in_place };
  LaidOutWeights(const ScoringLayout& layout, Memory memory);

  // Takes weights [n_features]; in place they must stay until the next call.
  void set(const double* weights);
  // Makes the edges again, after the pairs in dense() have changed.
  void refresh() { edges_ = layout_->edges(memory_.data(), 1.0); }

  WeightView view() const { return {memory_.data(), each_}; }
  const Edges& edges() const { return *edges_; }
  double* dense() { return memory_.data(); }
  double* each() { return memory_.data() + layout_->dense_size(); }  // of a copy

 private:
  const ScoringLayout* layout_;
  bool copies_;
  Buffer memory_;  // dense part and, if copied, the part by feature
  const double* each_ = nullptr;
  std::unique_ptr<Edges> edges_;
};

// Edges that look at the input, for one sequence of encoded tokens after the other.
class ObservedEdges final : public OwnEdges {
 public:
  // Both must stay.
  ObservedEdges(const EdgeFeatures& features, const EncodedTokens& tokens)
      : features_(features), tokens_(tokens) {}
  // The sequence's tokens and where its scores come from: `shared` edges plus scale * weights [n_features].
  void go_to(int64_t first_token, int64_t T, const Edges& shared, const double* weights, double scale = 1);
  bool has(int64_t t) const override { return has_[t] != 0; }
  void fill(int64_t t, double* scores) const override;
  void add(int64_t t, double* scores) const;  // what fill() adds to the shared ones
  bool additions(int64_t t, std::vector<Addition>& out) const override;
  // Calls visit(pair, feature, value) for each edge entry of token t of the sequence.
  template <class Visit>
  void each_entry(int64_t t, const Visit& visit) const {
    const int64_t token = first_ + t;
    for (int64_t i = tokens_.token_ptr[token]; i < tokens_.token_ptr[token + 1]; ++i) {
      const int32_t e = features_.id[tokens_.attributes[i]];
      if (e < 0) continue;
      const double value = tokens_.values == nullptr ? 1.0 : tokens_.values[i];
      for (int64_t j = features_.ptr[e]; j < features_.ptr[e + 1]; ++j)
        visit(int64_t{features_.pair[j]}, features_.feature[j], value);
    }
  }

 private:
  const EdgeFeatures& features_;
  const EncodedTokens& tokens_;
  const Edges* shared_ = nullptr;
  const double* weights_ = nullptr;
  double scale_ = 1;
  int64_t first_ = 0;
  std::vector<uint8_t> has_;  // [T] does the token have an attribute with edge features
};

// The edge features of a corpus: an entry for each of them at each token that has its attribute.
class EdgeEntries {
 public:
  EdgeEntries() = default;
  // Labels are numbered by number [S], or keep their numbers if it is null; pairs are y' * P + y. The arrays
  // of `tokens` must stay unless this is empty.
  EdgeEntries(const FeatureColumns& features, const int* number, int64_t P, const EncodedTokens& tokens,
              int n_threads);

  bool empty() const { return features.empty(); }
  ObservedEdges observed() const { return {features, tokens}; }
  int64_t before(int64_t token) const { return ptr.empty() ? 0 : ptr[token]; }
  // visit(feature) for the entries of tokens begin .. end-1
  template <class Visit>
  void each_feature(int64_t begin, int64_t end, const Visit& visit) const {
    if (empty() || begin >= end) return;
    for (int64_t i = tokens.token_ptr[begin]; i < tokens.token_ptr[end]; ++i)
      if (const int32_t e = features.id[tokens.attributes[i]]; e >= 0)
        for (int64_t j = features.ptr[e]; j < features.ptr[e + 1]; ++j) visit(features.feature[j]);
  }

  EdgeFeatures features;
  EncodedTokens tokens{};
  std::vector<int64_t> ptr;  // [tokens + 1] entries before each token; empty without any
};

}  // namespace fieldcraft
