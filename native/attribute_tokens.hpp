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

// Attributes that occur at the same tokens with the same values: their weights act as one. Attributes that
// occur twice in one token stay alone.
struct SameColumns {
  explicit SameColumns(size_t n) : first(n), next(n) {}
  RawVector<int32_t> first;  // [A] the first attribute with the same column; the attribute itself if alone
  RawVector<int32_t> next;   // [A] the next one with it, or -1
};
SameColumns same_columns(const AttributeTokens& columns, int n_threads);

}  // namespace fieldcraft
