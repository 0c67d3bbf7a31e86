#include "field_layout.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "apart.hpp"
#include "canary.hpp"
#include "feature_groups.hpp"
#include "parallel.hpp"
#include "prefetch.hpp"

namespace fieldcraft {
namespace {

constexpr int64_t kPieceFeatures = 4096;
constexpr int kScalarShare = 8;      // scalars instead of a row, if they are at most this part of it
constexpr int64_t kAhead = 48;       // features between a prefetch and its use
constexpr size_t kGroupsAhead = 24;  // groups likewise
// Widths of the classes, in units, where there are too many for each to have its own.
constexpr int kFewWidths[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 512, 2048, 8192};

int round_up(int n, int unit) { return (n + unit - 1) / unit * unit; }

constexpr size_t kPieceColumns = 4096;  // handed to a thread at a time

size_t n_pieces_of(size_t n) { return (n + kPieceColumns - 1) / kPieceColumns; }

// How many threads have work there, and need memory.
size_t n_lanes(int n_threads, size_t n) {
  return std::clamp<size_t>(n_pieces_of(n), 1, static_cast<size_t>(std::max(n_threads, 1)));
}

// Calls work(begin, end, thread) for pieces of 0 .. n-1.
template <class Work>
void for_pieces(int n_threads, size_t n, const Work& work) {
  for_each_task(n_threads, n_pieces_of(n), [&](size_t piece, int thread) {
    work(piece * kPieceColumns, std::min(n, (piece + 1) * kPieceColumns), thread);
  });
}

}  // namespace

// Attributes that share a column are a group; its number is that of the first of them.
struct FieldLayout::Groups {
  Groups(const FeatureColumns& f, AttributeTokens columns, int n_threads)
      : features(node_features(f, n_threads)),
        same(same_columns(columns, n_threads)),
        tokens_before(std::move(columns.ptr)) {}
  size_t size() const { return same.first.size(); }
  bool is_group(size_t a) const { return same.first[a] == static_cast<int32_t>(a); }
  int64_t frequency(size_t a) const { return tokens_before[a + 1] - tokens_before[a]; }
  // What place() reads of a group, first where that is.
  FIELDCRAFT_FETCHES void prefetch_places(uint32_t group) const {
    __builtin_prefetch(&features.ptr[group]);
    __builtin_prefetch(&same.next[group]);
  }
  FIELDCRAFT_FETCHES void prefetch_features(uint32_t group, const FeatureColumns& f) const {
    const size_t at = static_cast<size_t>(features.ptr[group]);
    if (at >= features.ids.size()) return;
    __builtin_prefetch(&features.ids[at]);
    __builtin_prefetch(&f.label[features.ids[at]]);
  }
  uint32_t first_feature(uint32_t group) const {
    int32_t a = static_cast<int32_t>(group);
    while (features.ptr[a] == features.ptr[a + 1]) a = same.next[a];
    return features.ids[features.ptr[a]];
  }
  // visit(feature) for all features of a group
  template <class Visit>
  void each_feature(uint32_t group, const Visit& visit) const {
    for (int32_t a = static_cast<int32_t>(group); a >= 0; a = same.next[a])
      for (int64_t j = features.ptr[a]; j < features.ptr[a + 1]; ++j) visit(features.ids[j]);
  }

