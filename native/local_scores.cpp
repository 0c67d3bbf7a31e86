// Which states are possible at all, and the scores of single variables.
#include <deque>

#include "graph_set.hpp"
#include "messages.hpp"

namespace fieldcraft {
namespace {

// Takes away the states without a possible cell in one factor; calls changed(v) for variables that lost some.
template <class Changed>
void revise(const Graph& graph, const double* table, int f, std::vector<double>& scores,
            const Changed& changed) {
  const int n = graph.arity(f);
  const int32_t* scope = graph.scope_of(f);
  std::vector<int32_t> sizes(n);
  std::vector<int64_t> strides(n, 0), first(n);
  int64_t total = 0;
  for (int k = 0; k < n; ++k) sizes[k] = graph.card[scope[k]], first[k] = total, total += sizes[k];
  std::vector<uint8_t> supported(total, 0);
  Odometer at(sizes.data(), strides.data(), n);
  int64_t cell = 0;
  do {
    bool possible = table[cell++] != kForbidden;
    for (int k = 0; possible && k < n; ++k)
      possible = scores[graph.state_ptr[scope[k]] + at.digits()[k]] != kForbidden;
    if (possible)
      for (int k = 0; k < n; ++k) supported[first[k] + at.digits()[k]] = 1;
  } while (at.next());
  for (int k = 0; k < n; ++k) {
    bool lost = false, left = false;
    for (int32_t x = 0; x < sizes[k]; ++x) {
      double& score = scores[graph.state_ptr[scope[k]] + x];
      if (!supported[first[k] + x] && score != kForbidden) score = kForbidden, lost = true;
      left = left || score != kForbidden;
    }
    if (!left) throw_impossible();
    if (lost) changed(scope[k]);
  }
}

}  // namespace

Local::Local(const Graph& graph, const double* tables) : scores(graph.n_states(), 0.0) {
  bool forbids = false;
  for (int f = 0; f < graph.n_factors(); ++f) {
    const double* table = tables + graph.table_ptr[f];
    for (int64_t i = 0; i < graph.cells(f); ++i) forbids = forbids || table[i] == kForbidden;
    if (graph.arity(f) == 0) constant += table[0];
    if (graph.arity(f) > 1) linking.push_back(f);
    if (graph.arity(f) != 1) continue;
    double* local = scores.data() + graph.state_ptr[graph.scope_of(f)[0]];
    for (int64_t i = 0; i < graph.cells(f); ++i) local[i] += table[i];
  }
  if (!forbids) return;
  if (constant == kForbidden) throw_impossible();
  for (int v = 0; v < graph.n_variables(); ++v) {
    bool left = false;
    for (int64_t i = graph.state_ptr[v]; i < graph.state_ptr[v + 1]; ++i)
      left = left || scores[i] != kForbidden;
    if (!left) throw_impossible();
  }
  std::deque<int32_t> queue(linking.begin(), linking.end());
  std::vector<uint8_t> waits(graph.n_factors(), 1);
  while (!queue.empty()) {
    const int32_t f = queue.front();
    queue.pop_front();
    waits[f] = 0;
    revise(graph, tables + graph.table_ptr[f], f, scores, [&](int32_t v) {
      for (int64_t k = graph.factor_ptr[v]; k < graph.factor_ptr[v + 1]; ++k) {
        const int32_t g = graph.factor_of[k];
        if (g != f && graph.arity(g) > 1 && !waits[g]) waits[g] = 1, queue.push_back(g);
      }
    });
  }
}

}  // namespace fieldcraft
