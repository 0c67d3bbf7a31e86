// The features of each attribute, in the order of their numbers.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "raw_vector.hpp"
#include "scoring_layout.hpp"

namespace fieldcraft {

struct FeatureGroups {
  RawVector<int64_t> ptr;   // [A + 1]
  RawVector<uint32_t> ids;  // features of attribute a: ptr[a] .. ptr[a + 1]
};

// Of the features that keep(feature) chooses; all of these must have an attribute. An index is mostly in the
// order of the attributes, and then nothing is sorted.
template <class Keep>
FeatureGroups group_by_attribute(const FeatureColumns& f, const Keep& keep) {
  FeatureGroups out;
  out.ptr.assign(f.n_attributes + 1, 0);
  out.ids.reserve(f.n_features);
  bool in_order = true;
  int32_t last = 0;
  for (int64_t i = 0; i < f.n_features; ++i) {
    if (!keep(i)) continue;
    ++out.ptr[f.attribute[i] + 1];
    out.ids.push_back(static_cast<uint32_t>(i));
    in_order &= f.attribute[i] >= last;
    last = f.attribute[i];
  }
  std::partial_sum(out.ptr.begin(), out.ptr.end(), out.ptr.begin());
  if (in_order) return out;
  std::vector<int64_t> next(out.ptr.begin(), out.ptr.end() - 1);
  const RawVector<uint32_t> kept = out.ids;
  for (const uint32_t i : kept) out.ids[next[f.attribute[i]]++] = i;
  return out;
}

inline FeatureGroups node_features(const FeatureColumns& f) {
  return group_by_attribute(f, [&](int64_t i) { return f.attribute[i] >= 0 && f.previous[i] < 0; });
}
inline FeatureGroups edge_features(const FeatureColumns& f) {
  return group_by_attribute(f, [&](int64_t i) { return f.attribute[i] >= 0 && f.previous[i] >= 0; });
}

}  // namespace fieldcraft