  FeatureGroups features;
  SameColumns same;
  RawVector<int64_t> tokens_before;  // [A + 1] occurrences of the attributes before
};

// What the columns of groups need.
struct FieldLayout::Sizes {
  static constexpr uint8_t kNothing = 255;
  explicit Sizes(size_t n) : kind(n), n_labels(n), n_features(n) {}
  RawVector<uint8_t> kind;  // class; n_classes for scalars
  RawVector<uint16_t> n_labels;
  RawVector<uint32_t> n_features;
};

FieldLayout::FieldLayout(const FeatureColumns& f, int n_states, const EncodedTokens& tokens,
                         AttributeTokens* columns, bool keep_order, int n_threads)
    : S_(n_states), n_features_(f.n_features), number_(n_states) {
  unit_ = S_ <= 4 || (S_ > 8 && S_ <= 12) ? 4 : 8;
  P_ = round_up(S_, unit_);
  look_through(f, keep_order, n_threads);
  choose_classes();
  place_nodes(
      f,
      Groups(f, columns != nullptr ? std::move(*columns) : transposed(tokens, f.n_attributes, n_threads),
             n_threads),
      n_threads);
  place_edges(f, tokens, n_threads);
  cut_pieces(n_threads);
}

// Numbers the labels by how many features of nodes they have, and finds those of label pairs.
void FieldLayout::look_through(const FeatureColumns& f, bool keep_order, int n_threads) {
  const size_t n = static_cast<size_t>(f.n_features);
  std::vector<std::vector<int64_t>> counts(n_lanes(n_threads, n));  // [threads, S]
  std::vector<std::vector<uint32_t>> pairs(n_pieces_of(n));         // features, by piece
  for_pieces(n_threads, n, [&](size_t begin, size_t end, int thread) {
    std::vector<int64_t>& count = counts[thread];
    count.resize(S_, 0);
    for (size_t i = begin; i < end; ++i) {
      if (f.attribute[i] < 0) pairs[begin / kPieceColumns].push_back(static_cast<uint32_t>(i));
      count[f.label[i]] += f.attribute[i] >= 0 && f.previous[i] < 0;
    }
  });
  std::vector<int64_t> total(S_, 0);
  for (const std::vector<int64_t>& count : counts)
    for (size_t y = 0; y < count.size(); ++y) total[y] += count[y];
  std::vector<int> order(S_);
  std::iota(order.begin(), order.end(), 0);
  if (!keep_order)
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return total[a] > total[b]; });
  for (int k = 0; k < S_; ++k) number_[order[k]] = k;
  pair_feature_.assign(static_cast<size_t>(S_) * S_, kNone);
  for (const std::vector<uint32_t>& of_piece : pairs)
    for (const uint32_t i : of_piece) {
      if (f.previous[i] < 0) throw std::invalid_argument("a feature needs an attribute or a previous label");
      pair_feature_[static_cast<size_t>(number_[f.previous[i]]) * S_ + number_[f.label[i]]] = i;
    }
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

FieldLayout::Sizes FieldLayout::measure(const FeatureColumns& f, const Groups& groups, int n_threads) {
  Sizes sizes(groups.size());
  std::vector<std::vector<uint32_t>> mark(n_lanes(n_threads, groups.size()));  // [threads, S]
  std::vector<std::vector<uint32_t>> absent(n_pieces_of(groups.size()));
  for_pieces(n_threads, groups.size(), [&](size_t begin, size_t end, int thread) {
    mark[thread].resize(S_, kNone);
    for (uint32_t g = static_cast<uint32_t>(begin); g < end; ++g) {
      sizes.kind[g] = Sizes::kNothing;
      if (!groups.is_group(g)) continue;
      int n = 0, last = -1;
      uint32_t n_features = 0;
      groups.each_feature(g, [&](uint32_t i) {
        const int y = number_[f.label[i]];
        if (mark[thread][y] != g) ++n, mark[thread][y] = g;
        last = std::max(last, y), ++n_features;
      });
      if (n == 0) continue;
      if (groups.frequency(g) == 0)
        groups.each_feature(g, [&](uint32_t i) { absent[begin / kPieceColumns].push_back(i); });
      else
        sizes.kind[g] = static_cast<uint8_t>(class_for(n, last));
      sizes.n_labels[g] = static_cast<uint16_t>(n), sizes.n_features[g] = n_features;
    }
  });
  for (const std::vector<uint32_t>& of_piece : absent)
    absent_.insert(absent_.end(), of_piece.begin(), of_piece.end());
  return sizes;
}

// Groups by kind, and within a kind by falling frequency: a stable sort. Most are rare, and counted instead
// of compared: each piece of the groups counts, and then places, its own behind those of the pieces before.
RawVector<uint32_t> FieldLayout::in_order(const Groups& groups, const Sizes& sizes, int n_threads) {
  constexpr int64_t kRare = 1024, kPieces = 32;
  const size_t n = groups.size(), n_ranks = static_cast<size_t>((n_classes_ + 1) * kRare);
  const auto rank = [&](size_t g) {  // 0 within the kind: not rare
    return static_cast<size_t>(sizes.kind[g] * kRare + kRare - std::min(groups.frequency(g), kRare));
  };
  const size_t n_pieces = std::clamp<size_t>(n / (8 * n_ranks), 1, kPieces);
  RawVector<uint32_t> next(n_pieces * n_ranks);  // [pieces, ranks] how many, then where the next one goes
  const auto each = [&](const auto& visit) {
    for_each_task(n_threads, n_pieces, [&](size_t p, int) {
      for (size_t g = n * p / n_pieces; g < n * (p + 1) / n_pieces; ++g)
        if (sizes.kind[g] != Sizes::kNothing) visit(next[p * n_ranks + rank(g)], g);
    });
  };
  std::fill(next.begin(), next.end(), 0);
  each([](uint32_t& count, size_t) { ++count; });
  uint32_t at = 0;
  for (size_t r = 0; r < n_ranks; ++r) {
    if (r % kRare == 0) first_[r / kRare] = at;
    for (size_t p = 0; p < n_pieces; ++p) at += std::exchange(next[p * n_ranks + r], at);
  }
  first_[n_classes_ + 1] = at;
  RawVector<uint32_t> order(at);
  each([&](uint32_t& to, size_t g) { order[to++] = static_cast<uint32_t>(g); });
  const uint32_t* const end_of_first = &next[(n_pieces - 1) * n_ranks];  // now where the next rank begins
  for (int c = 0; c <= n_classes_; ++c)
    std::stable_sort(order.begin() + first_[c], order.begin() + end_of_first[c * kRare],
                     [&](uint32_t a, uint32_t b) { return groups.frequency(a) > groups.frequency(b); });
  return order;
}

