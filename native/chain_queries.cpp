// Further queries of a chain: probabilities of windows, samples, the k best labellings.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "canary.hpp"
#include "chain.hpp"
#include "kernels.hpp"

namespace fieldcraft {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
constexpr int64_t kEntryWork = 64;  // multiplications that one entry of a list of best prefixes is worth

// The index at which the running sum of `mass` passes uniform * total; never one without mass.
int draw(const std::vector<double>& mass, double uniform) {
  double total = 0;
  for (double m : mass) total += m;
  double left = uniform * total;
  int chosen = -1;
  for (int y = 0; y < static_cast<int>(mass.size()); ++y) {
    if (!(mass[y] > 0)) continue;
    chosen = y;
    left -= mass[y];
    if (left < 0) break;
  }
  return std::max(chosen, 0);
}

void exponentiate_all(std::vector<double>& logs, double per_unit) {
  const double top = *std::max_element(logs.begin(), logs.end());
  for (double& x : logs) x = x == kMinusInf ? 0 : std::exp((x - top) * per_unit);
}

}  // namespace

// Posterior chains are Markov: p(y_t | y_{t-1}) = M[y_{t-1}, y_t] u_t[y_t] / b_{t-1}[y_{t-1}], b_{t-1} = M
// u_t. So v = p(y_first), cut to what is allowed, is pushed through these conditionals and cut again.
double SequencePass::window_probability(int64_t first, int64_t n, const uint8_t* allowed) {
  if (n == 0) return 1;
  if (log_space_) return log_window_probability(first, n, allowed);
  const auto suffix = [&](int64_t t, const double* matrix, std::vector<double>& b) {  // b_{t-1} = M u_t
    for (int x = 0; x < S_; ++x) {
      b[x] = 0;
      for (int y = 0; y < S_; ++y) b[x] += matrix[x * P_ + y] * node_[t * P_ + y];
    }
  };
  std::vector<double> v(S_), next(S_), b(S_, 1.0);
  if (first + 1 < T_) suffix(first + 1, step_matrix(first + 1), b);
  for (int y = 0; y < S_; ++y) v[y] = allowed[y] ? alpha_[first * P_ + y] * b[y] : 0;
  for (int64_t t = first + 1; t < first + n; ++t) {
    const double* matrix = step_matrix(t);
    const uint8_t* row = allowed + (t - first) * S_;
    suffix(t, matrix, b);
    std::fill(next.begin(), next.end(), 0.0);
    for (int x = 0; x < S_; ++x) {
      if (v[x] == 0) continue;
      const double scale = v[x] / b[x];
      for (int y = 0; y < S_; ++y)
        if (row[y]) next[y] += scale * matrix[x * P_ + y] * node_[t * P_ + y];
    }
    v.swap(next);
  }
  double total = 0;
  for (double x : v) total += x;
  return std::min(CANARY(WINDOW, total), 1.0);
}

// The same in log space, where suffix sums are not kept: prefixes cut to the window beside all prefixes, both
// carried to the end and shifted alike.
double SequencePass::log_window_probability(int64_t first, int64_t n, const uint8_t* allowed) const {
  std::vector<double> all(alpha_.data() + first * P_, alpha_.data() + first * P_ + S_), cut(all), next(S_),
      column(S_);
  const auto restrict_to = [&](int64_t t) {
    for (int y = 0; y < S_ && t < first + n; ++y)
      if (!allowed[(t - first) * S_ + y]) cut[y] = kMinusInf;
  };
  const auto step = [&](std::vector<double>& a, const double* edge, int64_t t) {
    for (int y = 0; y < S_; ++y) {
      for (int x = 0; x < S_; ++x) next[x] = a[x] + edge[x * P_ + y];
      column[y] = node_[t * P_ + y] + log_sum_exp(next.data(), S_, per_unit_);
    }
    a = column;
  };
  restrict_to(first);
  for (int64_t t = first + 1; t < T_; ++t) {
    const double* edge = step_scores(t);
    step(all, edge, t), step(cut, edge, t);
    restrict_to(t);
    const double top = *std::max_element(all.begin(), all.end());
    for (int y = 0; y < S_; ++y) all[y] -= top, cut[y] -= top;
  }
  const auto total = [&](const std::vector<double>& a) { return log_sum_exp(a.data(), S_, per_unit_); };
  return std::min(1.0, std::exp((total(cut) - total(all)) * per_unit_));
}

