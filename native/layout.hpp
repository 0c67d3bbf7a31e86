// How features are laid out for scoring and for the gradient.
//
// A feature is (attribute, label) on nodes, (attribute, previous label, label) or (nothing, previous, label)
// on edges. Attributes seen with few labels keep a list of (feature, label) entries, which point straight
// into the weight vector; attributes seen with many get a dense row of P weights, expanded from the vector
// once per evaluation. Dense rows are numbered by falling frequency so that the busy ones share the cache.
//
// A token's entries are kept in order of class (16 classes of rows and of weights). Threads own ranges of
// classes when the gradient is gathered, and the order of summation never depends on how many threads there
// are.
#pragma once

#include <cstdint>
#include <vector>

#include "chain.hpp"
#include "kernels.hpp"
#include "rows.hpp"

namespace fieldcraft {

constexpr int kClasses = 16;
inline int row_class(uint32_t row) { return row & (kClasses - 1); }
inline int weight_class(uint32_t feature) { return (feature >> 3) & (kClasses - 1); }  // whole cache lines

// The feature index as arrays, one entry per weight; -1 where there is no attribute or previous label.
struct FeatureColumns {
  int64_t n_features, n_attributes;
  const int32_t *attribute, *previous, *label;
};

// Do (feature, label) entries need two words each; see Entry.
inline bool needs_wide_entries(int64_t n_features, int S) { return n_features > 0xffffff || S > 256; }

// Encoded tokens of a batch: attribute ids per token, values or null.
struct EncodedTokens {
  int64_t n_sequences;
  const int64_t *offsets, *token_ptr;
  const int32_t* attributes;
  const double* values;
};

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

// Features of edges that look at the input, by attribute.
struct EdgeFeatures {
  std::vector<int32_t> id;    // [A] number among the attributes with edge features, or -1; empty without any
  std::vector<int64_t> ptr;   // [edge attributes + 1]
  std::vector<int32_t> pair;  // y' * P + y
  std::vector<uint32_t> feature;

  bool empty() const { return ptr.empty(); }
};

// Attributes with more labels than this have a dense row; rows of many states must earn their width.
inline int sparse_limit(int S) { return S / 8 > 2 ? S / 8 : 2; }

class Layout {
 public:
  // `frequency` [n_attributes]: occurrences in training, to order the dense rows; may be null.
  Layout(const FeatureColumns& features, int n_states, const int64_t* frequency);

  int S, P;
  int64_t n_features, n_attributes, n_rows = 0;

  // rows [n_rows, P] <- weights, 0 where an attribute has no feature for the label.
  void expand(const double* weights, double* rows, int n_threads) const;
  // gradient[f] <- rows, for the features that live in dense rows.
  void collect(const double* rows, double* gradient, int n_threads) const;
  // edge scores [S, S] <- weights of features without attribute.
  void shared_edges(const double* weights, double* scores) const;

  // Entries of tokens first .. last-1, in class order.
  void encode(const EncodedTokens& tokens, int64_t first, int64_t last, OwnedRows& out, int n_threads) const;

  // Frees what only encode() needs.
  void forget_attributes();

  std::vector<int32_t> pair_feature;  // [S * S] feature of the pair without attribute, or -1
  EdgeFeatures edge;

 private:
  void count_entries_or_throw(const EncodedTokens& tokens, int64_t first, int64_t last) const;
  void encode_token(const EncodedTokens& tokens, int64_t token, int64_t t, OwnedRows& out) const;

  bool wide() const { return needs_wide_entries(n_features, S); }

  struct Place {     // of an attribute's node features
    uint32_t first;  // row number, or first entry
    uint32_t n;      // entries; kDense for a row
  };
  static constexpr uint32_t kDense = 0xffffffffu;
  int64_t most_entries_ = 0;             // of an attribute without a row
  std::vector<Place> place_;             // [A]
  std::vector<uint32_t> entry_feature_;  // sparse entries, by attribute
  std::vector<uint16_t> entry_label_;
  std::vector<int64_t> row_ptr_;  // [n_rows + 1]
  std::vector<uint32_t> row_feature_;
  std::vector<uint16_t> row_label_;
};

// Edges that look at the input, for one sequence of encoded tokens.
class ObservedEdges final : public OwnEdges {
 public:
  ObservedEdges(const EdgeFeatures& features, const EncodedTokens& tokens, const Edges& shared,
                const double* weights)
      : features_(features), tokens_(tokens), shared_(shared), weights_(weights) {}
  void go_to(int64_t first_token, int64_t T);
  bool has(int64_t t) const override { return has_[t] != 0; }
  void fill(int64_t t, double* scores) const override;
  // Calls visit(pair, feature, value) for each edge entry of token t of the sequence.
  template <class Visit>
  void each_entry(int64_t t, const Visit& visit) const {
    const int64_t token = first_ + t;
    for (int64_t i = tokens_.token_ptr[token]; i < tokens_.token_ptr[token + 1]; ++i) {
      const int32_t e = features_.id[tokens_.attributes[i]];
      if (e < 0) continue;
      const double value = tokens_.values == nullptr ? 1.0 : tokens_.values[i];
      for (int64_t j = features_.ptr[e]; j < features_.ptr[e + 1]; ++j)
        visit(features_.pair[j], features_.feature[j], value);
    }
  }

 private:
  const EdgeFeatures& features_;
  const EncodedTokens& tokens_;
  const Edges& shared_;
  const double* weights_;
  int64_t first_ = 0;
  std::vector<uint8_t> has_;  // [T] does the token have an attribute with edge features
};

}  // namespace fieldcraft
