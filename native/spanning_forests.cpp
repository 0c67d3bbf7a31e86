#include "spanning_forests.hpp"

#include <algorithm>
#include <numeric>

namespace fieldcraft {
namespace {

constexpr int kFewest = 8;  // forests, where one does not suffice

}  // namespace

SpanningForests::SpanningForests(const Graph& graph) : share(graph.n_factors(), 1.0) {
  std::vector<int32_t> linking, root(graph.n_variables());
  for (int f = 0; f < graph.n_factors(); ++f)
    if (graph.arity(f) > 1) linking.push_back(f);
  std::vector<int32_t> covered(graph.n_factors(), 0);
  std::vector<uint64_t> key(graph.n_factors());
  Uniform random(0, 0);
  const auto find = [&](int32_t v) {
    while (root[v] != v) v = root[v] = root[root[v]];
    return v;
  };
  bool all = linking.empty();
  std::vector<int32_t> roots;
  for (int round = 0; (!all || round < kFewest) && !linking.empty(); ++round) {
    for (const int32_t f : linking) key[f] = random.bits();
    std::sort(linking.begin(), linking.end(), [&](int32_t a, int32_t b) {
      return covered[a] != covered[b] ? covered[a] < covered[b] : key[a] < key[b];
    });
    std::iota(root.begin(), root.end(), 0);
    std::vector<int32_t> chosen;
    for (const int32_t f : linking) {
      roots.clear();
      for (int k = 0; k < graph.arity(f); ++k) roots.push_back(find(graph.scope_of(f)[k]));
      std::sort(roots.begin(), roots.end());
      if (std::adjacent_find(roots.begin(), roots.end()) != roots.end()) continue;
      for (const int32_t r : roots) root[r] = roots[0];
      chosen.push_back(f), ++covered[f];
    }
    if (round == 0 && chosen.size() == linking.size()) {
      order(graph, chosen);
      return;
    }
    order(graph, chosen);
    all = std::all_of(linking.begin(), linking.end(), [&](int32_t f) { return covered[f] > 0; });
  }
  for (const int32_t f : linking)
    share[f] = static_cast<double>(covered[f]) / static_cast<double>(factors.size());
}

// From each root outwards: a factor's messages to the variables away from the root go down, the one towards
// it goes up.
void SpanningForests::order(const Graph& graph, const std::vector<int32_t>& chosen) {
  std::vector<uint8_t> in_forest(graph.n_factors(), 0), seen(graph.n_variables(), 0);
  for (const int32_t f : chosen) in_forest[f] = 1;
  std::vector<Step> up, down;
  std::vector<int32_t> queue;
  for (int start = 0; start < graph.n_variables(); ++start) {
    if (seen[start]) continue;
    seen[start] = 1;
    queue.assign(1, start);
    for (size_t i = 0; i < queue.size(); ++i) {
      const int32_t v = queue[i];
      for (int64_t k = graph.factor_ptr[v]; k < graph.factor_ptr[v + 1]; ++k) {
        const int32_t f = graph.factor_of[k];
        if (in_forest[f] != 1) continue;
        in_forest[f] = 2;
        up.push_back({f, graph.slot_of[k]});
        for (int slot = 0; slot < graph.arity(f); ++slot) {
          const int32_t u = graph.scope_of(f)[slot];
          if (seen[u]) continue;
          seen[u] = 1, queue.push_back(u), down.push_back({f, slot});
        }
      }
    }
  }
  std::reverse(up.begin(), up.end());
  std::vector<int32_t> sorted(chosen);
  std::sort(sorted.begin(), sorted.end());
  factors.push_back(std::move(sorted)), upward.push_back(std::move(up)), downward.push_back(std::move(down));
}

}  // namespace fieldcraft
