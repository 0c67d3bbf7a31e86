// The features that occur in a corpus, and how often: the rows of the feature index.
//
// Order: pairs without attribute first (by previous, then current label), then attribute by attribute in
// order of id; within an attribute by label configuration. Attributes have node features (attribute, label)
// or edge features (attribute, previous, label), by `on_edge`.
#pragma once

#include <cstdint>

#include "attribute_tokens.hpp"
#include "raw_vector.hpp"
#include "scoring_layout.hpp"

namespace fieldcraft {

struct FeatureCounts {
  RawVector<int32_t> attribute;  // -1 where there is none
  RawVector<int32_t> labels;     // [2, F] the previous one, or -1, then the label
  RawVector<int32_t> count;      // positions with the feature
  RawVector<int32_t> family;     // positions with its observation
};

struct IndexRules {
  bool all_states = false;       // every label configuration of every attribute
  bool all_transitions = false;  // every pair of labels
  bool edge_bias = true;         // pairs without attribute at all
  int64_t min_count = 1;
};

// Labels that a token may have: candidate[ptr[t]] .. candidate[ptr[t + 1] - 1]. A feature is supported, and
// counted once, wherever its labels are among the candidates; tokens without candidates support none.
struct Candidates {
  const int64_t* ptr;
  const int32_t* label;
};

// `columns` are `tokens`, transposed. Threads share the attributes; the result does not depend on their
// number.
FeatureCounts count_features(const EncodedTokens& tokens, const AttributeTokens& columns,
                             const uint8_t* on_edge, const Candidates& gold, int S, const IndexRules& rules,
                             int n_threads);

}  // namespace fieldcraft
