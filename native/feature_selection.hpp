// Feature selection: label configurations to which a model gives some probability, though training data may
// not show them.
#pragma once

#include <cstdint>
#include <vector>

#include "potentials.hpp"

namespace fieldcraft {

// The columns of features, ordered by attribute (those without one last), then by labels.
struct LikelyFeatures {
  std::vector<int32_t> attribute, previous, label;  // -1 where there is none
};

// (a, y) for every attribute a on nodes with p(y_t = y) > least at a token t that has it; (a, x, y) for
// attributes on edges, and (-1, x, y) if `label_pairs`, with p(y_{t-1} = x, y_t = y) > least. `on_edge`
// [n_attributes]; the tokens are those that the potentials were made from.
LikelyFeatures likely_features(const Potentials& from, const EncodedTokens& tokens, int64_t n_attributes,
                               const uint8_t* on_edge, bool label_pairs, double least, int n_threads);

}  // namespace fieldcraft
