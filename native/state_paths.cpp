// Sequences of states over a state space: drawn at random, the best one, the k best (state_pass.hpp).
#include <algorithm>
#include <cmath>
#include <limits>

#include "canary.hpp"
#include "state_pass.hpp"

namespace fieldcraft {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();

}  // namespace

void StatePass::sample(const std::function<double()>& uniform, int32_t* states) {
  const int64_t S = graph_.S();
  std::vector<double> mass;
  const auto draw = [&]() {
    if (log_space_) {
      const double top = *std::max_element(mass.begin(), mass.end());
      for (double& m : mass) m = std::exp(m - top);
    }
    mass[0] = CANARY_BY(STATES_SAMPLE, mass[0], 1.5);
    double total = 0;
    for (const double m : mass) total += m;
    double left = uniform() * total;
    size_t chosen = 0;
    for (size_t k = 0; k < mass.size(); ++k) {
      if (!(mass[k] > 0)) continue;
      chosen = k;
      if ((left -= mass[k]) < 0) break;
    }
    return chosen;
  };
  for (int64_t t = given_.T - 1; t >= 0; --t) {
    const double* a = alpha_.data() + t * S;
    mass.clear();
    if (t == given_.T - 1) {
      mass.assign(a, a + S);
      states[t] = static_cast<int32_t>(draw());
      continue;
    }
    const StateEdges& edges = step(t + 1);
    const int64_t first = graph_.in_ptr[states[t + 1]], last = graph_.in_ptr[states[t + 1] + 1];
    for (int64_t k = first; k < last; ++k) {
      const int64_t e = graph_.in_edge[k];
      const double from = a[graph_.source[e]];
      mass.push_back(log_space_ ? from + edges.scores[e] : from * edges.matrix[e]);
    }
    states[t] = graph_.source[graph_.in_edge[first + static_cast<int64_t>(draw())]];
    breath_.after(last - first);
  }
}

double StatePass::viterbi(const StateScores& scores, int32_t* states) {
  given_ = scores, own_t_ = -1;
  const int64_t S = graph_.S(), T = given_.T;
  if (T == 0) return 0;
  std::vector<double> best(S), next(S), node(S);
  previous_.assign(static_cast<size_t>(T * S), 0);
  state_scores(0, best.data());
  if (given_.beam != nullptr && T > 1) given_.beam->choose_logs(best.data(), S, next, order_);
  for (int64_t t = 1; t < T; ++t) {
    std::fill(next.begin(), next.end(), kMinusInf);
    FIELDCRAFT_DISPATCH(runs_best, graph_.view(), best.data(), step(t).scores.data(), next.data(),
                        previous_.data() + t * S);
    state_scores(t, node.data());
    for (int64_t s = 0; s < S; ++s) best[s] = next[s] + node[s];
    if (given_.beam != nullptr && t + 1 < T) given_.beam->choose_logs(best.data(), S, next, order_);
    breath_.after(graph_.E());
  }
  int32_t y = static_cast<int32_t>(std::max_element(best.begin(), best.end()) - best.begin());
  const double score = best[y];
  if (score == kMinusInf && scores.beam != nullptr) {
    StateScores all = scores;
    all.beam = nullptr;
    return viterbi(all, states);
  }
  for (int64_t t = T - 1; t >= 0; --t) {
    states[t] = y;
    y = previous_[t * S + y];
  }
  return score;
}

// best[t, y] has up to k entries (score, transition, rank of the prefix), best first.
std::vector<Labelling> StatePass::k_best(const StateScores& scores, int k) {
  struct Entry {
    double score;
    int32_t previous, rank;
  };
  given_ = scores, own_t_ = -1;
  const int64_t S = graph_.S(), T = given_.T;
  if (T == 0) return {{{}, 0.0}};
  const auto below = [](const Entry& a, const Entry& b) {
    return a.score < b.score || (a.score == b.score && a.previous > b.previous);
  };
  std::vector<std::vector<Entry>> best(static_cast<size_t>(T * S));
  std::vector<double> node(S), add;
  std::vector<Entry> heap;
  std::vector<int32_t> from;
  const auto merge = [&](const std::vector<Entry>* lists, std::vector<Entry>& into) {  // of from, plus add
    heap.clear();
    const auto push = [&](int32_t j, int32_t rank) {
      if (rank >= static_cast<int32_t>(lists[from[j]].size())) return;
      const double score = lists[from[j]][rank].score + add[j];
      if (score == kMinusInf) return;
      heap.push_back({score, j, rank});
      std::push_heap(heap.begin(), heap.end(), below);
    };
    for (size_t j = 0; j < from.size(); ++j) push(static_cast<int32_t>(j), 0);
    while (!heap.empty() && static_cast<int>(into.size()) < k) {
      std::pop_heap(heap.begin(), heap.end(), below);
      const Entry top = heap.back();
      heap.pop_back();
      into.push_back({CANARY(STATES_KBEST, top.score), from[top.previous], top.rank});
      push(top.previous, top.rank + 1);
      breath_.after(64);
    }
  };
  state_scores(0, node.data());
  for (int32_t s = 0; s < S; ++s)
    if (node[s] != kMinusInf) best[s].push_back({node[s], -1, 0});
  for (int64_t t = 1; t < T; ++t) {
    const StateEdges& edges = step(t);
    state_scores(t, node.data());
    for (int64_t y = 0; y < S; ++y) {
      if (node[y] == kMinusInf) continue;
      from.clear(), add.clear();
      for (int64_t j = graph_.in_ptr[y]; j < graph_.in_ptr[y + 1]; ++j) {
        const int64_t e = graph_.in_edge[j];
        from.push_back(graph_.source[e]), add.push_back(edges.scores[e] + node[y]);
      }
      merge(&best[(t - 1) * S], best[t * S + y]);
    }
  }
  from.clear();
  for (int32_t s = 0; s < S; ++s) from.push_back(s);
  add.assign(S, 0.0);
  std::vector<Entry> ends;
  merge(&best[(T - 1) * S], ends);
  std::vector<Labelling> found;
  for (const Entry& end : ends) {
    found.push_back({std::vector<int32_t>(T), end.score});
    int32_t y = end.previous, rank = end.rank;
    for (int64_t t = T - 1; t >= 0; --t) {
      found.back().states[t] = y;
      const Entry entry = best[t * S + y][rank];
      y = entry.previous, rank = entry.rank;
    }
  }
  return found;
}

}  // namespace fieldcraft
