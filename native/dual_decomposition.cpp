#include <algorithm>
#include <cmath>

#include "canary.hpp"
#include "graph_decoding.hpp"

namespace fieldcraft {

int64_t conditional_modes(const Graph& graph, const double* tables, const Local& local, int max_iterations,
                          Breath breath, int32_t* state) {
  for (int v = 0; v < graph.n_variables(); ++v) {
    const double* own = local.scores.data() + graph.state_ptr[v];
    if (state[v] < 0 || state[v] >= graph.card[v])
      state[v] = static_cast<int32_t>(std::max_element(own, own + graph.card[v]) - own);
  }
  std::vector<double> score;
  std::vector<int32_t> forbidding;
  int64_t sweeps = 0;
  for (bool changed = true; changed && sweeps < max_iterations; ++sweeps) {
    changed = false;
    for (int v = 0; v < graph.n_variables(); ++v) {
      const int32_t card = graph.card[v];
      if (card == 1) continue;
      score.assign(card, 0.0), forbidding.assign(card, 0);
      for (int64_t k = graph.factor_ptr[v]; k < graph.factor_ptr[v + 1]; ++k) {
        const int32_t f = graph.factor_of[k];
        int64_t stride = 1, cell = 0, own = 0;
        for (int j = graph.arity(f); j-- > 0;) {
          const int32_t u = graph.scope_of(f)[j];
          (j == graph.slot_of[k] ? own : cell) += j == graph.slot_of[k] ? stride : stride * state[u];
          stride *= graph.card[u];
        }
        const double* table = tables + graph.table_ptr[f] + cell;
        for (int32_t x = 0; x < card; ++x)
          table[x * own] == kForbidden ? void(++forbidding[x]) : void(score[x] += table[x * own]);
      }
      int32_t best = state[v];
      for (int32_t x = 0; x < card; ++x)
        if (forbidding[x] < forbidding[best] || (forbidding[x] == forbidding[best] && score[x] > score[best]))
          best = x;
      if (best != state[v]) state[v] = best, changed = true;
      breath.after(card * graph.degree(v));
    }
  }
  return sweeps;
}

double trivial_bound(const Graph& graph, const double* tables, const Local& local) {
  double total = local.constant;
  for (int v = 0; v < graph.n_variables(); ++v)
    total += *std::max_element(local.scores.data() + graph.state_ptr[v],
                               local.scores.data() + graph.state_ptr[v + 1]);
  for (const int32_t f : local.linking)
    total += *std::max_element(tables + graph.table_ptr[f], tables + graph.table_ptr[f + 1]);
  return total;
}

namespace {

// Multipliers per edge, and beliefs b_v = local_v + sum of them.
class Dual {
 public:
  Dual(const Graph& graph, const double* tables, Breath breath)
      : graph_(graph), tables_(tables), local_(graph, tables), at_(graph.scope.size(), -1), breath_(breath) {
    int64_t total = 0, most = 1;
    for (const int32_t f : local_.linking) {
      for (int64_t e = graph.scope_ptr[f]; e < graph.scope_ptr[f + 1]; ++e)
        at_[e] = total, total += graph.card[graph.scope[e]];
      most = std::max(most, graph.cells(f));
    }
    multipliers_.assign(total, 0.0), step_.assign(total, 0.0), scratch_.resize(most);
    beliefs_ = local_.scores;
  }
  const Local& local() const { return local_; }

  void mplp_sweep() {
    for (const int32_t f : local_.linking) {
      const int n = graph_.arity(f);
      for (int k = 0; k < n; ++k) shift(f, k, -1);  // beliefs without f
      best_.clear(), first_.clear();
      for (int k = 0; k < n; ++k)
        first_.push_back(static_cast<int64_t>(best_.size())),
            best_.resize(best_.size() + card(f, k), kForbidden);
      if (n == 2)
        best_of_pair(f);
      else
        each_cell(f, [&](const std::vector<int32_t>& x, double table) {
          double score = table;
          for (int k = 0; k < n; ++k) score += belief(f, k)[x[k]];
          for (int k = 0; k < n; ++k) best_[first_[k] + x[k]] = std::max(best_[first_[k] + x[k]], score);
        });
      for (int k = 0; k < n; ++k) {
        double *l = multiplier(f, k), *b = belief(f, k);
        for (int32_t x = 0; x < card(f, k); ++x)
          l[x] = b[x] == kForbidden ? 0.0 : best_[first_[k] + x] / n - b[x];
        shift(f, k, 1);
      }
    }
  }

