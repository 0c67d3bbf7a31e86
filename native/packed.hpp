// The features of a model in the order in which they are scored and stored.
//
// Label pairs without attribute stand first, then the features of attribute 0, 1, 2 …, those of nodes before
// those of edges. So no feature needs to name its attribute: how many each attribute has tells. A token's
// score reads weights and labels where they lie, which may be in a mapped model file; attributes with many
// labels get a dense row besides, made when the model is.
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
#include "layout.hpp"

namespace fieldcraft {

// Small numbers in one or two bytes each.
struct Labels {
  Array<uint8_t> bytes;
  Array<uint16_t> words;
  size_t size() const { return bytes.empty() ? words.size() : bytes.size(); }
  uint32_t operator[](size_t i) const { return bytes.empty() ? words[i] : bytes[i]; }
};

struct PackedFeatures {
  int S = 0, row_limit = 0;
  int64_t n_pairs = 0, n_rows = 0;
  Array<uint32_t> first, edge_attribute, edge_n;
  Labels n, label, previous;

  int64_t n_features() const { return static_cast<int64_t>(label.size()); }
  int64_t n_attributes() const { return static_cast<int64_t>(first.size()); }
  bool has_row(size_t a) const { return n[a] > static_cast<uint32_t>(row_limit); }

  // Throws unless every number fits the others.
  void check() const;

  // rows [n_rows, P] and edge scores [S, S] <- weights [F].
  void expand(const double* weights, int P, double* rows) const;
  void shared_edges(const double* weights, double* scores) const;
  EdgeFeatures edges(int P) const;

  // Entries of tokens first .. last-1 as they come; an entry's feature is a place among the weights.
  void gather(const EncodedTokens& tokens, int64_t from, int64_t to, OwnedRows& out) const;

 private:
  // Calls visit(attribute, begin of its node features, begin of its edge features, end of both).
  template <class Visit>
  void each_attribute(const Visit& visit) const;
};

// A feature index brought into that order: order[i] is the feature that stands at place i.
struct Packing {
  PackedFeatures features;
  std::vector<uint32_t> order;
};

// `frequency` [n_attributes]: occurrences in training; busy rows are kept together.
Packing pack(const FeatureColumns& features, int n_states, const int64_t* frequency);

}  // namespace fieldcraft
