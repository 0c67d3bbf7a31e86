// Checked views of the two array bundles that the core works on: encoded tokens and feature columns.
#pragma once

#include <memory>
#include <optional>

#include "attribute_tokens.hpp"
#include "bind/arrays.hpp"
#include "parallel.hpp"
#include "potentials.hpp"
#include "scoring_layout.hpp"

namespace fieldcraft::bind {

struct IdRange {
  int32_t lowest = 0, highest = -1;

  void add(const int32_t* ids, size_t n) {
    int32_t low = lowest, high = highest;  // not members: the compiler takes several ids at once then
    for (size_t i = 0; i < n; ++i) low = std::min(low, ids[i]), high = std::max(high, ids[i]);
    lowest = low, highest = high;
  }
};

// By all threads that are at hand.
inline IdRange range_of(const int32_t* ids, size_t n) {
  constexpr size_t kPiece = 1 << 17;
  std::vector<IdRange> pieces((n + kPiece - 1) / kPiece);
  for_each_task(Crew::at_hand(), pieces.size(),
                [&](size_t p, int) { pieces[p].add(ids + p * kPiece, std::min(kPiece, n - p * kPiece)); });
  IdRange all;
  for (const IdRange& piece : pieces)
    all = {std::min(all.lowest, piece.lowest), std::max(all.highest, piece.highest)};
  return all;
}

struct Tokens {
  Tokens(In1<int64_t> offsets, In1<int64_t> token_ptr, In1<int32_t> attributes,
         std::optional<In1<double>> values)
      : offsets(offsets), token_ptr(token_ptr), attributes(attributes), values(values) {
    check_offsets(token_ptr, static_cast<int64_t>(attributes.shape(0)), "token offsets");
    check_offsets(offsets, static_cast<int64_t>(token_ptr.shape(0)) - 1, "sequence offsets");
    require(!values || values->shape(0) == attributes.shape(0), "one value per attribute is needed");
    const IdRange range = range_of(attributes.data(), attributes.shape(0));
    highest = range.highest;
    require(range.lowest >= 0, "attribute ids must not be negative");
  }

  EncodedTokens checked(int64_t n_attributes) const {
    require(highest < n_attributes, "attribute id ", highest, " is out of range: there are ", n_attributes);
    return {static_cast<int64_t>(offsets.shape(0)) - 1, offsets.data(), token_ptr.data(), attributes.data(),
            values ? values->data() : nullptr};
  }

  // No token's absolute values add up to more; it may overstate.
  double reach() const {
    const size_t n = attributes.shape(0);
    return static_cast<double>(n) * (values ? largest(values->data(), n) : 1.0);
  }

  In1<int64_t> offsets, token_ptr;
  In1<int32_t> attributes;
  std::optional<In1<double>> values;
  int32_t highest = -1;
  // Transposed, from when features are counted until a problem is made.
  mutable std::shared_ptr<AttributeTokens> columns;
};

struct Columns {
  Columns(int64_t n_attributes, In1<int32_t> attribute, In1<int32_t> previous, In1<int32_t> label)
      : n_attributes(n_attributes), attribute(attribute), previous(previous), label(label) {
    require(previous.shape(0) == attribute.shape(0) && label.shape(0) == attribute.shape(0),
            "the columns of a feature index must have one length");
    check_range(attribute, -1, n_attributes, "attribute");
  }

  FeatureColumns checked(int n_states) const {
    require(n_states >= 1 && n_states <= 65535, "between 1 and 65535 states are possible");
    check_range(previous, -1, n_states, "previous");
    check_range(label, 0, n_states, "label");
    return {static_cast<int64_t>(label.shape(0)), n_attributes, attribute.data(), previous.data(),
            label.data()};
  }

  int64_t n_attributes;
  In1<int32_t> attribute, previous, label;
};

}  // namespace fieldcraft::bind