  // One step against the subgradient; bound - value sets its length.
  void subgradient_step(double gap, int since_better) {
    std::fill(step_.begin(), step_.end(), 0.0);
    double squares = 0;
    std::vector<int32_t> best;
    for (const int32_t f : local_.linking) {
      double top = kForbidden;
      each_cell(f, [&](const std::vector<int32_t>& x, double table) {
        const double score = reduced(f, x, table);
        if (score > top) top = score, best = x;
      });
      for (int k = 0; k < graph_.arity(f); ++k) {
        const double* b = belief(f, k);
        const auto own = std::max_element(b, b + card(f, k)) - b;
        double* g = step_.data() + at_[graph_.scope_ptr[f] + k];
        g[own] += 1, g[best[k]] -= 1;
        if (own != best[k]) squares += 2;
      }
    }
    if (squares == 0) return;
    const double length = gap / squares / (1 + 0.1 * since_better);
    for (size_t i = 0; i < step_.size(); ++i) multipliers_[i] -= length * step_[i];
    beliefs_ = local_.scores;
    for (const int32_t f : local_.linking)
      for (int k = 0; k < graph_.arity(f); ++k) shift(f, k, 1);
  }

  double bound() {
    double total = local_.constant;
    for (int v = 0; v < graph_.n_variables(); ++v)
      total += CANARY(DUAL_BOUND, *std::max_element(beliefs_.data() + graph_.state_ptr[v],
                                                    beliefs_.data() + graph_.state_ptr[v + 1]));
    for (const int32_t f : local_.linking) {
      double top = kForbidden;
      if (graph_.arity(f) == 2)
        top = top_of_pair(f);
      else
        each_cell(f, [&](const std::vector<int32_t>& x, double table) {
          top = std::max(top, reduced(f, x, table));
        });
      total += top;
    }
    return total;
  }

  void argmax(std::vector<int32_t>& assignment) const {
    for (int v = 0; v < graph_.n_variables(); ++v) {
      const double* b = beliefs_.data() + graph_.state_ptr[v];
      assignment[v] = static_cast<int32_t>(std::max_element(b, b + graph_.card[v]) - b);
    }
  }

