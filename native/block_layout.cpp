#include "block_layout.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "block_encoder.hpp"
#include "parallel.hpp"

namespace fieldcraft {
namespace {

// Blocks of three sizes, the large ones first, so that threads end together: of 16 blocks each, these parts
// of the corpus. No block is larger than suits a cache, or smaller than is worth a task.
constexpr double kParts[] = {0.62, 0.28, 0.10};
constexpr int64_t kBlocksPerPart = 16;
constexpr int64_t kBlockBytes = 2 << 20, kLeastTokens = 512, kMostTokens = 32768;
constexpr int64_t kPairBytes = 64 << 20;  // of all blocks' sums of label pairs

}  // namespace

size_t Block::bytes() const {
  return 4 * (order.size() + runs.size() + wide_rows.size() + scalars.size() + columns.size() + to.size() +
              lengths.size() + length.size() + wide_list.size() + n_pairs.size() + entry_list.size()) +
         2 * (rows.size() + n_labels.size() + labels.size() + list.size()) +
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
  cut(tokens);
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

void BlockLayout::cut(const EncodedTokens&) {
  const int64_t S = field_.S(), P = field_.P(), total = n_tokens();
  const int64_t most = std::clamp<int64_t>(kBlockBytes / (8 * P), kLeastTokens, kMostTokens);
  const int64_t fewest = total / std::max<int64_t>(kBlocksPerPart, kPairBytes / (8 * S * P)) + 1;
  const EdgeEntries& edges = field_.edges();
  int64_t i = 0, part_end = 0;
  double share = 0;
  for (const double part : kParts) {
    share += part;
    part_end = static_cast<int64_t>(share * static_cast<double>(total) + 0.5);
    const int64_t wanted = static_cast<int64_t>(part * static_cast<double>(total)) / kBlocksPerPart + 1;
    const int64_t size = std::max({std::min(wanted, most), std::min(kLeastTokens, total), fewest});
    while (i < n_sequences() && (first(i) < part_end || &part == &kParts[2])) {
      Block block;
      int64_t tokens = 0;
      for (; i < n_sequences() && (tokens == 0 || tokens + length(i) <= size); ++i) {
        if (length(i) > 0) block.sequences.push_back({i, 0, length(i), 0});
        tokens += length(i);
      }
      blocks_.push_back(std::move(block));
    }
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

// The sum of a column that occurs in one block goes to the field; otherwise each block has a copy. A block's
// copies are in the order of the columns: that is how they are read when they are added up, and the rows come
// first, so that all of them are aligned.
void BlockLayout::place_sums(int n_threads) {
  copies_ptr_.assign(field_.n_columns() + 1, 0);
  for (Block& block : blocks_) {
    block.to.resize(block.columns.size());
    for (size_t j = 0; j < block.to.size(); ++j) block.to[j] = copies_ptr_[block.columns[j] + 1]++;
  }
  for (uint32_t& n : copies_ptr_)
    if (n == 1) n = 0;
  std::partial_sum(copies_ptr_.begin(), copies_ptr_.end(), copies_ptr_.begin());
  std::vector<uint64_t> begin(blocks_.size() + 1);  // of each block's copies
  begin[0] = padded(static_cast<int64_t>(field_.size()));
  for_each_task(n_threads, blocks_.size(), [&](size_t b, int) {
    uint64_t size = 0;
    for (const uint32_t c : blocks_[b].columns)
      if (is_copied(c)) size += field_.width(c);
    begin[b + 1] = padded(static_cast<int64_t>(size));
  });
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  sums_size_ = begin.back();
  if (sums_size_ > 0xfffffff0ull)
    throw std::length_error("the gradients of all blocks need more than 2^32 places");
  copies_.resize(copies_ptr_.back() + kCopiesAhead);
  std::fill(copies_.end() - kCopiesAhead, copies_.end(), 0);  // what is fetched ahead of the last
  std::vector<Copied> copied(n_threads);
  for_each_task(n_threads, blocks_.size(),
                [&](size_t b, int thread) { place_copies(blocks_[b], begin[b], copied[thread]); });
}

// Until now block.to are numbers of the copies among those of a column; from now on, where its sums are.
void BlockLayout::place_copies(Block& block, uint64_t at, Copied& copied) {
  copied.set.resize(field_.n_columns() / 64 + 1, 0), copied.at.resize(field_.n_columns());
  for (const uint32_t c : block.columns)
    if (is_copied(c)) copied.set[c / 64] |= uint64_t{1} << (c % 64);
  for (size_t k = 0; k < copied.set.size(); ++k)
    for (uint64_t& bits = copied.set[k]; bits != 0; bits &= bits - 1) {
      const uint32_t c = static_cast<uint32_t>(64 * k) + static_cast<uint32_t>(std::countr_zero(bits));
      copied.at[c] = static_cast<uint32_t>(at), at += field_.width(c);
    }
  for (size_t j = 0; j < block.to.size(); ++j) {
    const uint32_t c = block.columns[j];
    if (is_copied(c))
      block.to[j] = copies_[copies_ptr_[c] + block.to[j]] = copied.at[c];
    else
      block.to[j] = field_.at(c);
  }
  std::vector<uint32_t>().swap(block.columns);
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

void BlockLayout::gather(const Block& block, const double* node, const double* entries, double* sums) const {
  const BlockColumns view{field_.P(),
                          field_.unit(),
                          field_.n_classes(),
                          field_.widths(),
                          block.n_columns,
                          block.n_scalars,
                          block.to.data(),
                          block.lengths.data(),
                          block.n_labels.data(),
                          block.labels.data(),
                          block.list.data(),
                          block.wide_list.data(),
                          block.wide_tokens(),
                          valued_,
                          block.list_values.data()};
  FIELDCRAFT_DISPATCH(gather_block, view, node, sums);
  const uint32_t* list = block.entry_list.data();
  for (size_t k = block.to.size() - block.n_edges; k < block.to.size(); ++k) {
    double* out = sums + block.to[k];
    const size_t edge = k - (block.to.size() - block.n_edges);
    const uint32_t n = block.n_pairs[edge];
    std::fill_n(out, n, 0.0);
    for (uint32_t j = 0; j < block.length[edge]; ++j, ++list)
      for (uint32_t f = 0; f < n; ++f) out[f] += entries[*list + f];
  }
}

void BlockLayout::merge(size_t piece, double* sums) const {
  const uint32_t end = field_.piece(piece + 1);
  for (uint32_t c = field_.piece(piece), stop; c < end; c = stop) {
    const int kind = field_.class_of(c);
    stop = std::min(end, field_.end_of(kind));
    const int width = kind < field_.n_classes() ? field_.widths()[kind] : 0;
    const ColumnCopies copies{copies_ptr_.data(), copies_.data(), field_.all_at(), width, field_.unit()};
    FIELDCRAFT_DISPATCH(add_copies, copies, c, stop, sums);
  }
}

size_t BlockLayout::bytes() const {
  size_t total = field_.bytes() + 4 * (copies_ptr_.size() + copies_.size());
  for (const Block& block : blocks_) total += block.bytes();
  return total;
}

}  // namespace fieldcraft
