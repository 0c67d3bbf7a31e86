#include "block_layout.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "block_encoder.hpp"
#include "parallel.hpp"

namespace fieldcraft {
namespace {

// Each group of blocks has about as many tokens. Its blocks become smaller towards its end, so that threads
// end together: each takes this part of what all groups would have left if they were as far, half of the
// share of one of 16 threads. But none is larger than suits a cache, or smaller than is worth a task. The
// first ones are a little smaller, so that threads which begin together do not come to add up at the same
// time.
constexpr int64_t kShares = 32, kFewestBlocks = 16;
// Threads that add up in one group wait for one another: the less, the more labels there are, since a chain
// takes their square; and the wider are the copies that each group has.
// Beside a corpus of millions of tokens more copies are no matter.
constexpr int64_t kFewestGroups = 2, kMostGroups = 16, kGroupLabels = 192, kManyTokens = 1 << 20;
constexpr int64_t kBlockBytes = 1 << 20, kLeastTokens = 512, kMostTokens = 32768;
constexpr int64_t kPairBytes = 64 << 20;  // of all blocks' sums of label pairs

// Of the bits of a number below 2^16: an instruction of its own is not on every processor.
uint32_t count_bits(uint32_t x) {
  x -= x >> 1 & 0x5555;
  x = (x & 0x3333) + (x >> 2 & 0x3333);
  x = (x + (x >> 4)) & 0x0f0f;
  return (x + (x >> 8)) & 0x1f;
}

void gather_edges(const Block& block, const double* entries, double* sums) {
  const uint32_t* list = block.entry_list.data();
  for (uint32_t edge = 0; edge < block.n_edges; ++edge) {
    const uint32_t to = block.to[block.n_nodes + edge], n = block.n_pairs[edge];
    double* const out = sums + (to & ~kAddTo);
    if ((to & kAddTo) == 0) std::fill_n(out, n, 0.0);
    for (uint32_t j = 0; j < block.length[edge]; ++j, ++list)
      for (uint32_t f = 0; f < n; ++f) out[f] += entries[*list + f];
  }
}

}  // namespace

size_t Block::bytes() const {
  return 4 * (order.size() + wide_rows.size() + scalars.size() + columns.size() + to.size() + lengths.size() +
              length.size() + wide_list.size() + n_pairs.size() + entry_list.size()) +
         2 * (rows.size() + n_labels.size() + labels.size() + list.size()) + runs.size() +
         8 * (row_values.size() + scalar_values.size() + list_values.size()) +
         sizeof(BlockSequence) * sequences.size();
}

BlockLayout::BlockLayout(const FeatureColumns& features, int n_states, const EncodedTokens& tokens,
                         AttributeTokens* columns, bool keep_order, int n_threads)
    : field_(features, n_states, tokens, columns, keep_order, n_threads),
      offsets_(tokens.offsets, tokens.offsets + tokens.n_sequences + 1),
      valued_(tokens.values != nullptr),
      wide_(needs_wide_entries(static_cast<int64_t>(field_.weights_size()), n_states)),
      wide_rows_(wide_) {
  for (int c = 0; c < field_.n_classes(); ++c)
    wide_rows_ = wide_rows_ || field_.first_of(c + 1) - field_.first_of(c) > 65536;
  cut();
  n_threads = static_cast<int>(std::clamp<int64_t>(n_threads, 1, static_cast<int64_t>(blocks_.size()) + 1));
  {
    std::vector<std::optional<BlockEncoder>> encoders(n_threads);
    for_each_task(n_threads, blocks_.size(), [&](size_t b, int thread) {
      if (!encoders[thread]) encoders[thread].emplace(field_, tokens, wide_, wide_rows_);
      encoders[thread]->encode(blocks_[b]);
    });
  }
  field_.forget();
  place_sums(n_threads);
}

std::vector<uint32_t> BlockLayout::group_sizes() const {
  std::vector<uint32_t> sizes;
  for (size_t g = 0; g + 1 < group_begin_.size(); ++g) sizes.push_back(group_begin_[g + 1] - group_begin_[g]);
  return sizes;
}

void BlockLayout::cut() {
  const int64_t S = field_.S(), P = field_.P(), total = n_tokens();
  const int64_t most = std::clamp<int64_t>(kBlockBytes / (8 * P), kLeastTokens, kMostTokens);
  const int64_t fewest = total / std::max<int64_t>(kFewestBlocks, kPairBytes / (8 * S * P)) + 1;
  const EdgeEntries& edges = field_.edges();
  const bool many = total >= kManyTokens;
  const int64_t wanted_groups = std::clamp((many ? 3 : 1) * kGroupLabels / P, kFewestGroups, kMostGroups);
  const int64_t n_groups = std::clamp<int64_t>(total / (4 * kLeastTokens), 1, wanted_groups);
  const auto size_of = [&](int64_t left, uint32_t rank) {  // of the next block of a group
    const int64_t size = std::min(most, left * n_groups / kShares) * std::min(8 + rank, 10u) / 10;
    return std::max({size, std::min(kLeastTokens, total), fewest});
  };
  int64_t i = 0;
  group_begin_.push_back(0);
  for (int64_t g = 0; g < n_groups; ++g) {
    const int64_t end = total * (g + 1) / n_groups;
    for (uint32_t rank = 0; i < n_sequences() && (first(i) < end || g + 1 == n_groups); ++rank) {
      const int64_t size = size_of(end - first(i), rank);
      Block block;
      block.group = static_cast<uint32_t>(g);
      int64_t tokens = 0;
      for (; i < n_sequences() && (tokens == 0 || (tokens + length(i) <= size && first(i) < end)); ++i) {
        if (length(i) > 0) block.sequences.push_back({i, 0, length(i), 0});
        tokens += length(i);
      }
      blocks_.push_back(std::move(block));
    }
    group_begin_.push_back(static_cast<uint32_t>(blocks_.size()));
  }
  for (Block& block : blocks_) {
    std::stable_sort(block.sequences.begin(), block.sequences.end(),
                     [](const BlockSequence& a, const BlockSequence& b) { return a.T > b.T; });
    for (BlockSequence& s : block.sequences) {
      s.first = block.n_tokens, s.first_entry = block.n_entries;
      block.n_tokens += s.T;
      block.n_entries += edges.before(first(s.number) + s.T) - edges.before(first(s.number));
      longest_ = std::max(longest_, s.T);
    }
    if (block.n_entries > 0xfffffff0ll)
      throw std::length_error("a sequence has more than 2^32 edge features");
    most_tokens_ = std::max(most_tokens_, block.n_tokens);
    most_entries_ = std::max(most_entries_, block.n_entries);
  }
}

// Which columns a group has.
class BlockLayout::Presence {
 public:
  explicit Presence(uint32_t n_columns) : words_((n_columns + size_t{63}) / 64, 0) {}
  void add(uint32_t c) { words_[c / 64] |= bit(c); }
  bool has(uint32_t c) const { return (words_[c / 64] & bit(c)) != 0; }
  bool take(uint32_t c) {  // had it the column
    const bool had = has(c);
    words_[c / 64] &= ~bit(c);
    return had;
  }

