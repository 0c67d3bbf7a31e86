#include "block_layout.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "parallel.hpp"

namespace fieldcraft {
namespace {

// Blocks of three sizes, the large ones first, so that threads end together: of 16 blocks each, these parts
// of the corpus. No block is larger than suits a cache, or smaller than is worth a task.
constexpr double kParts[] = {0.62, 0.28, 0.10};
constexpr int64_t kBlocksPerPart = 16;
constexpr int64_t kBlockBytes = 2 << 20, kLeastTokens = 512, kMostTokens = 32768;
constexpr int64_t kPairBytes = 64 << 20;  // of all blocks' sums of label pairs
constexpr int64_t kNarrowTokens = 65536;
constexpr int64_t kAhead = 16;  // attributes between a prefetch and its use

}  // namespace

size_t Block::bytes() const {
  return 4 * (order.size() + runs.size() + rows.size() + scalars.size() + columns.size() + to.size() +
              length.size() + wide_list.size() + n_pairs.size() + entry_list.size()) +
         2 * (n_labels.size() + labels.size() + list.size()) +
         8 * (row_values.size() + scalar_values.size() + list_values.size()) +
         sizeof(BlockSequence) * sequences.size();
}

// One thread's memory for the blocks that it encodes.
class BlockLayout::Encoder {
 public:
  Encoder(const BlockLayout& layout, const EncodedTokens& tokens)
      : of_(layout), field_(layout.field_), tokens_(tokens), n_(field_.n_columns(), 0) {
    n_occurrences_ = tokens.token_ptr[tokens.offsets[tokens.n_sequences]];
  }

  void encode(Block& block) {
    count(block);
    sort_tokens(block);
    fill_scores(block);
    sort_columns(block);
    fill_lists(block);
    for (const Touched& c : touched_) n_[c.column] = 0;
  }

 private:
  using Place = FieldLayout::Place;
  struct Occurrence {
    Place place;
    int64_t i;  // in the corpus
  };

  // visit(token of the corpus, token of the block), in the block's order
  template <class Visit>
  void each_token(const Block& block, const Visit& visit) const {
    for (const BlockSequence& s : block.sequences)
      for (int64_t t = 0; t < s.T; ++t) visit(of_.first(s.number) + t, s.first + t);
  }
  // visit(place, i) for the occurrences of a token of the block
  template <class Visit>
  void each(int64_t t, const Visit& visit) const {
    for (size_t k = begin_[t]; k < begin_[t + 1]; ++k) visit(occurrences_[k].place, occurrences_[k].i);
  }
  double value(int64_t i) const { return of_.valued_ ? tokens_.values[i] : 1.0; }
  uint32_t n_scalars(uint32_t column) const { return field_.at(column + 1) - field_.at(column); }
  bool is_row(const Place& place) const { return place.kind < n_classes_; }
  void touch(uint32_t column, uint32_t kind) {
    if (n_[column]++ == 0) touched_.push_back({column, kind});
  }

  // The block's occurrences, how often each column occurs, and how many of each class a token has.
  void count(const Block& block) {
    const uint32_t C = n_classes_;
    counts_.assign(static_cast<size_t>(block.n_tokens) * (C + 1), 0);
    occurrences_.clear(), touched_.clear(), begin_.assign(1, 0);
    each_token(block, [&](int64_t token, int64_t t) {
      uint32_t* counts = &counts_[t * (C + 1)];
      const int64_t end = tokens_.token_ptr[token + 1];
      for (int64_t i = tokens_.token_ptr[token]; i < end; ++i) {
        if (i + kAhead < n_occurrences_) field_.prefetch(tokens_.attributes[i + kAhead]);
        const Place& place = field_.place(tokens_.attributes[i]);
        if (place.column == FieldLayout::kNoColumn) continue;
        occurrences_.push_back({place, i});
        touch(place.column, place.kind);
        counts[place.kind] += place.n;
      }
      begin_.push_back(occurrences_.size());
    });
    const EdgeEntries& edges = field_.edges();
    if (edges.empty()) return;
    each_token(block, [&](int64_t token, int64_t) {
      for (int64_t i = tokens_.token_ptr[token]; i < tokens_.token_ptr[token + 1]; ++i)
        if (const int32_t e = edges.features.id[tokens_.attributes[i]]; e >= 0)
          touch(field_.first_edge() + e, C + 1);
    });
  }