 private:
  int32_t card(int f, int k) const { return graph_.card[graph_.scope_of(f)[k]]; }
  double* multiplier(int f, int k) { return multipliers_.data() + at_[graph_.scope_ptr[f] + k]; }
  double* belief(int f, int k) { return beliefs_.data() + graph_.state_ptr[graph_.scope_of(f)[k]]; }
  void shift(int f, int k, double sign) {
    double *l = multiplier(f, k), *b = belief(f, k);
    for (int32_t x = 0; x < card(f, k); ++x) b[x] += sign * l[x];
  }
  double reduced(int f, const std::vector<int32_t>& x, double table) {
    for (int k = 0; k < graph_.arity(f); ++k)
      table = belief(f, k)[x[k]] == kForbidden ? kForbidden : table - multiplier(f, k)[x[k]];
    return table;
  }
  // columns[y] = largest of first[x] + table[x, y] + second[y] over x; each row's largest goes to rows, if
  // wanted.
  void scan_pair(int f, const double* first, const double* second, double* columns, double* rows) {
    const int32_t a = card(f, 0), b = card(f, 1);
    const double* table = tables_ + graph_.table_ptr[f];
    for (int32_t x = 0; x < a; ++x, table += b) {
      double *row = scratch_.data(), top = kForbidden;
      for (int32_t y = 0; y < b; ++y) row[y] = table[y] + first[x] + second[y];
      for (int32_t y = 0; y < b; ++y) columns[y] = std::max(columns[y], row[y]);
      if (rows == nullptr) continue;
      for (int32_t y = 0; y < b; ++y) top = std::max(top, row[y]);
      rows[x] = top;
    }
    breath_.after(graph_.cells(f));
  }
  void best_of_pair(int f) {
    scan_pair(f, belief(f, 0), belief(f, 1), best_.data() + first_[1], best_.data() + first_[0]);
  }
  double top_of_pair(int f) {
    const int32_t a = card(f, 0), b = card(f, 1);
    best_.resize(a + 2 * b);
    double *first = best_.data(), *second = first + a, *columns = second + b;
    for (int32_t x = 0; x < a; ++x)
      first[x] = belief(f, 0)[x] == kForbidden ? kForbidden : -multiplier(f, 0)[x];
    for (int32_t y = 0; y < b; ++y)
      second[y] = belief(f, 1)[y] == kForbidden ? kForbidden : -multiplier(f, 1)[y], columns[y] = kForbidden;
    scan_pair(f, first, second, columns, nullptr);
    return *std::max_element(columns, columns + b);
  }
  template <class Visit>
  void each_cell(int f, const Visit& visit) {
    const int n = graph_.arity(f);
    const double* table = tables_ + graph_.table_ptr[f];
    digits_.assign(n, 0);
    if (n == 2) {
      for (digits_[0] = 0; digits_[0] < card(f, 0); ++digits_[0])
        for (digits_[1] = 0; digits_[1] < card(f, 1); ++digits_[1]) visit(digits_, *table++);
    } else {
      std::vector<int32_t> sizes;
      for (int k = 0; k < n; ++k) sizes.push_back(card(f, k));
      std::vector<int64_t> zeros(n, 0);
      Odometer at(sizes.data(), zeros.data(), n);
      do visit(at.digits(), *table++);
      while (at.next());
    }
    breath_.after(graph_.cells(f));
  }

  const Graph& graph_;
  const double* tables_;
  Local local_;
  std::vector<int64_t> at_, first_;
  std::vector<double> multipliers_, step_, beliefs_, scratch_, best_;
  std::vector<int32_t> digits_;
  Breath breath_;
};

}  // namespace

DualResult dual_decomposition(const Graph& graph, const double* tables, bool subgradient, int max_iterations,
                              double tolerance, Breath breath) {
  Dual dual(graph, tables, breath);
  DualResult out;
  out.bound = dual.bound();
  out.assignment.assign(graph.n_variables(), 0);
  std::vector<int32_t> state(graph.n_variables(), -1);
  const auto consider = [&](bool polish) {
    dual.argmax(state);
    if (polish) conditional_modes(graph, tables, dual.local(), 100, breath, state.data());
    const double value = graph.score(tables, state.data());
    if (value > out.value) out.value = value, out.assignment = state;
  };
  consider(true);
  int since_better = 0;
  out.progress.converged = false;
  while (out.progress.iterations < max_iterations) {
    const double gap = out.bound - out.value, scale = std::max(1.0, std::abs(out.bound));
    out.progress.residual = gap;
    if (gap <= 1e-9 * scale) {
      out.progress.converged = true;
      break;
    }
    ++out.progress.iterations;
    if (subgradient)
      dual.subgradient_step(std::isfinite(gap) ? gap : scale, since_better);
    else
      dual.mplp_sweep();
    const double bound = dual.bound(), better = out.bound - bound;
    since_better = better > 0 ? since_better : since_better + 1;
    out.bound = std::min(out.bound, bound);
    consider(out.progress.iterations % 10 == 0);
    if (!subgradient && better <= tolerance * scale) {
      out.progress.converged = true;  // of the bound: the gap stays
      break;
    }
  }
  consider(true);
  return out;
}

}  // namespace fieldcraft
