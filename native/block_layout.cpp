#include "block_layout.hpp"

#include <algorithm>
#include <numeric>
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
                         bool keep_order, int n_threads)
    : field_(features, n_states, tokens, keep_order),
      offsets_(tokens.offsets, tokens.offsets + tokens.n_sequences + 1),
      valued_(tokens.values != nullptr),
      wide_(needs_wide_entries(static_cast<int64_t>(field_.weights_size()), n_states)),
      wide_rows_(wide_) {
  for (int c = 0; c < field_.n_classes(); ++c)
    wide_rows_ = wide_rows_ || field_.first_of(c + 1) - field_.first_of(c) > 65536;
  cut(tokens);
  const int lanes =
      static_cast<int>(std::min<size_t>(std::max(n_threads, 1), std::max<size_t>(blocks_.size(), 1)));
  std::vector<BlockEncoder> encoders;
  encoders.reserve(lanes);
  for (int k = 0; k < lanes; ++k) encoders.emplace_back(field_, tokens, wide_, wide_rows_);
  for_each_task(lanes, blocks_.size(), [&](size_t b, int thread) { encoders[thread].encode(blocks_[b]); });
  field_.forget();
  place_sums();
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
void BlockLayout::place_sums() {
  const uint32_t n_columns = field_.n_columns();
  copies_ptr_.assign(n_columns + 1, 0);
  for (const Block& block : blocks_)
    for (const uint32_t c : block.columns) ++copies_ptr_[c + 1];
  for (uint32_t& n : copies_ptr_)
    if (n == 1) n = 0;
  std::partial_sum(copies_ptr_.begin(), copies_ptr_.end(), copies_ptr_.begin());
  copies_.resize(copies_ptr_.back());
  std::vector<uint64_t> begin(1, padded(static_cast<int64_t>(field_.size())));  // of each block's copies
  std::vector<uint32_t> next(copies_ptr_.begin(), copies_ptr_.end() - 1), owner(copies_.size());
  for (size_t b = 0; b < blocks_.size(); ++b) {
    uint64_t size = 0;
    for (const uint32_t c : blocks_[b].columns)
      if (copies_ptr_[c] < copies_ptr_[c + 1])
        owner[next[c]++] = static_cast<uint32_t>(b), size += field_.width(c);
    begin.push_back(begin.back() + padded(static_cast<int64_t>(size)));
  }
  sums_size_ = begin.back();
  if (sums_size_ > 0xfffffff0ull)
    throw std::length_error("the gradients of all blocks need more than 2^32 places");
  for (uint32_t c = 0; c < n_columns; ++c)
    for (uint32_t k = copies_ptr_[c]; k < copies_ptr_[c + 1]; ++k) {
      copies_[k] = static_cast<uint32_t>(begin[owner[k]]);
      begin[owner[k]] += field_.width(c);
    }
  next.assign(copies_ptr_.begin(), copies_ptr_.end() - 1);
  for (Block& block : blocks_) {
    for (const uint32_t c : block.columns)
      block.to.push_back(copies_ptr_[c] < copies_ptr_[c + 1] ? copies_[next[c]++] : field_.at(c));
    std::vector<uint32_t>().swap(block.columns);
  }
  copies_.insert(copies_.end(), kCopiesAhead, 0);  // what is fetched ahead of the last
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
