#include "training_layout.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "attribute_tokens.hpp"
#include "feature_groups.hpp"
#include "parallel.hpp"

namespace fieldcraft {
namespace {

constexpr int kClasses = 16;
int row_class(uint32_t row) { return row & (kClasses - 1); }
int weight_class(uint32_t feature) { return (feature >> 3) & (kClasses - 1); }  // whole cache lines

constexpr int64_t kBlock = 4096;  // rows or tokens handed to a thread at a time
constexpr int64_t kAhead = 24;    // attributes between a prefetch and its use

// Calls work(first, last) for blocks of 0 .. n-1.
template <class Work>
void for_blocks(int n_threads, int64_t n, const Work& work) {
  for_each_task(n_threads, (n + kBlock - 1) / kBlock, [&](size_t block, int) {
    work(static_cast<int64_t>(block) * kBlock, std::min<int64_t>(n, (block + 1) * kBlock));
  });
}

template <class T>
void free_memory(std::vector<T>& v) {
  std::vector<T>().swap(v);
}

}  // namespace

TrainingLayout::TrainingLayout(const FeatureColumns& f, int n_states, const EncodedTokens& tokens,
                               int n_threads)
    : ScoringLayout(n_states, 0),
      n_threads_(std::clamp(n_threads, 1, kClasses)),
      n_features_(f.n_features),
      tokens_(tokens),
      offsets_(tokens.offsets, tokens.offsets + tokens.n_sequences + 1) {
  if (S_ > 65535) throw std::invalid_argument("more than 65535 states");
  if (f.n_features > 0xfffffff0ll) throw std::invalid_argument("more than 2^32 features");
  pair_feature_.assign(static_cast<size_t>(S_) * S_, kNoFeature);
  for (int64_t i = 0; i < f.n_features; ++i)
    if (f.attribute[i] < 0) {
      if (f.previous[i] < 0) throw std::invalid_argument("a feature needs an attribute or a previous label");
      pair_feature_[static_cast<size_t>(f.previous[i]) * S_ + f.label[i]] = static_cast<uint32_t>(i);
    }
  place_nodes(f, attribute_frequencies(tokens, f.n_attributes).data());
  edges_ = EdgeEntries(f, nullptr, P_, tokens, n_threads_);
  encode();
  free_memory(place_), free_memory(entry_feature_), free_memory(entry_label_);
  tokens_ = {};
  split_owners();
}

void TrainingLayout::place_nodes(const FeatureColumns& f, const int64_t* frequency) {
  const auto [ptr, ids] = node_features(f, n_threads_);
  std::vector<uint32_t> dense;  // attributes that get a row
  place_.resize(f.n_attributes);
  for (int64_t a = 0; a < f.n_attributes; ++a) {
    const int64_t n = ptr[a + 1] - ptr[a];
    if (n > sparse_limit(S_)) {
      dense.push_back(static_cast<uint32_t>(a));
      continue;
    }
    place_[a] = {static_cast<uint32_t>(entry_feature_.size()), static_cast<uint32_t>(n)};
    for (int64_t j = ptr[a]; j < ptr[a + 1]; ++j) {
      entry_feature_.push_back(ids[j]);
      entry_label_.push_back(static_cast<uint16_t>(f.label[ids[j]]));
    }
  }
  std::stable_sort(dense.begin(), dense.end(),
                   [&](uint32_t a, uint32_t b) { return frequency[a] > frequency[b]; });
  n_rows_ = static_cast<int64_t>(dense.size());
  row_ptr_.assign(1, 0);
  for (int64_t r = 0; r < n_rows_; ++r) {
    const uint32_t a = dense[r];
    place_[a] = {static_cast<uint32_t>(r), kDense};
    for (int64_t j = ptr[a]; j < ptr[a + 1]; ++j) {
      row_feature_.push_back(ids[j]);
      row_label_.push_back(static_cast<uint16_t>(f.label[ids[j]]));
    }
    row_ptr_.push_back(static_cast<int64_t>(row_feature_.size()));
  }
}

// -- encoding ----------------------------------------------------------------------------------------

void TrainingLayout::encode() {
  const int64_t n = n_tokens(), end_of_all = tokens_.token_ptr[n];
  if (end_of_all * sparse_limit(S_) > 0x7fffffff) count_entries_or_throw();
  rows_.valued = tokens_.values != nullptr, rows_.wide = needs_wide_entries(n_features_, S_);
  rows_.dense_ptr.assign(n + 1, 0), rows_.sparse_ptr.assign(n + 1, 0);
  for_blocks(n_threads_, n, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      uint32_t n_dense = 0, n_sparse = 0;
      for (int64_t i = tokens_.token_ptr[t]; i < tokens_.token_ptr[t + 1]; ++i) {
        if (i + kAhead < end_of_all) __builtin_prefetch(&place_[tokens_.attributes[i + kAhead]]);
        const Place& place = place_[tokens_.attributes[i]];
        if (place.n == kDense)
          ++n_dense;
        else
          n_sparse += place.n;
      }
      rows_.dense_ptr[t + 1] = n_dense, rows_.sparse_ptr[t + 1] = n_sparse;
    }
  });
  std::partial_sum(rows_.dense_ptr.begin(), rows_.dense_ptr.end(), rows_.dense_ptr.begin());
  std::partial_sum(rows_.sparse_ptr.begin(), rows_.sparse_ptr.end(), rows_.sparse_ptr.begin());
  rows_.dense.resize(rows_.dense_ptr[n]);
  rows_.sparse.resize(rows_.words(rows_.sparse_ptr[n]));
  if (rows_.valued)
    rows_.dense_values.resize(rows_.dense.size()), rows_.sparse_values.resize(rows_.sparse_ptr[n]);
  for_blocks(n_threads_, n, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) encode_token(t);
  });
}