  // Tokens with as many rows of each class follow one another.
  void sort_tokens(Block& block) {
    const int C = field_.n_classes();
    const int bits = 64 / (C + 1) > 8 ? 8 : 64 / (C + 1);
    keys_.resize(block.n_tokens);
    for (int64_t t = 0; t < block.n_tokens; ++t) {
      uint64_t key = 0;
      for (int c = 0; c <= C; ++c)
        key = key << bits | std::min<uint64_t>(counts_[t * (C + 1) + c], (1u << bits) - 1);
      keys_[t] = {key, static_cast<uint32_t>(t)};
    }
    std::sort(keys_.begin(), keys_.end());
    block.order.resize(block.n_tokens);
    for (int64_t k = 0; k < block.n_tokens; ++k) {
      const uint32_t t = block.order[k] = keys_[k].second;
      const uint32_t* counts = &counts_[static_cast<size_t>(t) * (C + 1)];
      if (k == 0 || !std::equal(counts, counts + C + 1, block.runs.end() - (C + 1))) {
        block.runs.push_back(0);
        block.runs.insert(block.runs.end(), counts, counts + C + 1);
      }
      ++*(block.runs.end() - (C + 2));
    }
  }

  void fill_scores(Block& block) {
    const int C = field_.n_classes();
    std::vector<int64_t> total(C + 1, 0);
    for (size_t k = 0; k < counts_.size(); ++k) total[k % (C + 1)] += counts_[k];
    block.rows_at.assign(C, 0);
    int64_t at = 0;
    for (int c = 0; c < C; ++c) block.rows_at[c] = at, at += total[c] + kRowsAhead;
    block.rows.assign(at, 0);
    const int64_t words = of_.wide_ ? 2 : 1;
    block.scalars.assign((total[C] + kRowsAhead) * words, 0);
    if (of_.valued_) block.row_values.assign(at, 0.0), block.scalar_values.assign(total[C] + kRowsAhead, 0.0);
    std::vector<int64_t> next = block.rows_at;
    int64_t next_scalar = 0;
    for (const uint32_t t : block.order) {
      token_scalars_.clear();
      each(t, [&](const Place& place, int64_t i) {
        if (is_row(place)) {
          if (of_.valued_) block.row_values[next[place.kind]] = tokens_.values[i];
          block.rows[next[place.kind]++] = place.at / 4;
        } else if (place.n == 1) {
          token_scalars_.push_back({place.label, place.at - field_.scalars_at(), value(i)});
        } else {
          for (uint32_t slot = place.at; slot < place.at + place.n; ++slot)
            token_scalars_.push_back({field_.label_at(slot), slot - field_.scalars_at(), value(i)});
        }
      });
      add_scalars(block, next_scalar);
    }
  }

  // Those of one label follow one another.
  void add_scalars(Block& block, int64_t& at) {
    const auto by_label = [](const Scalar& a, const Scalar& b) { return a.label < b.label; };
    if (!std::is_sorted(token_scalars_.begin(), token_scalars_.end(), by_label))
      std::stable_sort(token_scalars_.begin(), token_scalars_.end(), by_label);
    for (const Scalar& s : token_scalars_) {
      if (of_.wide_)
        Entry<true>::set(block.scalars.data(), at, s.number, s.label);
      else
        Entry<false>::set(block.scalars.data(), at, s.number, s.label);
      if (of_.valued_) block.scalar_values[at] = s.value;
      ++at;
    }
  }

