// Encodes the tokens of a block (block_layout.hpp): by token, then by column.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "apart.hpp"
#include "block_layout.hpp"

namespace fieldcraft {

// One thread's memory for the blocks that it encodes, one after the other.
class alignas(kApart) BlockEncoder {
 public:
  // All must stay. `wide`: entries of scalars take two words; `wide_rows`: numbers of rows 32 bits.
  BlockEncoder(const FieldLayout& field, const EncodedTokens& tokens, bool wide, bool wide_rows)
      : field_(field),
        tokens_(tokens),
        valued_(tokens.values != nullptr),
        wide_(wide),
        wide_rows_(wide_rows),
        n_classes_(static_cast<uint32_t>(field.n_classes())),
        n_occurrences_(tokens.token_ptr[tokens.offsets[tokens.n_sequences]]),
        n_(field.n_columns() + size_t{1}, 0) {
    n_.back() = 1;
  }

  // A block with its sequences and the number of its tokens.
  void encode(Block& block);

 private:
  using Place = FieldLayout::Place;
  struct Scalar {
    uint16_t label;
    uint32_t number;
    double value;
  };
  struct Touched {
    uint32_t column, kind, n;
  };
  struct Key {  // of a token
    uint64_t counts;
    uint32_t t;
  };

  void count(const Block& block);
  void sort_tokens(Block& block);
  void sort_keys();
  static void add_run(Block& block, uint32_t n, const uint32_t* counts, int n_counts);
  void fill_scores(Block& block);
  void add_scalars(Block& block, int64_t& at);
  void sort_columns(Block& block);
  void fill_lists(Block& block);
  void fill_entries(Block& block);
  void shorten_lengths(Block& block);

  // visit(token of the corpus, token of the block), in the block's order
  template <class Visit>
  void each_token(const Block& block, const Visit& visit) const {
    for (const BlockSequence& s : block.sequences)
      for (int64_t t = 0; t < s.T; ++t) visit(tokens_.offsets[s.number] + t, s.first + t);
  }
  // visit(place, value) for the occurrences of a token of the block
  template <class Visit>
  void each(int64_t t, const Visit& visit) const {
    for (size_t k = begin_[t]; k < begin_[t + 1]; ++k) visit(places_[k], valued_ ? values_[k] : 1.0);
  }
  uint32_t n_scalars(uint32_t column) const { return field_.at(column + 1) - field_.at(column); }
  bool is_row(const Place& place) const { return place.kind < n_classes_; }
  // Without a branch, which nobody could predict: that a column is new in the block, or that there is none.
  void touch(uint32_t column, uint32_t kind) {
    touched_[n_touched_] = {column, kind, 0};
    n_touched_ += n_[column]++ == 0;
  }

  const FieldLayout& field_;
  const EncodedTokens& tokens_;
  const bool valued_, wide_, wide_rows_;
  const uint32_t n_classes_;
  const int64_t n_occurrences_;
  // [columns + 1] occurrences in the block, then places in its lists; the last one, for attributes without a
  // column, is never 0.
  std::vector<uint32_t> n_;
  RawVector<Touched> touched_, sorted_;
  size_t n_touched_ = 0;
  std::vector<uint32_t> counts_;  // [tokens, classes and scalars]
  RawVector<Place> places_;       // of the block's occurrences,
  RawVector<double> values_;      // and their values; empty if all are 1
  std::vector<size_t> begin_;     // [tokens + 1] in them
  RawVector<Key> keys_, sorted_keys_;
  std::vector<Scalar> token_scalars_;
};

}  // namespace fieldcraft