// Offsets are 32 bits wide: four thousand million entries are the most that one problem can have.
void TrainingLayout::count_entries_or_throw() const {
  int64_t total = 0;
  for (int64_t i = 0; i < tokens_.token_ptr[n_tokens()]; ++i) {
    const Place& place = place_[tokens_.attributes[i]];
    total += place.n == kDense ? 1 : place.n;
  }
  if (total > 0xffffffffll)
    throw std::length_error("more than 2^32 attribute occurrences; train on fewer sequences");
}

// Distributes one token's entries over the classes: count, then place.
void TrainingLayout::encode_token(int64_t t) {
  int64_t dense_at[kClasses + 1] = {}, sparse_at[kClasses + 1] = {};
  const auto each = [&](const auto& on_row, const auto& on_entry) {
    for (int64_t i = tokens_.token_ptr[t]; i < tokens_.token_ptr[t + 1]; ++i) {
      const Place& place = place_[tokens_.attributes[i]];
      const double value = tokens_.values == nullptr ? 1.0 : tokens_.values[i];
      if (place.n == kDense)
        on_row(place.first, value);
      else
        for (uint32_t j = place.first; j < place.first + place.n; ++j) on_entry(j, value);
    }
  };
  each([&](uint32_t row, double) { ++dense_at[row_class(row) + 1]; },
       [&](uint32_t j, double) { ++sparse_at[weight_class(entry_feature_[j]) + 1]; });
  for (int c = 0; c < kClasses; ++c) dense_at[c + 1] += dense_at[c], sparse_at[c + 1] += sparse_at[c];
  const int64_t d0 = rows_.dense_ptr[t], s0 = rows_.sparse_ptr[t];
  each(
      [&](uint32_t row, double value) {
        const int64_t at = d0 + dense_at[row_class(row)]++;
        rows_.dense[at] = row;
        if (rows_.valued) rows_.dense_values[at] = value;
      },
      [&](uint32_t j, double value) {
        const int64_t at = s0 + sparse_at[weight_class(entry_feature_[j])]++;
        rows_.set(at, entry_feature_[j], entry_label_[j]);
        if (rows_.valued) rows_.sparse_values[at] = value;
      });
}

