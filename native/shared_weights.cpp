// Which features share a variable, and the field's lists with variables in the place of features.
#include "shared_weights.hpp"

#include <algorithm>
#include <vector>

#include "field_layout.hpp"
#include "parallel.hpp"

namespace fieldcraft {
namespace {

constexpr size_t kWorthSharing = 10;  // one weight in so many must go

}  // namespace

bool FieldLayout::share(const Alike& alike, int n_threads) {
  const RawVector<uint32_t> first = first_of_places(alike, n_threads);
  const size_t n = first.size();
  SharedWeights shared;
  shared.variable.resize(n);
  uint32_t n_variables = 0;
  for (size_t f = 0; f < n; ++f)
    if (first[f] == f) shared.variable[f] = n_variables++;
  if (n_variables > n - n / kWorthSharing) return false;
  shared.members.resize(n_variables);
  std::fill(shared.members.begin(), shared.members.end(), uint8_t{0});
  for (size_t f = 0; f < n; ++f) ++shared.members[shared.variable[f] = shared.variable[first[f]]];
  take_variables(first, shared, n_threads);
  shared_ = std::move(shared);
  return true;
}

// [features] the feature whose variable each one shares: the first one with the same place in the field, if
// both are alike and there is room; else its own.
RawVector<uint32_t> FieldLayout::first_of_places(const Alike& alike, int n_threads) const {
  RawVector<uint32_t> first(static_cast<size_t>(n_features_));
  for (size_t f = 0; f < first.size(); ++f) first[f] = static_cast<uint32_t>(f);
  for_each_task(n_threads, n_pieces(), [&](size_t p, int) {
    const size_t begin = static_cast<size_t>(pieces_[p].feature);
    const size_t end = std::min(static_cast<size_t>(pieces_[p + 1].feature), from_piece_.size());
    uint16_t last = 0;
    for (size_t k = begin; k < end; ++k) last = std::max(last, from_piece_[k]);
    std::vector<uint32_t> of_place(last + size_t{1}, kNone);  // the last variable that was begun there,
    std::vector<uint8_t> n(of_place.size(), 0);               // and how many share it
    for (size_t k = begin; k < end; ++k) {
      const uint32_t f = feature_[k], at = from_piece_[k];
      if (of_place[at] == kNone || n[at] == SharedWeights::kMost)
        of_place[at] = f, n[at] = 1;
      else if (alike(f, of_place[at]))
        first[f] = of_place[at], ++n[at];
    }
  });
  return first;
}

// In the lists of features the first one of each variable becomes its number; the others leave.
void FieldLayout::take_variables(const RawVector<uint32_t>& first, const SharedWeights& shared,
                                 int n_threads) {
  const size_t n_nodes = from_piece_.size();
  std::vector<size_t> before(pieces_.size(), 0), nodes_before(pieces_.size(), 0);  // in the new lists
  const auto each = [&](size_t p, const auto& visit) {  // visit(place in the list) for those that stay
    for (int64_t k = pieces_[p].feature; k < pieces_[p + 1].feature; ++k)
      if (first[feature_[k]] == feature_[k]) visit(static_cast<size_t>(k));
  };
  for_each_task(n_threads, n_pieces(), [&](size_t p, int) {
    each(p, [&](size_t k) { ++before[p + 1], nodes_before[p + 1] += k < n_nodes; });
  });
  for (size_t p = 1; p < before.size(); ++p)
    before[p] += before[p - 1], nodes_before[p] += nodes_before[p - 1];
  RawVector<uint32_t> feature(before.back()), slot_of(shared.size());
  RawVector<uint16_t> from_piece(nodes_before.back());
  members_by_place_.resize(nodes_before.back());
  for_each_task(n_threads, n_pieces(), [&](size_t p, int) {
    size_t to = before[p];
    each(p, [&](size_t k) {
      const uint32_t v = shared.variable[feature_[k]];
      if (k < n_nodes) from_piece[to] = from_piece_[k], members_by_place_[to] = shared.members[v];
      feature[to++] = v;
    });
  });
  for (size_t f = 0; f < first.size(); ++f)
    if (first[f] == f) slot_of[shared.variable[f]] = slot_of_[f];
  for (size_t p = 0; p < pieces_.size(); ++p) pieces_[p].feature = static_cast<int64_t>(before[p]);
  feature_ = std::move(feature), from_piece_ = std::move(from_piece), slot_of_ = std::move(slot_of);
  for (uint32_t& f : pair_feature_)
    if (f != kNone) f = shared.variable[f];
  for (uint32_t& f : absent_) f = shared.variable[f];
  for (uint32_t& f : edges_.features.feature) f = shared.variable[f];
  n_features_ = static_cast<int64_t>(shared.size());
}

}  // namespace fieldcraft
