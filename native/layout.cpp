#include "layout.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "parallel.hpp"

namespace fieldcraft {
namespace {

// Counting sort: ids of the features that `keep`, grouped by attribute.
template <class Keep>
void group_by_attribute(const FeatureColumns& f, const Keep& keep, std::vector<int64_t>& ptr,
                        std::vector<uint32_t>& ids) {
  ptr.assign(f.n_attributes + 1, 0);
  for (int64_t i = 0; i < f.n_features; ++i)
    if (keep(i)) ++ptr[f.attribute[i] + 1];
  std::partial_sum(ptr.begin(), ptr.end(), ptr.begin());
  ids.resize(ptr.back());
  std::vector<int64_t> next(ptr.begin(), ptr.end() - 1);
  for (int64_t i = 0; i < f.n_features; ++i)
    if (keep(i)) ids[next[f.attribute[i]]++] = static_cast<uint32_t>(i);
}

constexpr int64_t kBlock = 4096;  // rows or tokens handed to a thread at a time
constexpr int64_t kAhead = 24;    // attributes between a prefetch and its use

}  // namespace

Layout::Layout(const FeatureColumns& f, int n_states, const int64_t* frequency)
    : S(n_states), P(padded(n_states)), n_features(f.n_features), n_attributes(f.n_attributes) {
  if (S > 65535) throw std::invalid_argument("more than 65535 states");
  if (f.n_features > 0xfffffff0ll) throw std::invalid_argument("more than 2^32 features");
  pair_feature.assign(static_cast<size_t>(S) * S, -1);
  for (int64_t i = 0; i < f.n_features; ++i)
    if (f.attribute[i] < 0) {
      if (f.previous[i] < 0) throw std::invalid_argument("a feature needs an attribute or a previous label");
      pair_feature[static_cast<size_t>(f.previous[i]) * S + f.label[i]] = static_cast<int32_t>(i);
    }
  std::vector<int64_t> ptr;
  std::vector<uint32_t> ids;
  group_by_attribute(f, [&](int64_t i) { return f.attribute[i] >= 0 && f.previous[i] < 0; }, ptr, ids);
  const int limit = sparse_limit(S);
  most_entries_ = limit;
  place_.resize(n_attributes);
  std::vector<uint32_t> dense;  // attributes that get a row
  for (int64_t a = 0; a < n_attributes; ++a) {
    const int64_t n = ptr[a + 1] - ptr[a];
    if (n > limit) {
      dense.push_back(static_cast<uint32_t>(a));
      continue;
    }
    place_[a] = {static_cast<uint32_t>(entry_feature_.size()), static_cast<uint32_t>(n)};
    for (int64_t j = ptr[a]; j < ptr[a + 1]; ++j) {
      entry_feature_.push_back(ids[j]);
      entry_label_.push_back(static_cast<uint16_t>(f.label[ids[j]]));
    }
  }
  if (frequency != nullptr)
    std::stable_sort(dense.begin(), dense.end(),
                     [&](uint32_t a, uint32_t b) { return frequency[a] > frequency[b]; });
  n_rows = static_cast<int64_t>(dense.size());
  row_ptr_.assign(1, 0);
  for (int64_t r = 0; r < n_rows; ++r) {
    const uint32_t a = dense[r];
    place_[a] = {static_cast<uint32_t>(r), kDense};
    for (int64_t j = ptr[a]; j < ptr[a + 1]; ++j) {
      row_feature_.push_back(ids[j]);
      row_label_.push_back(static_cast<uint16_t>(f.label[ids[j]]));
    }
    row_ptr_.push_back(static_cast<int64_t>(row_feature_.size()));
  }
  const auto on_edge = [&](int64_t i) { return f.attribute[i] >= 0 && f.previous[i] >= 0; };
  group_by_attribute(f, on_edge, ptr, ids);
  if (ids.empty()) return;
  edge.id.assign(n_attributes, -1);
  edge.ptr.assign(1, 0);
  for (int64_t a = 0; a < n_attributes; ++a) {
    if (ptr[a] == ptr[a + 1]) continue;
    edge.id[a] = static_cast<int32_t>(edge.ptr.size()) - 1;
    for (int64_t j = ptr[a]; j < ptr[a + 1]; ++j) {
      edge.pair.push_back(f.previous[ids[j]] * P + f.label[ids[j]]);
      edge.feature.push_back(ids[j]);
    }
    edge.ptr.push_back(static_cast<int64_t>(edge.pair.size()));
  }
}

void Layout::expand(const double* weights, double* rows, int n_threads) const {
  for_each_task(n_threads, (n_rows + kBlock - 1) / kBlock, [&](size_t block, int) {
    const int64_t last = std::min<int64_t>(n_rows, (block + 1) * kBlock);
    for (int64_t r = block * kBlock; r < last; ++r) {
      double* row = rows + r * P;
      std::fill_n(row, P, 0.0);
      for (int64_t j = row_ptr_[r]; j < row_ptr_[r + 1]; ++j) row[row_label_[j]] = weights[row_feature_[j]];
    }
  });
}

void Layout::collect(const double* rows, double* gradient, int n_threads) const {
  for_each_task(n_threads, (n_rows + kBlock - 1) / kBlock, [&](size_t block, int) {
    const int64_t last = std::min<int64_t>(n_rows, (block + 1) * kBlock);
    for (int64_t r = block * kBlock; r < last; ++r)
      for (int64_t j = row_ptr_[r]; j < row_ptr_[r + 1]; ++j)
        gradient[row_feature_[j]] = rows[r * P + row_label_[j]];
  });
}

void Layout::forget_attributes() {
  std::vector<Place>().swap(place_);
  std::vector<uint32_t>().swap(entry_feature_);
  std::vector<uint16_t>().swap(entry_label_);
}

void Layout::shared_edges(const double* weights, double* scores) const {
  for (size_t i = 0; i < pair_feature.size(); ++i)
    scores[i] = pair_feature[i] < 0 ? 0 : weights[pair_feature[i]];
}

TokenRows OwnedRows::view() const {
  return {dense_ptr.data(), dense.data(),        sparse_ptr.data(),   sparse.data(), wide,
          valued,           dense_values.data(), sparse_values.data()};
}

// Vectors only grow here: a reader uses one OwnedRows for sequence after sequence.
void OwnedRows::make_room(int64_t n_tokens, int64_t n_attributes, int64_t most_entries) {
  const auto at_least = [](auto& v, int64_t n) {
    if (static_cast<int64_t>(v.size()) < n) v.resize(n);
  };
  at_least(dense_ptr, n_tokens + 1), at_least(sparse_ptr, n_tokens + 1);
  dense_ptr[0] = sparse_ptr[0] = 0;
  at_least(dense, n_attributes);
  at_least(sparse, words(n_attributes * most_entries));
  if (valued) at_least(dense_values, n_attributes), at_least(sparse_values, n_attributes * most_entries);
}

void Layout::encode(const EncodedTokens& tokens, int64_t first, int64_t last, OwnedRows& out,
                    int n_threads) const {
  const int64_t n = last - first;
  if ((tokens.token_ptr[last] - tokens.token_ptr[first]) * std::max<int64_t>(most_entries_, 1) > 0x7fffffff)
    count_entries_or_throw(tokens, first, last);
  out.valued = tokens.values != nullptr, out.wide = wide();
  out.dense_ptr.resize(n + 1), out.sparse_ptr.resize(n + 1);
  out.dense_ptr[0] = out.sparse_ptr[0] = 0;
  const size_t n_blocks = (n + kBlock - 1) / kBlock;
  const int64_t end_of_all = tokens.token_ptr[last];
  for_each_task(n_threads, n_blocks, [&](size_t block, int) {
    const int64_t end = std::min<int64_t>(n, (block + 1) * kBlock);
    for (int64_t t = block * kBlock; t < end; ++t) {
      int64_t n_dense = 0, n_sparse = 0;
      for (int64_t i = tokens.token_ptr[first + t]; i < tokens.token_ptr[first + t + 1]; ++i) {
        if (i + kAhead < end_of_all) __builtin_prefetch(&place_[tokens.attributes[i + kAhead]]);
        const Place& place = place_[tokens.attributes[i]];
        if (place.n == kDense)
          ++n_dense;
        else
          n_sparse += place.n;
      }
      out.dense_ptr[t + 1] = static_cast<uint32_t>(n_dense),
                        out.sparse_ptr[t + 1] = static_cast<uint32_t>(n_sparse);
    }
  });
  std::partial_sum(out.dense_ptr.begin(), out.dense_ptr.end(), out.dense_ptr.begin());
  std::partial_sum(out.sparse_ptr.begin(), out.sparse_ptr.end(), out.sparse_ptr.begin());
  out.dense.resize(out.dense_ptr[n]);
  out.sparse.resize(out.words(out.sparse_ptr[n]));
  if (out.valued) out.dense_values.resize(out.dense.size()), out.sparse_values.resize(out.sparse_ptr[n]);
  for_each_task(n_threads, n_blocks, [&](size_t block, int) {
    const int64_t end = std::min<int64_t>(n, (block + 1) * kBlock);
    for (int64_t t = block * kBlock; t < end; ++t) encode_token(tokens, first + t, t, out);
  });
}

// Offsets are 32 bits wide: four thousand million entries are the most that one problem can hold.
void Layout::count_entries_or_throw(const EncodedTokens& tokens, int64_t first, int64_t last) const {
  int64_t total = 0;
  for (int64_t i = tokens.token_ptr[first]; i < tokens.token_ptr[last]; ++i) {
    const Place& place = place_[tokens.attributes[i]];
    total += place.n == kDense ? 1 : place.n;
  }
  if (total > 0xffffffffll)
    throw std::length_error("more than 2^32 attribute occurrences; train on fewer sequences");
}

// Distributes one token's entries over the classes: count, then place.
void Layout::encode_token(const EncodedTokens& tokens, int64_t token, int64_t t, OwnedRows& out) const {
  int64_t dense_at[kClasses + 1] = {}, sparse_at[kClasses + 1] = {};
  const auto each = [&](const auto& on_row, const auto& on_entry) {
    for (int64_t i = tokens.token_ptr[token]; i < tokens.token_ptr[token + 1]; ++i) {
      const Place& place = place_[tokens.attributes[i]];
      const double value = tokens.values == nullptr ? 1.0 : tokens.values[i];
      if (place.n == kDense)
        on_row(place.first, value);
      else
        for (uint32_t j = place.first; j < place.first + place.n; ++j) on_entry(j, value);
    }
  };
  each([&](uint32_t row, double) { ++dense_at[row_class(row) + 1]; },
       [&](uint32_t j, double) { ++sparse_at[weight_class(entry_feature_[j]) + 1]; });
  for (int c = 0; c < kClasses; ++c) dense_at[c + 1] += dense_at[c], sparse_at[c + 1] += sparse_at[c];
  const int64_t d0 = out.dense_ptr[t], s0 = out.sparse_ptr[t];
  each(
      [&](uint32_t row, double value) {
        const int64_t at = d0 + dense_at[row_class(row)]++;
        out.dense[at] = row;
        if (out.valued) out.dense_values[at] = value;
      },
      [&](uint32_t j, double value) {
        const int64_t at = s0 + sparse_at[weight_class(entry_feature_[j])]++;
        out.set(at, entry_feature_[j], entry_label_[j]);
        if (out.valued) out.sparse_values[at] = value;
      });
}

void ObservedEdges::go_to(int64_t first_token, int64_t T) {
  first_ = first_token;
  has_.assign(T, 0);
  for (int64_t t = 0; t < T; ++t)
    for (int64_t i = tokens_.token_ptr[first_ + t]; i < tokens_.token_ptr[first_ + t + 1] && !has_[t]; ++i)
      has_[t] = features_.id[tokens_.attributes[i]] >= 0;
}

void ObservedEdges::fill(int64_t t, double* scores) const {
  std::copy_n(shared_.scores.data(), static_cast<size_t>(shared_.S) * shared_.P, scores);
  each_entry(
      t, [&](int32_t pair, uint32_t feature, double value) { scores[pair] += value * weights_[feature]; });
}

}  // namespace fieldcraft