// Where each owner's classes begin within a token.
void TrainingLayout::split_owners() {
  if (n_threads_ == 1) return;
  const int n_cuts = n_threads_ - 1;
  splits_.resize(static_cast<size_t>(n_tokens()) * n_cuts * 2);
  for_blocks(n_threads_, n_tokens(), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      int64_t i = rows_.dense_ptr[t], j = rows_.sparse_ptr[t];
      for (int o = 1; o <= n_cuts; ++o) {
        const int border = kClasses * o / n_threads_;
        while (i < rows_.dense_ptr[t + 1] && row_class(rows_.dense[i]) < border) ++i;
        while (j < rows_.sparse_ptr[t + 1] && weight_class(rows_.feature(j)) < border) ++j;
        uint32_t* split = &splits_[(t * n_cuts + o - 1) * 2];
        split[0] = static_cast<uint32_t>(i - rows_.dense_ptr[t]);
        split[1] = static_cast<uint32_t>(j - rows_.sparse_ptr[t]);
      }
    }
  });
}

size_t TrainingLayout::bytes() const {
  return (rows_.dense.size() + rows_.sparse.size() + rows_.dense_ptr.size() * 2 + splits_.size()) * 4 +
         (edges_.ptr.size() + rows_.dense_values.size() + rows_.sparse_values.size()) * 8;
}

// -- weights -----------------------------------------------------------------------------------------

// visit(cell of the label pairs, feature)
template <class Visit>
void TrainingLayout::each_pair(const Visit& visit) const {
  for (int x = 0; x < S_; ++x)
    for (int y = 0; y < S_; ++y)
      if (const uint32_t f = pair_feature_[x * S_ + y]; f != kNoFeature) visit(x * P_ + y, f);
}

std::vector<uint32_t> TrainingLayout::pair_cells() const {
  std::vector<uint32_t> cells;
  each_pair([&](int64_t cell, uint32_t) { cells.push_back(static_cast<uint32_t>(cell)); });
  return cells;
}

void TrainingLayout::expand(const double* weights, double* dense) const {
  for_blocks(n_threads_, n_rows_, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      double* row = dense + r * P_;
      std::fill_n(row, P_, 0.0);
      for (int64_t j = row_ptr_[r]; j < row_ptr_[r + 1]; ++j) row[row_label_[j]] = weights[row_feature_[j]];
    }
  });
  double* pairs = dense + pairs_at();
  std::fill_n(pairs, n_pairs(), 0.0);
  each_pair([&](int64_t cell, uint32_t f) { pairs[cell] = weights[f]; });
}

void TrainingLayout::collect(const double* dense, double* weights) const {
  for_blocks(n_threads_, n_rows_, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      for (int64_t j = row_ptr_[r]; j < row_ptr_[r + 1]; ++j)
        weights[row_feature_[j]] = dense[r * P_ + row_label_[j]];
  });
  each_pair([&](int64_t cell, uint32_t f) { weights[f] = dense[pairs_at() + cell]; });
}

void TrainingLayout::spread(const double* values, double* field) const {
  expand(values, field);
  std::copy_n(values, n_features_, field + dense_size());
}

void TrainingLayout::gather(const double* field, double* values) const {
  std::copy_n(field + dense_size(), n_features_, values);
  collect(field, values);
}

// -- gradients ---------------------------------------------------------------------------------------

