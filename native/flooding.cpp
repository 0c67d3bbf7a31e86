// Layout: a message and a cavity [card] per edge (place in the graph's scopes); tables are exponentiated once
// and have a largest entry of 1, as messages and local scores do.
//
// Range: a table's finite entries differ by at most e^200, and the largest entry of a cavity (a product of
// messages) must stay above 1e-200: an entry that underflows beside it is below 1e-20 of any result.
// Otherwise the caller uses logarithms. Sweeps are cut into fixed ranges of variables and factors, and their
// residuals are combined by max: the bits do not depend on the number of threads.
#include "flooding.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "canary.hpp"
#include "meeting.hpp"

namespace fieldcraft {
namespace {

constexpr double kWidest = 200, kTiny = 1e-200;
constexpr int64_t kEdgesPerThread = 2000;

class Flood {
 public:
  Flood(const Graph& graph, const double* tables, const Local& local, double damping)
      : graph_(graph), local_(local), damping_(damping), at_(graph.scope.size(), -1) {
    int64_t total = 0;
    for (const int32_t f : local.linking)
      for (int64_t e = graph.scope_ptr[f]; e < graph.scope_ptr[f + 1]; ++e)
        at_[e] = total, total += graph.card[graph.scope[e]];
    message.assign(total, 1.0), cavity_.assign(total, 1.0);
    usable_ = exponentiate(tables);
    for (int v = 0; v < graph.n_variables(); ++v)
      for (int64_t k = graph.factor_ptr[v]; k < graph.factor_ptr[v + 1]; ++k)
        if (at_[graph.edge_of[k]] >= 0)
          places_.push_back(at_[graph.edge_of[k]]);
        else
          places_.push_back(-1);
  }
  bool usable() const { return usable_; }
  int64_t place(int64_t edge) const { return at_[edge]; }

  // Products of local scores and the other messages; false where one gets too small.
  bool variables(int first, int last) {
    for (int v = first; v < last; ++v) {
      const int64_t begin = graph_.factor_ptr[v], end = graph_.factor_ptr[v + 1];
      const double* local = exp_local_.data() + graph_.state_ptr[v];
      const bool fine = graph_.card[v] == 2   ? products<2>(local, begin, end, 2)
                        : graph_.card[v] == 3 ? products<3>(local, begin, end, 3)
                                              : products<0>(local, begin, end, graph_.card[v]);
      if (!fine) return false;
    }
    return true;
  }

  // New messages; returns the largest change.
  double factors(size_t first, size_t last) {
    double largest = 0;
    for (size_t i = first; i < last; ++i) {
      const int32_t f = local_.linking[i];
      const int64_t e = graph_.scope_ptr[f];
      const int a = graph_.card[graph_.scope[e]], b = graph_.card[graph_.scope[e + 1]];
      const double* table = exp_tables_.data() + table_at_[i];
      const double moved = a == 2 && b == 2   ? pair<2>(table, at_[e], at_[e + 1], 2, 2)
                           : a == 3 && b == 3 ? pair<3>(table, at_[e], at_[e + 1], 3, 3)
                                              : pair<0>(table, at_[e], at_[e + 1], a, b);
      largest = std::max(largest, moved);
    }
    return largest;
  }

  std::vector<double> message;

 private:
  bool exponentiate(const double* tables) {
    for (const int32_t f : local_.linking) {
      const double* table = tables + graph_.table_ptr[f];
      if (graph_.arity(f) != 2) return false;
      table_at_.push_back(static_cast<int64_t>(exp_tables_.size()));
      if (!append(table, graph_.cells(f), exp_tables_)) return false;
    }
    for (int v = 0; v < graph_.n_variables(); ++v)
      if (!append(local_.scores.data() + graph_.state_ptr[v], graph_.card[v], exp_local_)) return false;
    return true;
  }
  static bool append(const double* x, int64_t n, std::vector<double>& out) {
    double top = kForbidden, low = -kForbidden;
    for (int64_t i = 0; i < n; ++i)
      if (x[i] != kForbidden) top = std::max(top, x[i]), low = std::min(low, x[i]);
    if (top - low > kWidest) return false;
    for (int64_t i = 0; i < n; ++i) out.push_back(x[i] == kForbidden ? 0.0 : std::exp(x[i] - top));
    return true;
  }

