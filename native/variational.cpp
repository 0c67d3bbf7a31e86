#include "variational.hpp"

#include <algorithm>
#include <cmath>

#include "canary.hpp"
#include "clique_tree.hpp"

namespace fieldcraft {

double tree_bound(const Graph& graph, const double* tables, const Messages& messages,
                  const SpanningForests& forests, Breath breath) {
  const Local& local = messages.local();
  double total = 0;
  CliquePass pass(breath);
  for (const auto& chosen : forests.factors) {
    std::vector<int64_t> ptr{0};
    std::vector<int32_t> scope;
    std::vector<double> cells(messages.beliefs());
    for (int v = 0; v < graph.n_variables(); ++v)
      scope.push_back(v), ptr.push_back(static_cast<int64_t>(scope.size()));
    for (const int32_t f : chosen) {
      const int n = graph.arity(f);
      scope.insert(scope.end(), graph.scope_of(f), graph.scope_of(f) + n);
      ptr.push_back(static_cast<int64_t>(scope.size()));
      std::vector<int32_t> sizes;
      for (int k = 0; k < n; ++k) sizes.push_back(graph.card[graph.scope_of(f)[k]]);
      std::vector<int64_t> zeros(n, 0);
      Odometer at(sizes.data(), zeros.data(), n);
      const double* table = tables + graph.table_ptr[f];
      do {
        double score = CANARY(TREE_BOUND, *table++ / forests.share[f]);
        for (int k = 0; k < n; ++k) score -= messages.message(f, k)[at.digits()[k]];
        cells.push_back(score);
      } while (at.next());
    }
    const Graph tree(graph.card, std::vector<uint8_t>(graph.n_variables(), 0), ptr, scope);
    const CliqueTree cliques(tree, eliminate(tree, Heuristic::min_degree, INFINITY));
    total += pass.sum(tree, cliques, cells.data());
  }
  if (forests.factors.empty())
    for (int v = 0; v < graph.n_variables(); ++v)
      total += log_sum(messages.beliefs().data() + graph.state_ptr[v], graph.card[v]);
  return local.constant + total / static_cast<double>(std::max<size_t>(1, forests.factors.size()));
}

namespace {

// Expected table of f by the states of one variable, the others being independent; 0 x -inf is 0.
void add_expected(const Graph& graph, const double* table, int f, int slot, const double* q, double* out) {
  const int n = graph.arity(f);
  const int32_t* scope = graph.scope_of(f);
  if (n == 2) {
    const int own = graph.card[scope[slot]], other = graph.card[scope[1 - slot]];
    const double* p = q + graph.state_ptr[scope[1 - slot]];
    const int64_t step = slot == 0 ? 1 : own, stride = slot == 0 ? other : 1;
    for (int x = 0; x < own; ++x)
      for (int y = 0; y < other; ++y)
        if (p[y] > 0) out[x] += p[y] * table[x * stride + y * step];
    return;
  }
  std::vector<int32_t> sizes;
  for (int k = 0; k < n; ++k) sizes.push_back(graph.card[scope[k]]);
  std::vector<int64_t> zeros(n, 0);
  Odometer at(sizes.data(), zeros.data(), n);
  do {
    double mass = 1;
    for (int k = 0; k < n; ++k)
      if (k != slot) mass *= q[graph.state_ptr[scope[k]] + at.digits()[k]];
    if (mass > 0) out[at.digits()[slot]] += mass * *table;
    ++table;
  } while (at.next());
}

double bound_of(const Graph& graph, const double* tables, const double* q) {
  double total = 0;
  std::vector<double> expected;
  for (int f = 0; f < graph.n_factors(); ++f) {
    const double* table = tables + graph.table_ptr[f];
    if (graph.arity(f) == 0) {
      total += table[0];
      continue;
    }
    const int32_t v = graph.scope_of(f)[0];
    expected.assign(graph.card[v], 0.0);
    add_expected(graph, table, f, 0, q, expected.data());
    for (int32_t x = 0; x < graph.card[v]; ++x)
      if (q[graph.state_ptr[v] + x] > 0) total += q[graph.state_ptr[v] + x] * expected[x];
  }
  for (int64_t i = 0; i < graph.n_states(); ++i)
    if (q[i] > 0) total -= CANARY(MEAN_FIELD, q[i]) * std::log(q[i]);
  return total;
}

}  // namespace

MeanField mean_field(const Graph& graph, const double* tables, const Settings& settings, Breath breath,
                     double* q) {
  MeanField out;
  const Local local(graph, tables);
  const auto normalise = [](const double* x, int64_t n, double* p) {
    const double log_z = log_sum(x, n);
    for (int64_t i = 0; i < n; ++i) p[i] = x[i] == kForbidden ? 0.0 : std::exp(x[i] - log_z);
  };
  for (int v = 0; v < graph.n_variables(); ++v)
    normalise(local.scores.data() + graph.state_ptr[v], graph.card[v], q + graph.state_ptr[v]);
  std::vector<double> score;
  out.progress.converged = false;
  while (!out.progress.converged && out.progress.iterations < settings.max_iterations) {
    double largest = 0;
    for (int v = 0; v < graph.n_variables(); ++v) {
      double* p = q + graph.state_ptr[v];
      score.assign(local.scores.data() + graph.state_ptr[v], local.scores.data() + graph.state_ptr[v + 1]);
      int64_t work = 0;
      for (int64_t k = graph.factor_ptr[v]; k < graph.factor_ptr[v + 1]; ++k) {
        const int32_t f = graph.factor_of[k];
        if (graph.arity(f) < 2) continue;
        add_expected(graph, tables + graph.table_ptr[f], f, graph.slot_of[k], q, score.data());
        work += graph.cells(f);
      }
      if (*std::max_element(score.begin(), score.end()) == kForbidden) {
        out.bound = kForbidden;
        return out;
      }
      std::vector<double> next(graph.card[v]);
      normalise(score.data(), graph.card[v], next.data());
      for (int32_t x = 0; x < graph.card[v]; ++x)
        largest = std::max(largest, std::abs(next[x] - p[x])), p[x] = next[x];
      breath.after(work);
    }
    ++out.progress.iterations;
    out.progress.residual = largest;
    out.progress.converged = largest <= settings.tolerance;
  }
  out.bound = bound_of(graph, tables, q);
  return out;
}

void independent_factors(const Graph& graph, const double* variables, double* factors) {
  for (int f = 0; f < graph.n_factors(); ++f) {
    const int n = graph.arity(f);
    std::vector<int32_t> sizes;
    for (int k = 0; k < n; ++k) sizes.push_back(graph.card[graph.scope_of(f)[k]]);
    std::vector<int64_t> zeros(n, 0);
    Odometer at(sizes.data(), zeros.data(), n);
    double* out = factors + graph.table_ptr[f];
    do {
      double mass = 1;
      for (int k = 0; k < n; ++k) mass *= variables[graph.state_ptr[graph.scope_of(f)[k]] + at.digits()[k]];
      *out++ = mass;
    } while (at.next());
  }
}

}  // namespace fieldcraft
