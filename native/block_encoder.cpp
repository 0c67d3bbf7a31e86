#include "block_encoder.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>

namespace fieldcraft {
namespace {

// Attributes between a prefetch and its use: of where an attribute is, then of its column's number.
constexpr int64_t kAhead = 48, kSoon = 24;

// n zeros in those of the vectors that are in use.
template <class... Vectors>
void zero_after(int64_t at, int64_t n, Vectors&... vectors) {
  const auto zero = [&](auto& vector) {
    if (!vector.empty()) std::fill_n(vector.begin() + at, n, 0);
  };
  (zero(vectors), ...);
}

}  // namespace

void BlockEncoder::encode(Block& block) {
  count(block);
  sort_tokens(block);
  fill_scores(block);
  sort_columns(block);
  fill_lists(block);
  shorten_lengths(block);
  for (const Touched& c : touched_) n_[c.column] = 0;
  n_.back() = 1;
}

// The block's occurrences, how often each column occurs, and how many of each class a token has.
void BlockEncoder::count(const Block& block) {
  const uint32_t C = n_classes_;
  counts_.assign(static_cast<size_t>(block.n_tokens) * (C + 1), 0);
  size_t most = 0;
  for (const BlockSequence& s : block.sequences) {
    const int64_t* const first = tokens_.token_ptr + tokens_.offsets[s.number];
    most += static_cast<size_t>(first[s.T] - first[0]);
  }
  places_.resize(most), values_.resize(valued_ ? most : 0);
  const EdgeEntries& edges = field_.edges();
  const uint32_t none = field_.n_columns();
  touched_.resize(std::min<size_t>(edges.empty() ? most : 2 * most, none) + 1), n_touched_ = 0;
  begin_.assign(1, 0);
  size_t n = 0;
  each_token(block, [&](int64_t token, int64_t t) {
    uint32_t* counts = &counts_[t * (C + 1)];
    const int64_t end = tokens_.token_ptr[token + 1];
    for (int64_t i = tokens_.token_ptr[token]; i < end; ++i) {
      if (i + kAhead < n_occurrences_) {
        field_.prefetch(tokens_.attributes[i + kAhead]);
        const uint32_t soon = field_.place(tokens_.attributes[i + kSoon]).column;
        __builtin_prefetch(&n_[std::min(soon, none)], 1);
      }
      const Place place = field_.place(tokens_.attributes[i]);
      if (valued_) values_[n] = tokens_.values[i];
      places_[n] = place;
      n += place.column != FieldLayout::kNoColumn;
      touch(std::min(place.column, none), place.kind);
      counts[place.kind] += field_.n_of(place);
    }
    begin_.push_back(n);
  });
  if (!edges.empty())
    each_token(block, [&](int64_t token, int64_t) {
      for (int64_t i = tokens_.token_ptr[token]; i < tokens_.token_ptr[token + 1]; ++i)
        if (const int32_t e = edges.features.id[tokens_.attributes[i]]; e >= 0)
          touch(field_.first_edge() + e, C + 1);
    });
  touched_.resize(n_touched_);
}

// By counts, and within one count in the order of the tokens: a byte after the other, of those that differ.
void BlockEncoder::sort_keys() {
  constexpr size_t kBytes = 256;
  uint64_t differ = 0;
  for (const Key& key : keys_) differ |= key.counts ^ keys_[0].counts;
  sorted_keys_.resize(keys_.size());
  for (int shift = 0; shift < 64; shift += 8) {
    if ((differ >> shift) % kBytes == 0) continue;
    uint32_t next[kBytes + 1] = {};
    for (const Key& key : keys_) ++next[(key.counts >> shift) % kBytes + 1];
    std::partial_sum(next, next + kBytes, next);
    for (const Key& key : keys_) sorted_keys_[next[(key.counts >> shift) % kBytes]++] = key;
    keys_.swap(sorted_keys_);
  }
}

// Tokens with as many rows of each class follow one another.
void BlockEncoder::sort_tokens(Block& block) {
  const int C = field_.n_classes();
  const int bits = 64 / (C + 1) > 8 ? 8 : 64 / (C + 1);
  keys_.resize(block.n_tokens);
  for (int64_t t = 0; t < block.n_tokens; ++t) {
    uint64_t key = 0;
    for (int c = 0; c <= C; ++c)
      key = key << bits | std::min<uint64_t>(counts_[t * (C + 1) + c], (1u << bits) - 1);
    keys_[t] = {key, static_cast<uint32_t>(t)};
  }
  sort_keys();
  block.order.resize(block.n_tokens);
  const uint32_t* last = nullptr;  // counts of the run
  uint32_t n = 0;
  for (int64_t k = 0; k < block.n_tokens; ++k, ++n) {
    const uint32_t t = block.order[k] = keys_[k].t;
    const uint32_t* counts = &counts_[static_cast<size_t>(t) * (C + 1)];
    if (n > 0 && !std::equal(counts, counts + C + 1, last)) add_run(block, n, last, C + 1), n = 0;
    last = counts;
  }
  if (n > 0) add_run(block, n, last, C + 1);
  block.runs.shrink_to_fit();
}

// In bytes if they are enough, see BlockScores.
void BlockEncoder::add_run(Block& block, uint32_t n, const uint32_t* counts, int n_counts) {
  constexpr uint32_t kMost = 255;
  const auto add = [&](uint32_t number, size_t n_bytes) {
    uint8_t bytes[4];
    std::memcpy(bytes, &number, 4);
    if (n_bytes == 1) bytes[0] = static_cast<uint8_t>(number);
    block.runs.insert(block.runs.end(), bytes, bytes + n_bytes);
  };
  const bool narrow = std::all_of(counts, counts + n_counts, [](uint32_t k) { return k <= kMost; });
  if (!narrow) add(0, 1);
  for (uint32_t now = 0; n > 0; n -= now) {
    add(now = narrow ? std::min(n, kMost) : n, narrow ? 1 : 4);
    for (int k = 0; k < n_counts; ++k) add(counts[k], narrow ? 1 : 4);
  }
}

void BlockEncoder::fill_scores(Block& block) {
  const int C = field_.n_classes();
  std::vector<int64_t> total(C + 1, 0);
  for (auto counts = counts_.begin(); counts != counts_.end(); counts += C + 1)
    for (int c = 0; c <= C; ++c) total[c] += counts[c];
  block.rows_at.assign(C, 0);
  int64_t at = 0;
  for (int c = 0; c < C; ++c) block.rows_at[c] = at, at += total[c] + kRowsAhead;
  const int64_t words = wide_ ? 2 : 1;
  wide_rows_ ? block.wide_rows.resize(at) : block.rows.resize(at);
  block.scalars.resize((total[C] + kRowsAhead) * words);
  if (valued_) block.row_values.resize(at), block.scalar_values.resize(total[C] + kRowsAhead);
  for (int c = 0; c < C; ++c)  // what is read ahead of the last row
    zero_after(block.rows_at[c] + total[c], kRowsAhead, block.rows, block.wide_rows, block.row_values);
  zero_after(total[C] * words, kRowsAhead * words, block.scalars);
  zero_after(total[C], kRowsAhead, block.scalar_values);
  std::vector<int64_t> next = block.rows_at;
  int64_t next_scalar = 0;
  for (const uint32_t t : block.order) {
    token_scalars_.clear();
    each(t, [&](const Place& place, double value) {
      if (is_row(place)) {
        if (valued_) block.row_values[next[place.kind]] = value;
        const uint32_t row = place.column - field_.first_of(static_cast<int>(place.kind));
        if (wide_rows_)
          block.wide_rows[next[place.kind]++] = row;
        else
          block.rows[next[place.kind]++] = static_cast<uint16_t>(row);
      } else if (place.few == 1) {
        token_scalars_.push_back({place.label, place.at - field_.scalars_at(), value});
      } else {
        for (uint32_t slot = place.at; slot < place.at + field_.n_of(place); ++slot)
          token_scalars_.push_back({field_.label_at(slot), slot - field_.scalars_at(), value});
      }
    });
    add_scalars(block, next_scalar);
  }
}

// Those of one label follow one another.
void BlockEncoder::add_scalars(Block& block, int64_t& at) {
  constexpr size_t kFew = 32;  // sooner sorted than memory for a merge is found
  const auto by_label = [](const Scalar& a, const Scalar& b) { return a.label < b.label; };
  if (token_scalars_.size() > kFew) {
    std::stable_sort(token_scalars_.begin(), token_scalars_.end(), by_label);
  } else {
    for (auto s = token_scalars_.begin(); s != token_scalars_.end(); ++s)
      std::rotate(std::upper_bound(token_scalars_.begin(), s, *s, by_label), s, s + 1);
  }
  for (const Scalar& s : token_scalars_) {
    if (wide_)
      Entry<true>::set(block.scalars.data(), at, s.number, s.label);
    else
      Entry<false>::set(block.scalars.data(), at, s.number, s.label);
    if (valued_) block.scalar_values[at] = s.value;
    ++at;
  }
}

// By class, and within a class by falling length; n_ becomes where a column's list begins.
void BlockEncoder::sort_columns(Block& block) {
  constexpr uint32_t kLengths = 64;
  const int C = field_.n_classes(), kinds = C + 2;
  const auto bucket = [&](const Touched& c) {
    return c.kind * kLengths + kLengths - std::min(c.n, kLengths);
  };
  std::vector<uint32_t> begin(kinds * kLengths + 1, 0);
  for (Touched& c : touched_) c.n = n_[c.column], ++begin[bucket(c) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  for (int kind = 0; kind < kinds; ++kind) block.begin[kind].column = begin[kind * kLengths];
  block.n_nodes = block.begin[C + 1].column;
  block.n_edges = begin.back() - block.n_nodes;
  sorted_.resize(touched_.size());
  for (const Touched& c : touched_) sorted_[begin[bucket(c)]++] = c;
  block.columns.resize(sorted_.size()), block.length.resize(sorted_.size());
  uint32_t at = 0;
  for (size_t k = 0; k < sorted_.size(); ++k) {
    if (k + static_cast<size_t>(kAhead) < sorted_.size()) {
      const uint32_t soon = sorted_[k + static_cast<size_t>(kAhead)].column;
      __builtin_prefetch(&n_[soon], 1);
      if (soon >= field_.first_of(C)) __builtin_prefetch(field_.all_at() + soon);
    }
    if (k == block.n_nodes) at = 0;  // edges have a list of their own
    const uint32_t c = block.columns[k] = sorted_[k].column;
    block.length[k] = sorted_[k].n;
    n_[c] = at, at += sorted_[k].n;
    if (c >= field_.first_edge()) block.n_pairs.push_back(n_scalars(c));
    if (c >= field_.first_of(C) && c < field_.first_edge()) {
      block.n_labels.push_back(static_cast<uint16_t>(n_scalars(c)));
      for (uint32_t slot = field_.at(c); slot < field_.at(c + 1); ++slot)
        block.labels.push_back(field_.label_at(slot));
    }
  }
  block.n_labels.shrink_to_fit(), block.labels.shrink_to_fit();
}

void BlockEncoder::fill_lists(Block& block) {
  const bool wide = block.wide_tokens();
  const auto first_edge = block.length.begin() + block.n_nodes;
  const uint64_t n = std::accumulate(block.length.begin(), first_edge, uint64_t{0});
  if (n > 0xffffffffull) throw std::length_error("a sequence has more than 2^32 attributes");
  wide ? block.wide_list.resize(n) : block.list.resize(n);
  if (valued_) block.list_values.resize(n);
  for (int64_t t = 0; t < block.n_tokens; ++t)
    each(t, [&](const Place& place, double value) {
      const uint32_t at = n_[place.column]++;
      if (wide)
        block.wide_list[at] = static_cast<uint32_t>(t);
      else
        block.list[at] = static_cast<uint16_t>(t);
      if (valued_) block.list_values[at] = value;
    });
  if (block.n_edges > 0) fill_entries(block);
}

void BlockEncoder::fill_entries(Block& block) {
  const EdgeEntries& edges = field_.edges();
  block.entry_list.resize(
      std::accumulate(block.length.begin() + block.n_nodes, block.length.end(), size_t{0}));
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

// How many columns of a kind follow one another with one length; those of edges stay as they are.
void BlockEncoder::shorten_lengths(Block& block) {
  const int C = field_.n_classes();
  auto next = block.length.begin();
  uint32_t at = 0;  // in the lists of tokens
  for (int kind = 0; kind <= C; ++kind) {
    block.begin[kind].length = static_cast<uint32_t>(block.lengths.size()), block.begin[kind].list = at;
    for (const auto end = block.length.begin() + block.begin[kind + 1].column; next < end;) {
      const auto stop = std::find_if(next, end, [n = *next](uint32_t other) { return other != n; });
      const uint32_t many = static_cast<uint32_t>(stop - next);
      block.lengths.push_back(many), block.lengths.push_back(*next);
      at += many * *next;
      next = stop;
    }
  }
  block.lengths.shrink_to_fit();
  block.length = RawVector<uint32_t>(next, block.length.end());
}

}  // namespace fieldcraft
