// The parts of an extraction that several threads do block by block: joining blocks that were read, and
// frozen encoding.
#include <algorithm>
#include <numeric>

#include "extraction.hpp"
#include "parallel.hpp"

namespace fieldcraft {

// Columns are merged one by one, blocks placed one by one, each by any thread.
void Extractor::join(Batch& batch, std::vector<std::vector<ColumnBlock>>& blocks, bool grow, int n_threads) {
  constexpr size_t kFew = 64;  // blocks: to start threads takes longer than to copy their ids
  if (blocks.size() < kFew) n_threads = std::min(n_threads, Crew::at_hand());
  std::vector<size_t> known;
  for (const Interner& column : columns_) known.push_back(column.size());
  for_each_task(n_threads, columns_.size(), [&](size_t c, int) {
    Interner& table = grow ? columns_[c] : batch.columns[c].fresh;
    size_t tokens = batch.columns[c].ids.size();
    for (std::vector<ColumnBlock>& block : blocks) {
      block[c].merged = table.merge(block[c].fresh);
      block[c].first = tokens;
      tokens += block[c].ids.size();
    }
    batch.columns[c].ids.resize(tokens);
  });
  for_each_task(n_threads, blocks.size(), [&](size_t b, int) {
    for (size_t c = 0; c < columns_.size(); ++c) {
      const ColumnBlock& block = blocks[b][c];
      const size_t first_new = known[c];
      const int32_t shift = grow ? 0 : static_cast<int32_t>(first_new);
      int32_t* out = batch.columns[c].ids.data() + block.first;
      for (const int32_t id : block.ids)
        *out++ = static_cast<size_t>(id) < first_new
                     ? id
                     : shift + block.merged[static_cast<size_t>(id) - first_new];
    }
  });
}

struct Extractor::Rows {
  size_t stream, from, to;   // rows of the stream's map
  std::vector<size_t> rest;  // those that are left to Python
};

void Extractor::derive_rows(Batch& batch, Rows& rows, bool grow) {
  const StreamPlan& s = plan_.streams[rows.stream];
  std::string value;
  for (size_t row = rows.from; row < rows.to; ++row) {
    const std::string_view text = string_of(batch, rows.stream, row);
    if (!s.native || !is_ascii(text))
      rows.rest.push_back(row);
    else if (apply_steps(s.steps, text, value))
      settle(batch, rows.stream, row, value, grow);
  }
}

// A growing stream numbers its values in their order, so one thread does all of it; others go in pieces.
std::vector<Pending> Extractor::derive(Batch& batch, bool grow, int n_threads) {
  constexpr size_t kPiece = 256, kFew = 2048;  // rows
  std::vector<Rows> pieces;
  size_t total = 0;
  for (size_t i = 0; i < plan_.streams.size(); ++i) {
    if (!derived(i)) continue;
    const size_t c = static_cast<size_t>(plan_.streams[i].column);
    const size_t from = maps_[i].size(), to = columns_[c].size() + batch.columns[c].fresh.size();
    batch.fresh_maps[i].assign(to - from, -1);
    const size_t piece = grow ? std::max<size_t>(to - from, 1) : kPiece;
    for (size_t row = from; row < to; row += piece) pieces.push_back({i, row, std::min(row + piece, to), {}});
    total += to - from;
  }
  for_each_task(total < kFew ? 1 : n_threads, pieces.size(),
                [&](size_t p, int) { derive_rows(batch, pieces[p], grow); });
  std::vector<Pending> pending;
  for (Rows& rows : pieces) {
    if (rows.rest.empty()) continue;
    if (pending.empty() || pending.back().stream != rows.stream) pending.push_back({rows.stream, {}});
    std::vector<size_t>& all = pending.back().rows;
    all.insert(all.end(), rows.rest.begin(), rows.rest.end());
  }
  return pending;
}

// Blocks of sequences are encoded by whoever comes first, each where it would begin if no attribute were
// unknown; where some are, all move up.
Incidences Extractor::encode(const Batch& batch, int n_threads) const {
  constexpr size_t kBlock = 64;  // sequences
  const size_t n = batch.offsets.size() - 1, tokens = static_cast<size_t>(batch.offsets.back());
  const size_t per_block = n_threads <= 1 ? std::max<size_t>(n, 1) : kBlock;
  const size_t n_blocks = (n + per_block - 1) / per_block;
  Incidences whole;
  whole.token_ptr.resize(tokens + 1);
  whole.token_ptr[0] = 0;
  whole.attributes.resize(tokens * tables_.size());  // at most; what nobody writes takes no memory
  const auto first_token = [&](size_t b) {
    return static_cast<size_t>(batch.offsets[std::min(n, b * per_block)]);
  };
  std::vector<size_t> first(n_blocks + 1, 0);  // attribute of each
  for_each_task(n_threads, n_blocks, [&](size_t b, int) {
    const size_t at = first_token(b);
    first[b + 1] =
        encode_range(batch, b * per_block, std::min(n, (b + 1) * per_block),
                     whole.attributes.data() + at * tables_.size(), whole.token_ptr.data() + at + 1);
  });
  std::partial_sum(first.begin(), first.end(), first.begin());
  const bool in_place = n_blocks <= 1 || first.back() == tokens * tables_.size();
  RawVector<int32_t> moved;
  if (!in_place) moved.resize(first.back());
  for_each_task(n_threads, n_blocks, [&](size_t b, int) {
    const size_t at = first_token(b);
    for (size_t t = at + 1; t <= first_token(b + 1); ++t)
      whole.token_ptr[t] += static_cast<int64_t>(first[b]);
    if (!in_place)
      std::copy_n(whole.attributes.data() + at * tables_.size(), first[b + 1] - first[b],
                  moved.data() + first[b]);
  });
  if (in_place)
    whole.attributes.resize(first.back());
  else
    whole.attributes.swap(moved);
  return whole;
}

}  // namespace fieldcraft