void TrainingLayout::count(const int32_t* gold, const double* weights, double* counts) const {
  constexpr int64_t kAhead = 32;  // entries between a prefetch and its use
  const TokenRows d = rows_.view();
  const int64_t last_dense = d.dense_ptr[n_tokens()];
  Buffer dense = Buffer::zeros(dense_size());
  std::fill_n(counts, n_features_, 0.0);
  const ObservedEdges observed = edges_.observed();
  for (int64_t i = 0; i < n_sequences(); ++i)
    for (int64_t token = first(i); token < first(i + 1); ++token) {
      const double weight = weights == nullptr ? 1.0 : weights[i];
      const int32_t y = gold[token];
      for (int64_t k = d.dense_ptr[token]; k < d.dense_ptr[token + 1]; ++k) {
        if (k + kAhead < last_dense)
          __builtin_prefetch(dense.data() + static_cast<size_t>(d.dense[k + kAhead]) * P_ + y, 1);
        dense[static_cast<size_t>(d.dense[k]) * P_ + y] += weight * (d.valued ? d.dense_values[k] : 1.0);
      }
      for (int64_t k = d.sparse_ptr[token]; k < d.sparse_ptr[token + 1]; ++k)
        if (static_cast<int32_t>(rows_.label(k)) == y)
          counts[rows_.feature(k)] += weight * (d.valued ? d.sparse_values[k] : 1.0);
      if (token == first(i)) continue;
      const int64_t pair = gold[token - 1] * P_ + y;
      dense[pairs_at() + pair] += weight;
      if (needs_tokens())
        observed.each_entry(token, [&](int64_t at, uint32_t f, double value) {
          if (at == pair) counts[f] += weight * value;
        });
    }
  collect(dense.data(), counts);
}

void TrainingLayout::apply(int64_t i, const double* change, const Factors& factors, int owner, double* dense,
                           double* each) const {
  const bool all = owner == kAllOwners;
  FIELDCRAFT_DISPATCH(apply_tokens, rows_.view(), all ? nullptr : splits_.data(), all ? 1 : n_threads_,
                      all ? 0 : owner, first(i), first(i + 1), P_, change, factors, dense, each);
}

void TrainingLayout::collect(int64_t i, const SequenceParts& parts, bool all, SparseGradient& out) const {
  const TokenRows d = rows_.view();
  out.clear();
  const double* change = parts.node.data();
  for (int64_t t = first(i); t < first(i + 1); ++t, change += P_) {
    if (!all && std::all_of(change, change + P_, [](double x) { return x == 0; })) continue;
    for (int64_t k = d.dense_ptr[t]; k < d.dense_ptr[t + 1]; ++k) {
      double* sum = out.wide(d.dense[k]);
      const double value = d.valued ? d.dense_values[k] : 1.0;
      for (int y = 0; y < P_; ++y) sum[y] += value * change[y];
    }
    for (int64_t k = d.sparse_ptr[t]; k < d.sparse_ptr[t + 1]; ++k)
      out.single(rows_.feature(k)) += (d.valued ? d.sparse_values[k] : 1.0) * change[rows_.label(k)];
  }
  if (length(i) < 2) return;  // no step, no edges
  std::copy_n(parts.pairs.data(), n_pairs(), out.shared());
  const int64_t second = first(i) + 1;
  const double* amount = parts.entries.data() + entries_before(second) - entries_before(first(i));
  edges_.each_feature(second, first(i + 1), [&](uint32_t f) {
    if (all || *amount != 0) out.single(f) += *amount;
    ++amount;
  });
}

void TrainingLayout::touch(int64_t i, SparseGradient& out) const {
  out.clear();
  for (int64_t k = rows_.dense_ptr[first(i)]; k < rows_.dense_ptr[first(i + 1)]; ++k)
    out.wide(rows_.dense[k]);
  for (int64_t k = rows_.sparse_ptr[first(i)]; k < rows_.sparse_ptr[first(i + 1)]; ++k)
    out.single(rows_.feature(k));
  if (length(i) > 1) std::fill_n(out.shared(), n_pairs(), 0.0);
  edges_.each_feature(first(i) + 1, first(i + 1), [&](uint32_t f) { out.single(f); });
}

double TrainingLayout::spread_square(int64_t t, const double* step, double squares) const {
  double total = squares * static_cast<double>(rows_.dense_ptr[t + 1] - rows_.dense_ptr[t]);
  for (int64_t k = rows_.sparse_ptr[t]; k < rows_.sparse_ptr[t + 1]; ++k)
    total += step[rows_.label(k)] * step[rows_.label(k)];
  return total;
}

}  // namespace fieldcraft