// y_{T-1} ~ alpha_{T-1}, then y_{t-1} ~ alpha_{t-1}[y'] M[y', y_t].
void SequencePass::sample(const std::function<double()>& uniform, int32_t* states) {
  std::vector<double> mass(S_);
  for (int64_t t = T_ - 1; t >= 0; --t) {
    const double* a = alpha_.data() + t * P_;
    if (t == T_ - 1) {
      std::copy_n(a, S_, mass.begin());
    } else if (log_space_) {
      const double* edge = step_scores(t + 1);
      for (int x = 0; x < S_; ++x) mass[x] = a[x] + edge[x * P_ + states[t + 1]];
    } else {
      const double* matrix = step_matrix(t + 1);
      for (int x = 0; x < S_; ++x) mass[x] = a[x] * matrix[x * P_ + states[t + 1]];
    }
    if (log_space_) exponentiate_all(mass, per_unit_);
    mass[0] = CANARY_BY(SAMPLE, mass[0], 1.5);
    states[t] = draw(mass, uniform());
    breath_.after(S_);
  }
}

// best[t, y] has up to k entries (score, y', rank of the prefix at y'), best first. A prefix list is merged
// lazily: a heap contains for each y' its best prefix not yet taken.
std::vector<Labelling> k_best(const Edges& edges, const OwnEdges* own, int64_t T, const double* node, int k,
                              Watch* watch) {
  struct Entry {
    double score;
    int32_t previous, rank;
  };
  const int64_t S = edges.S, P = edges.P;
  if (T == 0) return {{{}, 0.0}};
  Breath breath(watch);
  std::vector<std::vector<Entry>> best(static_cast<size_t>(T) * S);
  Buffer own_scores(own != nullptr ? S * P : 0);
  const auto below = [](const Entry& a, const Entry& b) {
    return a.score < b.score || (a.score == b.score && a.previous > b.previous);
  };
  const auto merge = [&](const std::vector<Entry>* from, const auto& edge_from, double add,
                         std::vector<Entry>& into) {
    std::vector<Entry> heap;
    const auto push = [&](int x, int rank) {
      if (rank >= static_cast<int>(from[x].size())) return;
      const double s = from[x][rank].score + edge_from(x) + add;
      if (s == kMinusInf) return;
      heap.push_back({s, x, rank});
      std::push_heap(heap.begin(), heap.end(), below);
    };
    for (int x = 0; x < S; ++x) push(x, 0);
    while (!heap.empty() && static_cast<int>(into.size()) < k) {
      std::pop_heap(heap.begin(), heap.end(), below);
      const Entry top = heap.back();
      heap.pop_back();
      into.push_back({CANARY(KBEST, top.score), top.previous, top.rank});
      push(top.previous, top.rank + 1);
      breath.after(kEntryWork);
    }
    breath.after(S);
  };
  for (int y = 0; y < S; ++y)
    if (node[y] != kMinusInf) best[y].push_back({node[y], -1, 0});
  for (int64_t t = 1; t < T; ++t) {
    const double* edge = edges.scores.data();
    if (own != nullptr && own->has(t)) own->fill(t, own_scores.data()), edge = own_scores.data();
    for (int y = 0; y < S; ++y)
      merge(&best[(t - 1) * S], [&](int x) { return edge[x * P + y]; }, node[t * P + y], best[t * S + y]);
  }
  std::vector<Entry> ends;
  merge(&best[(T - 1) * S], [](int) { return 0.0; }, 0.0, ends);
  std::vector<Labelling> found;
  for (const Entry& end : ends) {
    found.push_back({std::vector<int32_t>(T), end.score});
    int32_t y = end.previous, rank = end.rank;
    for (int64_t t = T - 1; t >= 0; --t) {
      found.back().states[t] = y;
      const Entry entry = best[t * S + y][rank];
      y = entry.previous, rank = entry.rank;
    }
    breath.after(T);
  }
  return found;
}

}  // namespace fieldcraft
