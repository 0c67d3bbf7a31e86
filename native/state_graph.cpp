#include "state_graph.hpp"

#include <algorithm>
#include <stdexcept>

namespace fieldcraft {

StateGraph::StateGraph(std::vector<int32_t> sources, std::vector<int32_t> targets,
                       std::vector<uint8_t> may_start, std::vector<uint8_t> may_stop,
                       std::vector<int32_t> labels, std::vector<int32_t> classes, int labels_in_all)
    : source(std::move(sources)),
      target(std::move(targets)),
      starts(std::move(may_start)),
      stops(std::move(may_stop)),
      label_of(std::move(labels)),
      node_class(std::move(classes)),
      n_labels(labels_in_all) {
  const int64_t n = S(), e = E();
  if (n < 1 || n > 65535) throw std::invalid_argument("a chain needs between 1 and 65535 states");
  const bool fits = static_cast<int64_t>(target.size()) == e && static_cast<int64_t>(starts.size()) == n &&
                    static_cast<int64_t>(stops.size()) == n && static_cast<int64_t>(node_class.size()) == n;
  if (!fits) throw std::invalid_argument("the columns of a state space differ in length");
  const auto inside = [&](const std::vector<int32_t>& column, int64_t limit) {
    return std::all_of(column.begin(), column.end(), [&](int32_t x) { return x >= 0 && x < limit; });
  };
  if (!inside(source, n) || !inside(target, n) || !inside(label_of, n_labels) || !inside(node_class, 65535))
    throw std::invalid_argument("a state space has a number out of range");
  n_classes = *std::max_element(node_class.begin(), node_class.end()) + 1;
  out_ptr.assign(n + 1, 0), in_ptr.assign(n + 1, 0), in_edge.resize(e);
  for (int64_t k = 0; k < e; ++k) {
    const bool follows = k > 0 && source[k] == source[k - 1] && target[k] == target[k - 1] + 1;
    if (k > 0 && (source[k] < source[k - 1] || (source[k] == source[k - 1] && target[k] <= target[k - 1])))
      throw std::invalid_argument("transitions must be sorted by source, then target");
    if (follows)
      ++runs.back().n;
    else
      runs.push_back({source[k], target[k], 1, k});
    ++out_ptr[source[k] + 1], ++in_ptr[target[k] + 1];
  }
  for (int64_t s = 0; s < n; ++s) out_ptr[s + 1] += out_ptr[s], in_ptr[s + 1] += in_ptr[s];
  std::vector<int64_t> at(in_ptr.begin(), in_ptr.end() - 1);
  came_from.assign(n, -1);
  for (int64_t k = 0; k < e; ++k) {
    in_edge[at[target[k]]++] = k;
    int32_t& from = came_from[target[k]];
    folds = folds && (from < 0 || from == node_class[source[k]]);
    from = node_class[source[k]];
  }
  for (int64_t j = 0; j < e; ++j) {
    const int32_t x = source[in_edge[j]], y = target[in_edge[j]];
    const bool follows =
        j > 0 && reversed.back().source == y && reversed.back().target + reversed.back().n == x;
    if (follows)
      ++reversed.back().n;
    else
      reversed.push_back({y, x, 1, j});
  }
}

void StateGraph::trace(const std::vector<int64_t>& offsets, const uint8_t* allowed, int64_t* counts,
                       int64_t* stuck) const {
  std::vector<int32_t> now, next;
  std::vector<int64_t> seen(S(), -1);
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    stuck[i] = -1;
    now.clear();
    for (int64_t t = offsets[i]; t < offsets[i + 1] && stuck[i] < 0; ++t) {
      const uint8_t* row = allowed + t * n_labels;
      next.clear();
      if (t == offsets[i]) {
        for (int32_t s = 0; s < S(); ++s)
          if (starts[s] && row[label_of[s]]) next.push_back(s);
      } else {
        for (const int32_t x : now)
          for (int64_t k = out_ptr[x]; k < out_ptr[x + 1]; ++k) {
            const int32_t y = target[k];
            if (!row[label_of[y]]) continue;
            ++counts[k];
            if (seen[y] != t) seen[y] = t, next.push_back(y);
          }
      }
      std::swap(now, next);
      if (now.empty()) stuck[i] = t - offsets[i];
    }
    const bool ends = std::any_of(now.begin(), now.end(), [&](int32_t s) { return stops[s] != 0; });
    if (stuck[i] < 0 && offsets[i] < offsets[i + 1] && !ends) stuck[i] = offsets[i + 1] - offsets[i];
    std::fill(seen.begin(), seen.end(), -1);
  }
}

}  // namespace fieldcraft
