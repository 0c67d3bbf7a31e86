#include "field_layout.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "feature_groups.hpp"
#include "same_columns.hpp"

namespace fieldcraft {
namespace {

constexpr int64_t kPieceFeatures = 4096;
constexpr int kScalarShare = 8;  // scalars instead of a row, if they are at most this part of it
// Widths of the classes, in units, where there are too many for each to have its own.
constexpr int kFewWidths[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 512, 2048, 8192};

int round_up(int n, int unit) { return (n + unit - 1) / unit * unit; }

// A stable sort. Most attributes are rare: those are counted, not compared.
void by_falling_frequency(const std::vector<int64_t>& frequency, std::vector<uint32_t>& attributes) {
  constexpr int64_t kRare = 1024;
  const auto rank = [&](uint32_t a) { return kRare - std::min(frequency[a], kRare); };  // 0: not rare
  std::vector<size_t> begin(kRare + 2, 0);
  for (const uint32_t a : attributes) ++begin[rank(a) + 1];
  const auto frequent = static_cast<int64_t>(begin[1]);
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<uint32_t> sorted(attributes.size());
  for (const uint32_t a : attributes) sorted[begin[rank(a)]++] = a;
  std::stable_sort(sorted.begin(), sorted.begin() + frequent,
                   [&](uint32_t a, uint32_t b) { return frequency[a] > frequency[b]; });
  attributes = std::move(sorted);
}

}  // namespace

// Attributes that share a column, by the first of them.
struct FieldLayout::Groups {
  Groups(const FeatureColumns& f, const EncodedTokens& tokens)
      : frequency(attribute_frequencies(tokens, f.n_attributes)), features(node_features(f)) {
    const std::vector<int32_t> first = same_columns(tokens, frequency);
    ptr.assign(first.size() + 1, 0);
    for (const int32_t a : first) ++ptr[a + 1];
    std::partial_sum(ptr.begin(), ptr.end(), ptr.begin());
    members.resize(first.size());
    std::vector<int64_t> next(ptr.begin(), ptr.end() - 1);
    for (size_t a = 0; a < first.size(); ++a) members[next[first[a]]++] = static_cast<uint32_t>(a);
  }
  // visit(feature) for all features of a group
  template <class Visit>
  void each_feature(size_t group, const Visit& visit) const {
    for (int64_t k = ptr[group]; k < ptr[group + 1]; ++k)
      for (int64_t j = features.ptr[members[k]]; j < features.ptr[members[k] + 1]; ++j)
        visit(features.ids[j]);
  }

  std::vector<int64_t> frequency;  // [A]
  FeatureGroups features;
  std::vector<int64_t> ptr;
  std::vector<uint32_t> members;
};

FieldLayout::FieldLayout(const FeatureColumns& f, int n_states, const EncodedTokens& tokens, bool keep_order)
    : S_(n_states), n_features_(f.n_features), number_(n_states) {
  unit_ = S_ <= 4 || (S_ > 8 && S_ <= 12) ? 4 : 8;
  P_ = round_up(S_, unit_);
  number_labels(f, keep_order);
  choose_classes();
  pair_feature_.assign(static_cast<size_t>(S_) * S_, kNone);
  for (int64_t i = 0; i < f.n_features; ++i)
    if (f.attribute[i] < 0) {
      if (f.previous[i] < 0) throw std::invalid_argument("a feature needs an attribute or a previous label");
      pair_feature_[static_cast<size_t>(number_[f.previous[i]]) * S_ + number_[f.label[i]]] =
          static_cast<uint32_t>(i);
    }
  place_nodes(f, Groups(f, tokens));
  place_edges(f, tokens);
  cut_pieces();
}

void FieldLayout::number_labels(const FeatureColumns& f, bool keep_order) {
  std::vector<int64_t> count(S_, 0);
  std::vector<int> order(S_);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = 0; i < f.n_features; ++i) count[f.label[i]] += f.attribute[i] >= 0 && f.previous[i] < 0;
  if (!keep_order)
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return count[a] > count[b]; });
  for (int n = 0; n < S_; ++n) number_[order[n]] = n;
}

void FieldLayout::choose_classes() {
  const int units = P_ / unit_;
  if (units <= kWholeClasses)
    for (int k = 1; k <= units; ++k) widths_[n_classes_++] = k * unit_;
  else
    for (const int k : kFewWidths)
      if (k < units) widths_[n_classes_++] = k * unit_;
  if (widths_[n_classes_ - 1] < P_) widths_[n_classes_++] = P_;
}

// The class of a row that ends with label `last`; n_classes where scalars are better.
int FieldLayout::class_for(int n_labels, int last) const {
  int c = 0;
  while (widths_[c] <= last) ++c;
  return n_labels == 1 || n_labels * kScalarShare <= widths_[c] ? n_classes_ : c;
}