void FieldLayout::make_room(const RawVector<uint32_t>& order, const Sizes& sizes, int n_threads) {
  struct Sum {
    uint64_t at = 0;
    int64_t features = 0;
  };
  std::vector<Sum> before(n_pieces_of(order.size()) + 1);
  at_.resize(order.size() + 1), features_end_.resize(order.size() + 1);
  const auto each = [&](size_t begin, size_t end, Sum sum, const auto& visit) {
    for (size_t column = begin; column < end; ++column) {
      const uint32_t g = order[column];
      sum.at += sizes.kind[g] < n_classes_ ? widths_[sizes.kind[g]] : sizes.n_labels[g];
      sum.features += sizes.n_features[g];
      visit(column, sum);
    }
    return sum;
  };
  for_pieces(n_threads, order.size(), [&](size_t begin, size_t end, int) {
    before[begin / kPieceColumns + 1] = each(begin, end, {}, [](size_t, const Sum&) {});
  });
  for (size_t p = 1; p < before.size(); ++p)
    before[p].at += before[p - 1].at, before[p].features += before[p - 1].features;
  if (before.back().at > 0xfffffff0ull) throw std::length_error("the weights need more than 2^32 places");
  at_[0] = 0, features_end_[0] = 0;
  for_pieces(n_threads, order.size(), [&](size_t begin, size_t end, int) {
    each(begin, end, before[begin / kPieceColumns], [&](size_t column, const Sum& sum) {
      at_[column + 1] = static_cast<uint32_t>(sum.at), features_end_[column + 1] = sum.features;
    });
  });
  labels_.resize(before.back().at - scalars_at());
  feature_.resize(before.back().features), slot_.resize(before.back().features);
}

struct alignas(kApart) FieldLayout::Scratch {
  std::vector<uint32_t> slot_of;  // [S]
  std::vector<uint16_t> labels;
};

void FieldLayout::place(uint32_t column, uint32_t group, const FeatureColumns& f, const Groups& groups,
                        Scratch& scratch) {
  const uint32_t at = at_[column];
  const bool row = column < first_[n_classes_];
  uint16_t* const labels = row ? nullptr : labels_.data() + (at - scalars_at());
  const uint16_t n = row ? uint16_t{1} : static_cast<uint16_t>(at_[column + 1] - at);
  if (n == 1 && !row) {
    labels[0] = static_cast<uint16_t>(number_[f.label[groups.first_feature(group)]]);
    scratch.slot_of[labels[0]] = 0;
  } else if (!row) {  // slots in the order of the labels
    std::vector<uint16_t>& found = scratch.labels;
    found.clear();
    groups.each_feature(group,
                        [&](uint32_t i) { found.push_back(static_cast<uint16_t>(number_[f.label[i]])); });
    std::sort(found.begin(), found.end());
    std::unique_copy(found.begin(), found.end(), labels);
    for (uint16_t k = 0; k < n; ++k) scratch.slot_of[labels[k]] = k;
  }
  places_[group] = {column, at, row ? uint16_t{0} : labels[0], static_cast<uint8_t>(class_of(column)),
                    static_cast<uint8_t>(std::min<uint16_t>(n, Place::kMany))};
  int64_t k = features_end_[column];
  groups.each_feature(group, [&](uint32_t i) {
    const uint32_t y = static_cast<uint32_t>(number_[f.label[i]]);
    feature_[k] = i;
    slot_[k++] = at + (row ? y : scratch.slot_of[y]);
  });
}