  template <int Card>
  bool products(const double* local, int64_t begin, int64_t end, int given) {
    const int card = Card != 0 ? Card : given;
    double running[Card != 0 ? Card : 256];
    std::vector<double> large;
    double* product = running;
    if (Card == 0 && card > 256) large.resize(card), product = large.data();
    for (int x = 0; x < card; ++x) product[x] = local[x];
    for (int64_t k = begin; k < end; ++k) {
      if (places_[k] < 0) continue;
      double* c = cavity_.data() + places_[k];
      const double* m = message.data() + places_[k];
      for (int x = 0; x < card; ++x) c[x] = product[x], product[x] *= m[x];
    }
    for (int x = 0; x < card; ++x) product[x] = 1;
    bool fine = true;
    for (int64_t k = end; k-- > begin;) {
      if (places_[k] < 0) continue;
      double *c = cavity_.data() + places_[k], top = 0;
      const double* m = message.data() + places_[k];
      for (int x = 0; x < card; ++x) c[x] *= product[x], product[x] *= m[x], top = std::max(top, c[x]);
      fine = fine && top > kTiny;
    }
    return fine;
  }

  template <int Card>
  double pair(const double* table, int64_t to_first, int64_t to_second, int given_a, int given_b) {
    const int a = Card != 0 ? Card : given_a, b = Card != 0 ? Card : given_b;
    const double *ca = cavity_.data() + to_first, *cb = cavity_.data() + to_second;
    double first[Card != 0 ? Card : 256], second[Card != 0 ? Card : 256];
    std::vector<double> large;
    double *to_a = first, *to_b = second;
    if (Card == 0 && std::max(a, b) > 256) large.resize(a + b), to_a = large.data(), to_b = to_a + a;
    for (int y = 0; y < b; ++y) to_b[y] = 0;
    for (int x = 0; x < a; ++x) {
      const double* row = table + x * b;
      double total = 0;
      for (int y = 0; y < b; ++y) total += row[y] * cb[y], to_b[y] += row[y] * ca[x];
      to_a[x] = total;
    }
    to_a[0] = CANARY(FLOODING, to_a[0]);
    return std::max(put(to_a, a, message.data() + to_first), put(to_b, b, message.data() + to_second));
  }

  double put(const double* next, int n, double* m) const {
    double top = 0, largest = 0;
    for (int x = 0; x < n; ++x) top = std::max(top, next[x]);
    const double scale = CANARY_ELSEWHERE(THREADS, 1.0) / top;
    for (int x = 0; x < n; ++x) {
      const double value = next[x] * scale;
      largest = std::max(largest, std::abs(value - m[x]));
      m[x] = damping_ == 0 ? value : (1 - damping_) * value + damping_ * m[x];
    }
    return largest;
  }

  const Graph& graph_;
  const Local& local_;
  const double damping_;
  std::vector<int64_t> at_, table_at_, places_;
  std::vector<double> cavity_, exp_tables_, exp_local_;
  bool usable_ = false;
};

// Part t of n things cut into m parts.
template <class N>
N part_begin(N n, int t, int m) {
  return static_cast<N>(static_cast<int64_t>(n) * t / m);
}

}  // namespace

bool flood(const Graph& graph, const double* tables, const Settings& settings, Watch& watch,
           Messages& messages, Progress& progress) {
  const Local& local = messages.local();
  Flood work(graph, tables, local, settings.damping);
  if (!work.usable()) return false;
  const int wanted = static_cast<int>(
      std::min<int64_t>(settings.n_threads, 1 + static_cast<int64_t>(graph.scope.size()) / kEdgesPerThread));
  std::vector<double> moved(wanted, 0);
  std::atomic<bool> small{false};
  bool done = local.linking.empty();
  Failure failure;
  std::unique_ptr<Meeting> meeting;
  run_team(
      wanted, [&](int m) { meeting = std::make_unique<Meeting>(m); },
      [&](int thread, int m) {
        const int v0 = part_begin(graph.n_variables(), thread, m),
                  v1 = part_begin(graph.n_variables(), thread + 1, m);
        const size_t f0 = part_begin(local.linking.size(), thread, m),
                     f1 = part_begin(local.linking.size(), thread + 1, m);
        while (!done) {
          if (!work.variables(v0, v1)) small = true;
          meeting->wait();
          if (!small) moved[thread] = work.factors(f0, f1);
          if (thread == 0) failure.guard([&] { watch.check(); });
          meeting->wait([&] {
            progress.residual = *std::max_element(moved.begin(), moved.begin() + m);
            ++progress.iterations;
            done = small || failure.happened() || progress.residual <= settings.tolerance ||
                   progress.iterations >= settings.max_iterations;
          });
        }
      });
  failure.rethrow();
  if (small) {
    progress = Progress();
    return false;
  }
  progress.converged = progress.residual <= settings.tolerance;
  for (const int32_t f : local.linking)
    for (int k = 0; k < 2; ++k) {
      const int32_t v = graph.scope_of(f)[k];
      const double* m = work.message.data() + work.place(graph.scope_ptr[f] + k);
      double* out = messages.message(f, k);
      for (int32_t x = 0; x < graph.card[v]; ++x)
        out[x] = local.scores[graph.state_ptr[v] + x] == kForbidden || m[x] == 0 ? 0.0 : std::log(m[x]);
    }
  messages.refresh();
  return true;
}

}  // namespace fieldcraft