void FieldLayout::place_nodes(const FeatureColumns& f, const Groups& groups) {
  const size_t n_attributes = groups.frequency.size();
  std::vector<std::vector<uint32_t>> members(n_classes_ + 1);  // groups of each class; scalars last
  std::vector<uint32_t> mark(S_, kNone);
  std::vector<uint16_t> n_labels(n_attributes, 0);
  for (uint32_t g = 0; g < n_attributes; ++g) {
    int n = 0, last = -1;
    groups.each_feature(g, [&](uint32_t i) {
      const int y = number_[f.label[i]];
      if (mark[y] != g) ++n, mark[y] = g;
      last = std::max(last, y);
    });
    if (n == 0) continue;
    if (groups.frequency[g] == 0)
      groups.each_feature(g, [&](uint32_t i) { absent_.push_back(i); });
    else
      members[class_for(n, last)].push_back(g), n_labels[g] = static_cast<uint16_t>(n);
  }
  places_.assign(n_attributes, {kNoColumn, 0, 0, 0, 0});
  features_end_.assign(1, 0);
  at_.assign(1, 0);
  feature_.reserve(groups.features.ids.size()), slot_.reserve(groups.features.ids.size());
  std::vector<uint32_t> slot_of(S_);
  std::vector<int> scalars;
  uint64_t at = 0;
  for (int c = 0; c <= n_classes_; ++c) {
    first_[c] = n_columns();
    by_falling_frequency(groups.frequency, members[c]);
    for (const uint32_t g : members[c]) {
      scalars.clear();
      if (c == n_classes_) {  // slots in the order of the labels
        groups.each_feature(g, [&](uint32_t i) { scalars.push_back(number_[f.label[i]]); });
        std::sort(scalars.begin(), scalars.end());
        scalars.erase(std::unique(scalars.begin(), scalars.end()), scalars.end());
        for (size_t k = 0; k < scalars.size(); ++k)
          slot_of[scalars[k]] = static_cast<uint32_t>(k),
          labels_.push_back(static_cast<uint16_t>(scalars[k]));
      }
      const bool row = c < n_classes_;
      places_[g] = {n_columns(), static_cast<uint32_t>(at), row ? uint16_t{1} : n_labels[g],
                    row ? uint16_t{0} : static_cast<uint16_t>(scalars[0]), static_cast<uint32_t>(c)};
      groups.each_feature(g, [&](uint32_t i) {
        const uint32_t y = static_cast<uint32_t>(number_[f.label[i]]);
        feature_.push_back(i);
        slot_.push_back(static_cast<uint32_t>(at) + (row ? y : slot_of[y]));
      });
      at += row ? widths_[c] : n_labels[g];
      if (at > 0xfffffff0ull) throw std::length_error("the weights need more than 2^32 places");
      at_.push_back(static_cast<uint32_t>(at));
      features_end_.push_back(static_cast<int64_t>(feature_.size()));
    }
  }
}

void FieldLayout::place_edges(const FeatureColumns& f, const EncodedTokens& tokens) {
  first_[n_classes_ + 1] = n_columns();
  first_[n_classes_ + 2] = kNoColumn;
  edges_ = EdgeEntries(f, number_.data(), padded(S_), tokens);
  const EdgeFeatures& edge = edges_.features;
  for (size_t e = 0; e + 1 < edge.ptr.size(); ++e) {
    const uint32_t begin = at_.back();
    for (int64_t j = edge.ptr[e]; j < edge.ptr[e + 1]; ++j) {
      feature_.push_back(edge.feature[j]);
      slot_.push_back(begin + static_cast<uint32_t>(j - edge.ptr[e]));
    }
    at_.push_back(begin + static_cast<uint32_t>(edge.ptr[e + 1] - edge.ptr[e]));
    features_end_.push_back(static_cast<int64_t>(feature_.size()));
  }
}

void FieldLayout::cut_pieces() {
  pieces_.assign(1, {0, 0});
  for (uint32_t c = 1; c <= n_columns(); ++c)
    if (features_end_[c] - pieces_.back().feature >= kPieceFeatures || c == n_columns())
      pieces_.push_back({c, features_end_[c]});
  std::vector<int64_t>().swap(features_end_);
  slot_of_.assign(static_cast<size_t>(n_features_), kNone);
  for (size_t k = 0; k < feature_.size(); ++k) slot_of_[feature_[k]] = slot_[k];
}

void FieldLayout::expand(size_t p, const double* weights, double* field) const {
  const uint32_t begin = at_[std::min(pieces_[p].column, first_edge())];
  const uint32_t end = at_[std::min(pieces_[p + 1].column, first_edge())];
  std::fill(field + begin, field + end, 0.0);
  for (int64_t k = pieces_[p].feature; k < pieces_[p + 1].feature && slot_[k] < end; ++k)
    field[slot_[k]] += weights[feature_[k]];
}

void FieldLayout::collect(size_t begin, size_t end, const double* sums, const double* less,
                          double* gradient) const {
  constexpr size_t kAhead = 24;  // features between a prefetch and its use
  for (size_t f = begin; f < end; ++f) {
    if (f + kAhead < end && slot_of_[f + kAhead] != kNone) __builtin_prefetch(sums + slot_of_[f + kAhead]);
    const double total = slot_of_[f] == kNone ? gradient[f] : sums[slot_of_[f]];
    gradient[f] = total - (less ? less[f] : 0.0);
  }
}

void FieldLayout::expand_pairs(const double* weights, double* scores) const {
  for (int64_t k = 0; k < static_cast<int64_t>(S_) * S_; ++k)
    scores[k] = pair_feature_[k] == kNone ? 0.0 : weights[pair_feature_[k]];
}

size_t FieldLayout::bytes() const {
  return 4 * (at_.size() + places_.size() * 4 + feature_.size() + slot_.size() + slot_of_.size() +
              pair_feature_.size()) +
         2 * labels_.size();
}

}  // namespace fieldcraft
