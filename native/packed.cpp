#include "packed.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace fieldcraft {
namespace {

constexpr int64_t kAhead = 24;  // attributes between a prefetch and its use

void refuse(const char* what) {
  throw std::invalid_argument(std::string("the features do not fit: ") + what);
}

// Positions of all features in order: a counting sort, stable, so that an index in order stays as it is.
std::vector<uint32_t> order_of(const FeatureColumns& f) {
  const auto key = [&](int64_t i) {
    return f.attribute[i] < 0 ? 0 : 1 + 2 * static_cast<int64_t>(f.attribute[i]) + (f.previous[i] >= 0);
  };
  std::vector<uint32_t> next(2 * f.n_attributes + 2, 0);
  for (int64_t i = 0; i < f.n_features; ++i) ++next[key(i) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<uint32_t> order(f.n_features);
  for (int64_t i = 0; i < f.n_features; ++i) order[next[key(i)]++] = static_cast<uint32_t>(i);
  return order;
}

Labels narrowed(const std::vector<uint16_t>& values, int S) {
  Labels out;
  if (S <= 255)
    out.bytes = std::vector<uint8_t>(values.begin(), values.end());
  else
    out.words = values;
  return out;
}

// Numbers the rows by falling frequency; the others begin where their features do.
std::vector<uint32_t> places(const std::vector<uint16_t>& n, const std::vector<uint32_t>& begin, int limit,
                             const int64_t* frequency, int64_t& n_rows) {
  std::vector<uint32_t> dense, first(begin.begin(), begin.end());
  for (size_t a = 0; a < n.size(); ++a)
    if (n[a] > limit) dense.push_back(static_cast<uint32_t>(a));
  if (frequency != nullptr)
    std::stable_sort(dense.begin(), dense.end(),
                     [&](uint32_t a, uint32_t b) { return frequency[a] > frequency[b]; });
  for (size_t r = 0; r < dense.size(); ++r) first[dense[r]] = static_cast<uint32_t>(r);
  n_rows = static_cast<int64_t>(dense.size());
  return first;
}

}  // namespace

Packing pack(const FeatureColumns& f, int n_states, const int64_t* frequency) {
  if (f.n_features > 0xfffffff0ll) throw std::invalid_argument("more than 2^32 features");
  std::vector<uint32_t> order = order_of(f);
  int64_t n_pair_features = 0, n_rows = 0;
  std::vector<uint16_t> n(f.n_attributes, 0), label, previous;
  std::vector<uint32_t> begin(f.n_attributes, 0), edge_attribute, edge_n;
  label.reserve(f.n_features);
  for (const uint32_t i : order) {
    const int32_t a = f.attribute[i];
    if (f.previous[i] >= 0) previous.push_back(static_cast<uint16_t>(f.previous[i]));
    if (a < 0) {
      if (f.previous[i] < 0) throw std::invalid_argument("a feature needs an attribute or a previous label");
      ++n_pair_features;
    } else if (f.previous[i] < 0) {
      if (n[a] == 0) begin[a] = static_cast<uint32_t>(label.size());
      if (n[a]++ == n_states) throw std::invalid_argument("a feature occurs twice");
    } else {
      if (edge_attribute.empty() || edge_attribute.back() != static_cast<uint32_t>(a))
        edge_attribute.push_back(static_cast<uint32_t>(a)), edge_n.push_back(0);
      ++edge_n.back();
    }
    label.push_back(static_cast<uint16_t>(f.label[i]));
  }
  std::vector<uint32_t> first = places(n, begin, sparse_limit(n_states), frequency, n_rows);
  PackedFeatures packed(n_states, sparse_limit(n_states), n_pair_features, n_rows);
  packed.first = std::move(first);
  packed.edge_attribute = std::move(edge_attribute), packed.edge_n = std::move(edge_n);
  packed.n = narrowed(n, n_states), packed.label = narrowed(label, n_states);
  packed.previous = narrowed(previous, n_states);
  return {std::move(packed), std::move(order)};
}

template <class Visit>
void PackedFeatures::each_attribute(const Visit& visit) const {
  int64_t begin = n_pair_features;
  size_t e = 0;
  for (size_t a = 0; a < first.size(); ++a) {
    const int64_t edges = begin + n[a];
    int64_t end = edges;
    if (e < edge_attribute.size() && edge_attribute[e] == a) end += edge_n[e++];
    visit(a, begin, edges, end);
    begin = end;
  }
}

void PackedFeatures::check() const {
  const int64_t A = n_attributes(), F = n_features();
  if (S_ < 1 || S_ > 65535) refuse("between 1 and 65535 states are possible");
  if (row_limit < 1 || row_limit < S_ / 8 || row_limit > std::max<int64_t>(2, S_))
    refuse("the limit of rows");
  if (static_cast<int64_t>(n.size()) != A) refuse("attributes");
  if (edge_n.size() != edge_attribute.size()) refuse("attributes of edges");
  for (size_t e = 0; e < edge_attribute.size(); ++e)
    if (edge_attribute[e] >= A || (e > 0 && edge_attribute[e] <= edge_attribute[e - 1]))
      refuse("the order of attributes of edges");
  if (n_pair_features < 0 || n_pair_features > F) refuse("pairs");
  bool fits = true;
  int64_t n_edge = 0, dense = 0, total = n_pair_features;
  each_attribute([&](size_t a, int64_t begin, int64_t edges, int64_t end) {
    n_edge += end - edges, total = end;
    if (has_row(a)) {
      fits &= first[a] < n_rows_;
      ++dense;
    } else {
      fits &= edges == begin || first[a] == begin;
    }
  });
  if (!fits || dense != n_rows_) refuse("places of attributes");
  if (total != F) refuse("their number");
  if (static_cast<int64_t>(previous.size()) != n_pair_features + n_edge) refuse("previous labels");
  for (size_t i = 0; i < label.size(); ++i) fits &= label[i] < static_cast<uint32_t>(S_);
  for (size_t i = 0; i < previous.size(); ++i) fits &= previous[i] < static_cast<uint32_t>(S_);
  if (!fits) refuse("a label is out of range");
}

void PackedFeatures::expand(const double* weights, double* dense) const {
  std::fill_n(dense, dense_size(), 0.0);
  each_attribute([&](size_t a, int64_t begin, int64_t edges, int64_t) {
    if (!has_row(a)) return;
    double* row = dense + static_cast<int64_t>(first[a]) * P_;
    for (int64_t j = begin; j < edges; ++j) row[label[j]] = weights[j];
  });
  double* pairs = dense + pairs_at();
  for (int64_t i = 0; i < n_pair_features; ++i)
    pairs[static_cast<size_t>(previous[i]) * P_ + label[i]] = weights[i];
}

EdgeFeatures PackedFeatures::edge_features() const {
  EdgeFeatures out;
  if (edge_attribute.empty()) return out;
  out.id.assign(n_attributes(), -1);
  out.ptr.assign(1, 0);
  int64_t at = n_pair_features;  // in previous
  each_attribute([&](size_t a, int64_t, int64_t edges, int64_t end) {
    if (edges == end) return;
    out.id[a] = static_cast<int32_t>(out.ptr.size()) - 1;
    for (int64_t j = edges; j < end; ++j) {
      out.pair.push_back(static_cast<uint32_t>(previous[at++] * P_ + label[j]));
      out.feature.push_back(static_cast<uint32_t>(j));
    }
    out.ptr.push_back(static_cast<int64_t>(out.pair.size()));
  });
  return out;
}

TokenBlock PackedFeatures::encode(const EncodedTokens& tokens, int64_t from, int64_t to,
                                  OwnedRows& out) const {
  const int64_t begin = tokens.token_ptr[from], end = tokens.token_ptr[to];
  const int64_t last = tokens.token_ptr[tokens.offsets[tokens.n_sequences]];  // what follows is likely next
  out.valued = tokens.values != nullptr, out.wide = needs_wide_entries(n_features(), S_);
  out.make_room(to - from, end - begin, row_limit);
  const uint32_t limit = static_cast<uint32_t>(row_limit);
  int64_t n_dense = 0, n_sparse = 0;
  for (int64_t t = from; t < to; ++t) {
    for (int64_t i = tokens.token_ptr[t]; i < tokens.token_ptr[t + 1]; ++i) {
      if (i + kAhead < last) prefetch(static_cast<size_t>(tokens.attributes[i + kAhead]));
      const size_t a = static_cast<size_t>(tokens.attributes[i]);
      const uint32_t place = first[a], count = n[a];
      if (count > limit) {
        if (out.valued) out.dense_values[n_dense] = tokens.values[i];
        out.dense[n_dense++] = place;
        continue;
      }
      for (uint32_t j = place; j < place + count; ++j) {
        if (out.valued) out.sparse_values[n_sparse] = tokens.values[i];
        out.set(n_sparse++, j, label[j]);
      }
    }
    out.dense_ptr[t - from + 1] = static_cast<uint32_t>(n_dense);
    out.sparse_ptr[t - from + 1] = static_cast<uint32_t>(n_sparse);
  }
  return {out.view(), 0, to - from};
}

}  // namespace fieldcraft