void FieldLayout::place_nodes(const FeatureColumns& f, const Groups& groups, int n_threads) {
  const Sizes sizes = measure(f, groups, n_threads);
  const RawVector<uint32_t> order = in_order(groups, sizes, n_threads);
  make_room(order, sizes, n_threads);
  places_.resize(groups.size());
  for_pieces(n_threads, groups.size(), [&](size_t begin, size_t end, int) {
    std::fill(places_.begin() + begin, places_.begin() + end, Place{kNoColumn, 0, 0, 0, 0});
  });
  std::vector<Scratch> scratch(n_lanes(n_threads, order.size()));
  for_pieces(n_threads, order.size(), [&](size_t begin, size_t end, int thread) {
    scratch[thread].slot_of.resize(S_);
    for (size_t column = begin; column < end; ++column) {
      if (column + kGroupsAhead < end) {
        groups.prefetch_places(order[column + kGroupsAhead]);
        __builtin_prefetch(&places_[order[column + kGroupsAhead]], 1);
        groups.prefetch_features(order[column + kGroupsAhead / 2], f);
      }
      place(static_cast<uint32_t>(column), order[column], f, groups, scratch[thread]);
    }
  });
}

void FieldLayout::place_edges(const FeatureColumns& f, const EncodedTokens& tokens, int n_threads) {
  first_[n_classes_ + 1] = n_columns();
  first_[n_classes_ + 2] = kNoColumn;
  edges_ = EdgeEntries(f, number_.data(), padded(S_), tokens, n_threads);
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

// The slots of a piece are so few that 16 bits tell one from another, except that of one wide edge column.
void FieldLayout::cut_pieces(int n_threads) {
  constexpr uint32_t kPieceSlots = 65536;
  pieces_.assign(1, {0, 0});
  for (uint32_t c = 1; c <= n_columns(); ++c) {
    const uint32_t begin = pieces_.back().column;
    if (at_[c] - at_[begin] > kPieceSlots && c - 1 > begin) pieces_.push_back({c - 1, features_end_[c - 1]});
    if (features_end_[c] - pieces_.back().feature >= kPieceFeatures || c == n_columns())
      pieces_.push_back({c, features_end_[c]});
  }
  from_piece_.resize(static_cast<size_t>(features_end_[first_edge()]));
  slot_of_.resize(static_cast<size_t>(n_features_));
  for_pieces(n_threads, slot_of_.size(), [&](size_t begin, size_t end, int) {
    std::fill(slot_of_.begin() + begin, slot_of_.begin() + end, kNone);
  });
  for_each_task(n_threads, n_pieces(), [&](size_t p, int) {
    const size_t begin = static_cast<size_t>(pieces_[p].feature);
    const size_t end = static_cast<size_t>(pieces_[p + 1].feature), nodes = std::min(end, from_piece_.size());
    for (size_t k = begin; k < nodes; ++k)
      from_piece_[k] = static_cast<uint16_t>(slot_[k] - at_[pieces_[p].column]);
    for (size_t k = begin; k < end; ++k) slot_of_[feature_[k]] = slot_[k];
  });
  RawVector<int64_t>().swap(features_end_);
  RawVector<uint32_t>().swap(slot_);
}

void FieldLayout::expand(size_t p, const double* weights, double* field) const {
  const uint32_t begin = at_[std::min(pieces_[p].column, first_edge())];
  const uint32_t end = at_[std::min(pieces_[p + 1].column, first_edge())];
  std::fill(field + begin, field + end, 0.0);
  const int64_t last = std::min(pieces_[p + 1].feature, static_cast<int64_t>(from_piece_.size()));
  double* const to = field + begin;
  const auto each = [&](const auto& weight_of) {
    for (int64_t k = pieces_[p].feature; k < last; ++k) {
      if (k + kAhead < last) __builtin_prefetch(weights + feature_[k + kAhead]);
      to[from_piece_[k]] += weight_of(k);
    }
  };
  if (shared_)
    each([&](int64_t k) { return CANARY(SHARED, members_by_place_[k] * weights[feature_[k]]); });
  else
    each([&](int64_t k) { return weights[feature_[k]]; });
}

void FieldLayout::collect(size_t begin, size_t end, const double* sums, const double* less,
                          double* gradient) const {
  for (size_t f = begin; f < end; ++f) {
    if (f + kAhead < end && slot_of_[f + kAhead] != kNone) __builtin_prefetch(sums + slot_of_[f + kAhead]);
    const double total = slot_of_[f] == kNone ? gradient[f] : sums[slot_of_[f]];
    gradient[f] = total - (less ? less[f - begin] : 0.0);
  }
}

void FieldLayout::expand_pairs(const double* weights, double* scores) const {
  for (int64_t k = 0; k < static_cast<int64_t>(S_) * S_; ++k)
    scores[k] = pair_feature_[k] == kNone ? 0.0 : weights[pair_feature_[k]];
}

size_t FieldLayout::bytes() const {
  return 4 * (at_.size() + places_.size() * 3 + feature_.size() + slot_of_.size() + pair_feature_.size()) +
         2 * (labels_.size() + from_piece_.size()) + members_by_place_.size() +
         (shared_ ? shared_->bytes() : 0);
}

}  // namespace fieldcraft
