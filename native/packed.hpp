// The features of a model in the order in which they are scored and stored.
//
// Label pairs without attribute stand first, then the features of attribute 0, 1, 2 …, those of nodes before
// those of edges. So no feature needs to name its attribute: the number of features of each attribute is
// enough. A token's score reads weights and labels where they are, which may be in a mapped model file;
// attributes with many labels get a dense row besides, made when the model is.
//
//   first [A]   where an attribute's node features begin; for one with a row (n > row_limit) the row's number
//   n [A]       how many node features it has
//   label [F]   current label
//   previous    previous label of the features that have one: the pairs, then those of edges, in order
//   edge_attribute, edge_n [E]   attributes with edge features, rising, and how many each has
#pragma once

#include <cstdint>
#include <vector>

#include "array.hpp"
#include "prefetch.hpp"
#include "scoring_layout.hpp"

namespace fieldcraft {

// Small numbers in one or two bytes each.
struct Labels {
  Array<uint8_t> bytes;
  Array<uint16_t> words;
  size_t size() const { return bytes.empty() ? words.size() : bytes.size(); }
  uint32_t operator[](size_t i) const { return bytes.empty() ? words[i] : bytes[i]; }
  FIELDCRAFT_FETCHES void prefetch(size_t i) const {
    if (bytes.empty())
      __builtin_prefetch(words.data() + i);
    else
      __builtin_prefetch(bytes.data() + i);
  }
};

class PackedFeatures final : public ScoringLayout {
 public:
  PackedFeatures(int n_states, int row_limit, int64_t n_pair_features, int64_t n_rows)
      : ScoringLayout(n_states, n_rows), row_limit(row_limit), n_pair_features(n_pair_features) {}

  int row_limit;
  int64_t n_pair_features;
  Array<uint32_t> first, edge_attribute, edge_n;
  Labels n, label, previous;

  int64_t n_features() const override { return static_cast<int64_t>(label.size()); }
  int64_t n_attributes() const { return static_cast<int64_t>(first.size()); }
  int64_t n_rows() const { return n_rows_; }
  bool has_row(size_t a) const { return n[a] > static_cast<uint32_t>(row_limit); }

  // Throws unless every number fits the others.
  void check() const;

  void expand(const double* weights, double* dense) const override;
  EdgeFeatures edge_features() const;

  // Tokens from .. to-1 of a batch, encoded as they come, in `memory`; an entry's feature is a position among
  // the weights.
  TokenBlock encode(const EncodedTokens& tokens, int64_t from, int64_t to, OwnedRows& memory) const;

 private:
  // What encode() needs of an attribute.
  FIELDCRAFT_FETCHES void prefetch(size_t a) const {
    __builtin_prefetch(&first[a]);
    n.prefetch(a);
  }
  // Calls visit(attribute, begin of its node features, begin of its edge features, end of both).
  template <class Visit>
  void each_attribute(const Visit& visit) const;
};

// A feature index brought into that order: order[i] is the feature at position i.
struct Packing {
  PackedFeatures features;
  std::vector<uint32_t> order;
};

// `frequency` [n_attributes]: occurrences in training; busy rows are kept together.
Packing pack(const FeatureColumns& features, int n_states, const int64_t* frequency);

}  // namespace fieldcraft
