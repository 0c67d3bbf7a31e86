// Attributes that occur at the same tokens with the same values: their weights act as one.
#pragma once

#include <cstdint>
#include <vector>

#include "scoring_layout.hpp"

namespace fieldcraft {

// [A] how often each attribute occurs.
std::vector<int64_t> attribute_frequencies(const EncodedTokens& tokens, int64_t n_attributes);

// [A] the first attribute with the same column; the attribute itself where there is none. Columns are
// compared in full. Attributes that occur twice in one token stay alone.
std::vector<int32_t> same_columns(const EncodedTokens& tokens, const std::vector<int64_t>& frequency);

}  // namespace fieldcraft
