// The features of each attribute, in the order of their numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "parallel.hpp"
#include "raw_vector.hpp"
#include "scoring_layout.hpp"

namespace fieldcraft {

struct FeatureGroups {
  RawVector<int64_t> ptr;   // [A + 1]; edge_features leaves it empty if there are none
  RawVector<uint32_t> ids;  // features of attribute a: ptr[a] .. ptr[a + 1]
};

// Of the features that keep(feature) chooses; all of these must have an attribute. An index is mostly in the
// order of the attributes, and then nothing is sorted: threads write pieces of it.
template <class Keep>
FeatureGroups group_by_attribute(const FeatureColumns& f, int n_threads, const Keep& keep) {
  constexpr int64_t kPiece = 1 << 14;  // features
  struct Piece {
    int64_t n = 0;                  // that are kept
    int32_t first = -1, last = -1;  // attributes
    bool in_order = true;
  };
  std::vector<Piece> pieces(static_cast<size_t>((f.n_features + kPiece - 1) / kPiece));
  const auto each = [&](size_t p, const auto& visit) {
    const int64_t begin = static_cast<int64_t>(p) * kPiece, end = std::min(begin + kPiece, f.n_features);
    for (int64_t i = begin; i < end; ++i)
      if (keep(i)) visit(static_cast<uint32_t>(i), f.attribute[i]);
  };
  for_each_task(n_threads, pieces.size(), [&](size_t p, int) {
    Piece piece;
    each(p, [&](uint32_t, int32_t a) {
      if (piece.n++ == 0) piece.first = a;
      piece.in_order &= a >= piece.last;
      piece.last = a;
    });
    pieces[p] = piece;
  });
  std::vector<int64_t> begin(pieces.size() + 1, 0);
  std::vector<int32_t> before(pieces.size() + 1, -1);  // the attribute of the last one in earlier pieces
  bool in_order = true;
  for (size_t p = 0; p < pieces.size(); ++p) {
    begin[p + 1] = begin[p] + pieces[p].n;
    before[p + 1] = pieces[p].n > 0 ? pieces[p].last : before[p];
    in_order &= pieces[p].in_order && (pieces[p].n == 0 || pieces[p].first >= before[p]);
  }
  FeatureGroups out;
  if (begin.back() == 0) return out;
  out.ptr.resize(static_cast<size_t>(f.n_attributes) + 1);
  out.ids.resize(static_cast<size_t>(begin.back()));
  if (in_order) {
    const auto ends_before = [&](int32_t from, int64_t to, int64_t at) {  // attributes from + 1 .. to
      std::fill(out.ptr.begin() + from + 1, out.ptr.begin() + to + 1, at);
    };
    for_each_task(n_threads, pieces.size(), [&](size_t p, int) {
      int64_t at = begin[p];
      int32_t last = before[p];
      each(p, [&](uint32_t i, int32_t a) {
        ends_before(last, a, at);
        last = a;
        out.ids[static_cast<size_t>(at++)] = i;
      });
    });
    ends_before(before.back(), f.n_attributes, begin.back());
    return out;
  }
  std::fill(out.ptr.begin(), out.ptr.end(), 0);
  for (size_t p = 0; p < pieces.size(); ++p) each(p, [&](uint32_t, int32_t a) { ++out.ptr[a + 1]; });
  std::partial_sum(out.ptr.begin(), out.ptr.end(), out.ptr.begin());
  std::vector<int64_t> next(out.ptr.begin(), out.ptr.end() - 1);
  for (size_t p = 0; p < pieces.size(); ++p) each(p, [&](uint32_t i, int32_t a) { out.ids[next[a]++] = i; });
  return out;
}

inline FeatureGroups node_features(const FeatureColumns& f, int n_threads) {
  FeatureGroups out =
      group_by_attribute(f, n_threads, [&](int64_t i) { return f.attribute[i] >= 0 && f.previous[i] < 0; });
  if (out.ptr.empty()) out.ptr.assign(static_cast<size_t>(f.n_attributes) + 1, 0);
  return out;
}
inline FeatureGroups edge_features(const FeatureColumns& f, int n_threads) {
  return group_by_attribute(f, n_threads,
                            [&](int64_t i) { return f.attribute[i] >= 0 && f.previous[i] >= 0; });
}

}  // namespace fieldcraft
