#include "same_columns.hpp"

#include <bit>

namespace fieldcraft {
namespace {

uint64_t mixed(uint64_t x) {  // every bit of the result depends on every bit of x
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// [A] equal for equal columns: a sum over the occurrences, whatever their order.
std::vector<uint64_t> fingerprints(const EncodedTokens& tokens, size_t n_attributes) {
  std::vector<uint64_t> sums(n_attributes, 0);
  const int64_t n_tokens = tokens.offsets[tokens.n_sequences];
  for (int64_t t = 0; t < n_tokens; ++t) {
    const uint64_t own = mixed(static_cast<uint64_t>(t));
    for (int64_t i = tokens.token_ptr[t]; i < tokens.token_ptr[t + 1]; ++i)
      sums[tokens.attributes[i]] +=
          tokens.values == nullptr ? own : mixed(own ^ std::bit_cast<uint64_t>(tokens.values[i]));
  }
  return sums;
}

// [A] the first attribute with the same fingerprint and frequency.
std::vector<int32_t> candidates(const EncodedTokens& tokens, const std::vector<int64_t>& frequency) {
  const size_t n = frequency.size();
  const std::vector<uint64_t> prints = fingerprints(tokens, n);
  const size_t mask = std::bit_ceil(2 * n + 2) - 1;
  std::vector<int32_t> table(mask + 1, -1), first(n);
  for (size_t a = 0; a < n; ++a) {
    first[a] = static_cast<int32_t>(a);
    if (frequency[a] == 0) continue;
    size_t slot = prints[a] & mask;
    while (table[slot] >= 0 && prints[table[slot]] != prints[a]) slot = (slot + 1) & mask;
    if (table[slot] < 0)
      table[slot] = static_cast<int32_t>(a);
    else if (frequency[table[slot]] == frequency[a])
      first[a] = table[slot];
  }
  return first;
}

}  // namespace

std::vector<int64_t> attribute_frequencies(const EncodedTokens& tokens, int64_t n_attributes) {
  std::vector<int64_t> count(n_attributes, 0);
  const int64_t n = tokens.token_ptr[tokens.offsets[tokens.n_sequences]];
  for (int64_t i = 0; i < n; ++i) ++count[tokens.attributes[i]];
  return count;
}

// As frequent as one another, never twice in a token, and at every token of one also the other: equal.
std::vector<int32_t> same_columns(const EncodedTokens& tokens, const std::vector<int64_t>& frequency) {
  std::vector<int32_t> first = candidates(tokens, frequency);
  std::vector<int64_t> seen(frequency.size(), -1);  // the last occurrence of an attribute
  std::vector<uint8_t> alone(frequency.size(), 0);
  const int64_t n_tokens = tokens.offsets[tokens.n_sequences];
  for (int64_t t = 0; t < n_tokens; ++t) {
    const int64_t begin = tokens.token_ptr[t], end = tokens.token_ptr[t + 1];
    for (int64_t i = begin; i < end; ++i) {
      int64_t& last = seen[tokens.attributes[i]];
      if (last >= begin) alone[tokens.attributes[i]] = 1;
      last = i;
    }
    for (int64_t i = begin; i < end; ++i) {
      const int32_t a = tokens.attributes[i], other = first[a];
      if (other == a) continue;
      const int64_t j = seen[other];
      if (j < begin || (tokens.values != nullptr && tokens.values[j] != tokens.values[i])) alone[a] = 1;
    }
  }
  for (size_t a = 0; a < first.size(); ++a)
    if (alone[a] != 0 || alone[first[a]] != 0) first[a] = static_cast<int32_t>(a);
  return first;
}

}  // namespace fieldcraft
