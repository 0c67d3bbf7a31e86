// The tokens of each attribute: the attributes of a corpus' tokens, transposed.
#pragma once

#include <cstdint>
#include <vector>

#include "raw_vector.hpp"
#include "scoring_layout.hpp"

namespace fieldcraft {

// Attribute a occurs at token[ptr[a]] .. token[ptr[a + 1] - 1], in the order of the corpus.
struct AttributeTokens {
  RawVector<int64_t> ptr;     // [A + 1]
  RawVector<uint32_t> token;  // [occurrences]
  RawVector<double> value;    // [occurrences], or empty if all are 1

  int64_t n_attributes() const { return static_cast<int64_t>(ptr.size()) - 1; }
  int64_t frequency(int64_t a) const { return ptr[a + 1] - ptr[a]; }
  // Bounds of at most n ranges of attributes with about equally many occurrences.
  std::vector<int64_t> ranges(int64_t n) const;
};

AttributeTokens transposed(const EncodedTokens& tokens, int64_t n_attributes, int n_threads);

// [A] how often each attribute occurs.
std::vector<int64_t> attribute_frequencies(const EncodedTokens& tokens, int64_t n_attributes);

// [A] the first attribute that occurs at the same tokens with the same values: their weights act as one. The
// attribute itself where there is none. Attributes that occur twice in one token stay alone.
std::vector<int32_t> same_columns(const AttributeTokens& columns, int n_threads);

}  // namespace fieldcraft
