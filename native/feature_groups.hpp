// The features of each attribute, in the order of their numbers.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "scoring_layout.hpp"

namespace fieldcraft {

struct FeatureGroups {
  std::vector<int64_t> ptr;   // [A + 1]
  std::vector<uint32_t> ids;  // features of attribute a: ptr[a] .. ptr[a + 1]
};

// Of the features that keep(feature) chooses; all of these must have an attribute.
template <class Keep>
FeatureGroups group_by_attribute(const FeatureColumns& f, const Keep& keep) {
  FeatureGroups out;
  out.ptr.assign(f.n_attributes + 1, 0);
  for (int64_t i = 0; i < f.n_features; ++i)
    if (keep(i)) ++out.ptr[f.attribute[i] + 1];
  std::partial_sum(out.ptr.begin(), out.ptr.end(), out.ptr.begin());
  out.ids.resize(out.ptr.back());
  std::vector<int64_t> next(out.ptr.begin(), out.ptr.end() - 1);
  for (int64_t i = 0; i < f.n_features; ++i)
    if (keep(i)) out.ids[next[f.attribute[i]]++] = static_cast<uint32_t>(i);
  return out;
}

inline FeatureGroups node_features(const FeatureColumns& f) {
  return group_by_attribute(f, [&](int64_t i) { return f.attribute[i] >= 0 && f.previous[i] < 0; });
}
inline FeatureGroups edge_features(const FeatureColumns& f) {
  return group_by_attribute(f, [&](int64_t i) { return f.attribute[i] >= 0 && f.previous[i] >= 0; });
}

}  // namespace fieldcraft