  // By class, and within a class by falling length; n_ becomes where a column's list begins.
  void sort_columns(Block& block) {
    constexpr uint32_t kLengths = 64;
    const int C = field_.n_classes(), kinds = C + 2;
    const auto bucket = [&](const Touched& c) {
      return c.kind * kLengths + kLengths - std::min(n_[c.column], kLengths);
    };
    std::vector<uint32_t> begin(kinds * kLengths + 1, 0);
    for (const Touched& c : touched_) ++begin[bucket(c) + 1];
    for (int kind = 0; kind < kinds; ++kind) {
      const auto of_kind = begin.begin() + kind * kLengths + 1;
      const uint32_t n = std::accumulate(of_kind, of_kind + kLengths, 0u);
      (kind < C ? block.n_columns[kind] : kind == C ? block.n_scalars : block.n_edges) = n;
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    block.columns.resize(touched_.size());
    for (const Touched& c : touched_) block.columns[begin[bucket(c)]++] = c.column;
    block.length.reserve(touched_.size());
    uint32_t at = 0;
    for (const uint32_t c : block.columns) {
      if (block.length.size() == n_nodes(block)) at = 0;  // edges have a list of their own
      const uint32_t n = n_[c];
      block.length.push_back(n);
      n_[c] = at, at += n;
      if (c >= field_.first_edge()) block.n_pairs.push_back(n_scalars(c));
      if (c >= field_.first_of(C) && c < field_.first_edge()) {
        block.n_labels.push_back(static_cast<uint16_t>(n_scalars(c)));
        for (uint32_t slot = field_.at(c); slot < field_.at(c + 1); ++slot)
          block.labels.push_back(field_.label_at(slot));
      }
    }
  }
  static size_t n_nodes(const Block& block) { return block.columns.size() - block.n_edges; }

  void fill_lists(Block& block) {
    const bool wide = block.n_tokens > kNarrowTokens;
    const auto first_edge = block.length.begin() + static_cast<int64_t>(n_nodes(block));
    const uint64_t n = std::accumulate(block.length.begin(), first_edge, uint64_t{0});
    if (n > 0xffffffffull) throw std::length_error("a sequence has more than 2^32 attributes");
    wide ? block.wide_list.resize(n) : block.list.resize(n);
    if (of_.valued_) block.list_values.resize(n);
    for (int64_t t = 0; t < block.n_tokens; ++t)
      each(t, [&](const Place& place, int64_t i) {
        const uint32_t at = n_[place.column]++;
        if (wide)
          block.wide_list[at] = static_cast<uint32_t>(t);
        else
          block.list[at] = static_cast<uint16_t>(t);
        if (of_.valued_) block.list_values[at] = tokens_.values[i];
      });
    if (block.n_edges > 0) fill_entries(block);
  }

  void fill_entries(Block& block) {
    const EdgeEntries& edges = field_.edges();
    block.entry_list.resize(std::accumulate(block.length.begin() + static_cast<int64_t>(n_nodes(block)),
                                            block.length.end(), size_t{0}));
    uint32_t entry = 0;
    each_token(block, [&](int64_t token, int64_t) {
      for (int64_t i = tokens_.token_ptr[token]; i < tokens_.token_ptr[token + 1]; ++i) {
        const int32_t e = edges.features.id[tokens_.attributes[i]];
        if (e < 0) continue;
        block.entry_list[n_[field_.first_edge() + e]++] = entry;
        entry += static_cast<uint32_t>(edges.features.ptr[e + 1] - edges.features.ptr[e]);
      }
    });
  }

  struct Scalar {
    uint16_t label;
    uint32_t number;
    double value;
  };
  const BlockLayout& of_;
  const FieldLayout& field_;
  const EncodedTokens& tokens_;
  int64_t n_occurrences_;
  const uint32_t n_classes_ = static_cast<uint32_t>(field_.n_classes());
  std::vector<uint32_t> n_;  // [columns] occurrences in the block, then places in its lists
  struct Touched {
    uint32_t column, kind;
  };
  std::vector<Touched> touched_;
  std::vector<uint32_t> counts_;  // [tokens, classes and scalars]
  std::vector<Occurrence> occurrences_;
  std::vector<size_t> begin_;  // [tokens + 1] in them
  std::vector<std::pair<uint64_t, uint32_t>> keys_;
  std::vector<Scalar> token_scalars_;
};

BlockLayout::BlockLayout(const FeatureColumns& features, int n_states, const EncodedTokens& tokens,
                         bool keep_order, int n_threads)
    : field_(features, n_states, tokens, keep_order),
      offsets_(tokens.offsets, tokens.offsets + tokens.n_sequences + 1),
      valued_(tokens.values != nullptr),
      wide_(needs_wide_entries(static_cast<int64_t>(field_.weights_size()), n_states)) {
  cut(tokens);
  const int lanes =
      static_cast<int>(std::min<size_t>(std::max(n_threads, 1), std::max<size_t>(blocks_.size(), 1)));
  std::vector<Encoder> encoders;
  encoders.reserve(lanes);
  for (int k = 0; k < lanes; ++k) encoders.emplace_back(*this, tokens);
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
  view.wide = wide_, view.valued = valued_;
  for (int c = 0; c < view.n_classes; ++c) {
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
                          block.length.data(),
                          block.n_labels.data(),
                          block.labels.data(),
                          block.list.data(),
                          block.wide_list.data(),
                          block.n_tokens > kNarrowTokens,
                          valued_,
                          block.list_values.data()};
  FIELDCRAFT_DISPATCH(gather_block, view, node, sums);
  const uint32_t* list = block.entry_list.data();
  for (size_t k = block.to.size() - block.n_edges; k < block.to.size(); ++k) {
    double* out = sums + block.to[k];
    const uint32_t n = block.n_pairs[k - (block.to.size() - block.n_edges)];
    std::fill_n(out, n, 0.0);
    for (uint32_t j = 0; j < block.length[k]; ++j, ++list)
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
