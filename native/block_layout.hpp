// A corpus in blocks, for evaluations of the whole of it (training.hpp).
//
// A block is some sequences and their tokens, encoded twice: by token, as they are scored, and by column, as
// their gradient is added up (kernels/blocks.cpp). Any thread may work on any of them, and for its scores and
// chains a block needs nothing of another one. Blocks that follow one another in the corpus are a group: they
// add up their columns in one memory, each after the one before it (relay.hpp). A column has its sum in the
// first group that it occurs in, and a copy in every other one; the copies are added in the order of the
// groups. The cuts depend on the corpus alone, so that every sum has the same terms in the same order
// whatever the number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "field_layout.hpp"

namespace fieldcraft {

// A sequence of a block.
struct BlockSequence {
  int64_t number;       // in the corpus
  int64_t first, T;     // token in the block; length
  int64_t first_entry;  // of its edge entries, in the block
};

// Where the columns of a kind begin in lists of a block.
struct KindBegin {
  uint32_t column, length, list;
};

struct Block {
  uint32_t group = 0;
  std::vector<BlockSequence> sequences;  // longest first
  int64_t n_tokens = 0, n_entries = 0;

  RawVector<uint32_t> order, scalars;  // BlockScores
  std::vector<uint8_t> runs;
  RawVector<uint16_t> rows;       // of the classes one after the other
  RawVector<uint32_t> wide_rows;  // the same where a class has more than 65,536 rows
  std::vector<int64_t> rows_at;   // [classes]
  RawVector<double> row_values, scalar_values;

  RawVector<uint32_t> columns;      // their numbers in the field; classes, scalars, edges
  RawVector<uint32_t> to, lengths;  // BlockColumns, of the kinds one after the other
  RawVector<uint32_t> length;       // of the edges
  KindBegin begin[kMostClasses + 2] = {};
  uint32_t n_nodes = 0, n_edges = 0;  // columns
  RawVector<uint16_t> n_labels, labels, list;
  RawVector<uint32_t> wide_list;
  RawVector<double> list_values;
  std::vector<uint32_t> n_pairs, entry_list;  // of the edges; where the entries of an occurrence begin

  bool wide_tokens() const { return n_tokens > 65536; }  // do their numbers need more than 16 bits
  size_t bytes() const;
};

class BlockLayout {
 public:
  // `columns`: the tokens, transposed, of which nothing is left afterwards; or null.
  BlockLayout(const FeatureColumns& features, int n_states, const EncodedTokens& tokens,
              AttributeTokens* columns, bool keep_order, int n_threads);
  BlockLayout(const BlockLayout&) = delete;  // blocks refer to the field's edges

  const FieldLayout& field() const { return field_; }
  bool share(const Alike& alike, int n_threads) { return field_.share(alike, n_threads); }
  int64_t n_sequences() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  int64_t n_tokens() const { return offsets_.back(); }
  int64_t first(int64_t i) const { return offsets_[i]; }
  int64_t length(int64_t i) const { return offsets_[i + 1] - offsets_[i]; }
  const std::vector<Block>& blocks() const { return blocks_; }
  std::vector<uint32_t> group_sizes() const;  // [groups] blocks
  size_t index_of(uint32_t group, uint32_t rank) const { return group_begin_[group] + rank; }
  int n_kinds() const { return field_.n_classes() + 2; }  // of columns: classes, scalars, edges
  int64_t most_tokens() const { return most_tokens_; }    // of a block
  int64_t most_entries() const { return most_entries_; }
  int64_t longest() const { return longest_; }  // sequence
  size_t sums_size() const { return sums_size_; }

  // node [tokens of the block, P] <- scores, padding 0.
  void score(const Block& block, const double* field, double* node) const;
  // The sums of a block's columns of one kind, after those of the blocks before it in its group; entries
  // [entries of the block].
  void gather(const Block& block, int kind, const double* node, const double* entries, double* sums) const;
  // Adds up the copies of the columns of a piece of the field.
  void merge(size_t piece, double* sums) const;

  size_t bytes() const;

 private:
  void cut();
  class Presence;

  void place_sums(int n_threads);
  std::vector<uint32_t> place_copies(const std::vector<uint16_t>& groups_of, int n_threads);
  void place_group(uint32_t group, const std::vector<uint16_t>& groups_of,
                   const std::vector<uint32_t>& first_copy, Presence& not_yet);

  FieldLayout field_;
  std::vector<int64_t> offsets_;
  bool valued_, wide_, wide_rows_;
  std::vector<Block> blocks_;
  std::vector<uint32_t> group_begin_;  // [groups + 1] blocks, which are in the order of the corpus
  int64_t most_tokens_ = 0, most_entries_ = 0, longest_ = 0;
  size_t sums_size_ = 0;                // the field's sums, then copies
  std::vector<uint8_t> n_copies_;       // [columns]
  std::vector<uint32_t> copies_;        // where they are
  std::vector<uint32_t> piece_copies_;  // [pieces + 1] where those of the field's pieces begin
};

}  // namespace fieldcraft