 private:
  static uint64_t bit(uint32_t c) { return uint64_t{1} << c % 64; }
  std::vector<uint64_t> words_;
};

// The first group of a column adds it up in the field; each other one has a copy. A group's copies are in the
// order of the columns: that is how they are read when they are added up, and the rows come first, so that
// all of them are aligned.
void BlockLayout::place_sums(int n_threads) {
  const size_t n_groups = group_begin_.size() - 1;
  std::vector<Presence> present(n_groups, Presence(field_.n_columns()));
  for_each_task(n_threads, n_groups, [&](size_t g, int) {
    for (uint32_t b = group_begin_[g]; b < group_begin_[g + 1]; ++b)
      for (const uint32_t c : blocks_[b].columns) present[g].add(c);
  });
  static_assert(kMostGroups <= 16);
  std::vector<uint16_t> groups_of(field_.n_columns());  // a bit for each group that has the column
  for_each_task(n_threads, field_.n_pieces(), [&](size_t piece, int) {
    for (uint32_t c = field_.piece(piece); c < field_.piece(piece + 1); ++c)
      for (size_t g = 0; g < n_groups; ++g)
        groups_of[c] |= static_cast<uint16_t>(static_cast<uint32_t>(present[g].has(c)) << g);
  });
  const std::vector<uint32_t> first_copy = place_copies(groups_of, n_threads);
  for_each_task(n_threads, n_groups, [&](size_t g, int) {
    place_group(static_cast<uint32_t>(g), groups_of, first_copy, present[g]);
  });
}

// Counts the copies of each piece of columns and of each group, then says where they are. Returns [columns]
// the first copy of each.
std::vector<uint32_t> BlockLayout::place_copies(const std::vector<uint16_t>& groups_of, int n_threads) {
  const size_t n_groups = group_begin_.size() - 1, n_pieces = field_.n_pieces();
  const auto each = [&](size_t piece,
                        const auto& visit) {  // visit(column, group), those of a column in order
    for (uint32_t c = field_.piece(piece); c < field_.piece(piece + 1); ++c)
      for (uint32_t rest = groups_of[c] & (groups_of[c] - 1u); rest != 0; rest &= rest - 1)
        visit(c, static_cast<size_t>(std::countr_zero(rest)));
  };
  n_copies_.assign(groups_of.size(), 0), piece_copies_.assign(n_pieces + 1, 0);
  std::vector<uint64_t> at(n_pieces * n_groups, 0);  // [pieces, groups] numbers in copies, then their first
  for_each_task(n_threads, n_pieces, [&](size_t piece, int) {
    each(piece, [&](uint32_t c, size_t g) {
      ++n_copies_[c], ++piece_copies_[piece + 1];
      at[piece * n_groups + g] += field_.width(c);
    });
  });
  std::partial_sum(piece_copies_.begin(), piece_copies_.end(), piece_copies_.begin());
  copies_.assign(piece_copies_.back() + kCopiesAhead, 0);  // with what is fetched ahead of the last
  sums_size_ = padded(static_cast<int64_t>(field_.size()));
  for (size_t g = 0; g < n_groups; sums_size_ = padded(static_cast<int64_t>(sums_size_)), ++g)
    for (size_t piece = 0; piece < n_pieces; ++piece)
      sums_size_ += std::exchange(at[piece * n_groups + g], sums_size_);
  if (sums_size_ >= kAddTo) throw std::length_error("the gradients of all blocks need more than 2^31 places");
  std::vector<uint32_t> first_copy(groups_of.size());
  for_each_task(n_threads, n_pieces, [&](size_t piece, int) {
    uint32_t next = piece_copies_[piece];
    for (uint32_t c = field_.piece(piece); c < field_.piece(piece + 1); next += n_copies_[c++])
      first_copy[c] = next;
    uint32_t* copy = copies_.data() + piece_copies_[piece];
    each(piece, [&](uint32_t c, size_t g) {
      *copy++ = static_cast<uint32_t>(at[piece * n_groups + g]);
      at[piece * n_groups + g] += field_.width(c);
    });
  });
  return first_copy;
}

// Where the blocks of a group have their sums. The first of them that has a column stores its sum.
void BlockLayout::place_group(uint32_t group, const std::vector<uint16_t>& groups_of,
                              const std::vector<uint32_t>& first_copy, Presence& not_yet) {
  constexpr size_t kAhead = 24;  // columns between a prefetch and its use
  for (uint32_t b = group_begin_[group]; b < group_begin_[group + 1]; ++b) {
    Block& block = blocks_[b];
    const RawVector<uint32_t>& columns = block.columns;
    block.to.resize(columns.size() + kColumnsAhead);
    std::fill_n(block.to.end() - kColumnsAhead, kColumnsAhead, 0);
    for (size_t j = 0; j < columns.size(); ++j) {
      if (j + kAhead < columns.size()) {
        const uint32_t soon = columns[j + kAhead];
        __builtin_prefetch(&groups_of[soon]), __builtin_prefetch(&first_copy[soon]);
        __builtin_prefetch(field_.all_at() + soon);
      }
      const uint32_t c = columns[j];
      const uint32_t before = count_bits(groups_of[c] & ((1u << group) - 1));
      const uint32_t at = before == 0 ? field_.at(c) : copies_[first_copy[c] + before - 1];
      block.to[j] = not_yet.take(c) ? at : at | kAddTo;
    }
    RawVector<uint32_t>().swap(block.columns);
  }
}

void BlockLayout::score(const Block& block, const double* field, double* node) const {
  BlockScores view{};
  view.P = field_.P(), view.unit = field_.unit(), view.n_classes = field_.n_classes();
  view.widths = field_.widths();
  view.runs = block.runs.data(), view.runs_end = view.runs + block.runs.size();
  view.order = block.order.data();
  view.wide = wide_, view.has_wide_rows = wide_rows_, view.valued = valued_;
  for (int c = 0; c < view.n_classes; ++c) {
    view.rows_at[c] = field_.at(field_.first_of(c));
    if (wide_rows_)
      view.wide_rows[c] = block.wide_rows.data() + block.rows_at[c];
    else
      view.rows[c] = block.rows.data() + block.rows_at[c];
    if (valued_) view.row_values[c] = block.row_values.data() + block.rows_at[c];
  }
  view.scalars = block.scalars.data(), view.scalar_values = block.scalar_values.data();
  FIELDCRAFT_DISPATCH(score_block, view, field, field + field_.scalars_at(), node);
}

void BlockLayout::gather(const Block& block, int kind, const double* node, const double* entries,
                         double* sums) const {
  const int C = field_.n_classes();
  const KindBegin& at = block.begin[kind];
  if (kind > C) return gather_edges(block, entries, sums);
  const BlockColumns view{field_.P(),
                          field_.unit(),
                          kind < C ? field_.widths()[kind] : 0,
                          block.begin[kind + 1].column - at.column,
                          block.to.data() + at.column,
                          block.lengths.data() + at.length,
                          block.n_labels.data(),
                          block.labels.data(),
                          block.list.data() + at.list,
                          block.wide_list.data() + at.list,
                          block.wide_tokens(),
                          valued_,
                          block.list_values.data() + at.list};
  FIELDCRAFT_DISPATCH(gather_block, view, node, sums);
}

void BlockLayout::merge(size_t piece, double* sums) const {
  const uint32_t end = field_.piece(piece + 1);
  const uint32_t* next = copies_.data() + piece_copies_[piece];
  for (uint32_t c = field_.piece(piece), stop; c < end; c = stop) {
    const int kind = field_.class_of(c);
    stop = std::min(end, field_.end_of(kind));
    const int width = kind < field_.n_classes() ? field_.widths()[kind] : 0;
    const ColumnCopies copies{n_copies_.data(), next, field_.all_at(), width, field_.unit()};
    next = FIELDCRAFT_DISPATCH(add_copies, copies, c, stop, sums);
  }
}

size_t BlockLayout::bytes() const {
  size_t total = field_.bytes() + 4 * copies_.size() + n_copies_.size();
  for (const Block& block : blocks_) total += block.bytes();
  return total;
}

}  // namespace fieldcraft
