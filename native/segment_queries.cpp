// Best segmentations, the k best, samples, and the queries of a batch of sequences, threaded over them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "canary.hpp"
#include "parallel.hpp"
#include "rescaled.hpp"
#include "segments.hpp"

namespace fieldcraft {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
constexpr int64_t kTaskTokens = 1024;

uint64_t split_mix(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// Writes the states of a segment of d tokens that ends with token t.
void spell(const SegmentSpace& space, int64_t x, int64_t d, int64_t t, int32_t* states) {
  for (int64_t u = t - d + 1; u <= t; ++u) states[u] = u == t - d + 1 ? space.first[x] : space.later[x];
}

// Calls work(pass, sequence, i) for the sequences of a batch, in tasks of about kTaskTokens tokens.
template <class Work>
void each_sequence(const SegmentPotentials& from, int n_threads, Watch& watch, const Work& work) {
  std::vector<int64_t> cuts{0};
  for (int64_t i = 0; i < from.n_sequences(); ++i)
    if (from.offsets[i + 1] - from.offsets[cuts.back()] >= kTaskTokens || i + 1 == from.n_sequences())
      cuts.push_back(i + 1);
  const auto task = [&](size_t k, int) {
    SegmentPass pass(&watch);
    for (int64_t i = cuts[k]; i < cuts[k + 1]; ++i) work(pass, SegmentSequence(from, i), i);
  };
  for_each_task(n_threads, cuts.size() - 1, task, &watch);
}

double in_range(double value, int64_t i) {
  if (std::isnan(value) || value == INFINITY) throw BeyondRange(i);
  return value;
}

double possible_partition(SegmentPass& pass, const SegmentSequence& sequence, int64_t i) {
  const double log_z = in_range(pass.log_partition(sequence), i);
  if (log_z == kMinusInf) throw ImpossibleSequence(i);
  return log_z;
}

// The index at which the running sum of exp(logs) passes uniform of its total; never one without mass.
int64_t draw(const std::vector<double>& logs, double uniform) {
  const double top = *std::max_element(logs.begin(), logs.end());
  double total = 0;
  for (const double x : logs) total += std::exp(x - top);
  double left = uniform * total;
  int64_t chosen = std::max_element(logs.begin(), logs.end()) - logs.begin();
  for (size_t i = 0; i < logs.size(); ++i) {
    if (logs[i] == kMinusInf) continue;
    chosen = static_cast<int64_t>(i);
    left -= i == 0 ? CANARY_BY(SEGMENT_SAMPLE, std::exp(logs[i] - top), 1.5) : std::exp(logs[i] - top);
    if (left < 0) break;
  }
  return chosen;
}

}  // namespace

double best_segments(const SegmentSequence& from, Breath& breath, int32_t* states) {
  const SegmentSpace& space = from.space;
  const int64_t K = space.n_types, S = space.n_states, T = from.T;
  if (T == 0) return 0;
  std::vector<double> best(T * S), runs(space.n_columns, kMinusInf);
  std::vector<int32_t> length(T * S, 1), before(T * K, -1);  // of the last segment; the exit before it
  for (int64_t t = 0; t < T; ++t) {
    const double *node = from.node_at(t), *edge = from.edge_at(t), *segment = from.segment_at(t);
    for (int64_t x = 0; x < K; ++x) {
      double* run = runs.data() + space.column[x];
      const double* own = segment + space.column[x];
      double entry = t == 0 ? 0.0 : kMinusInf;
      for (int64_t e = 0; e < S && t > 0; ++e) {
        const int32_t step = space.entering[e * K + x];
        if (step < 0) continue;
        const double score = best[(t - 1) * S + e] + edge[step];
        if (score > entry) entry = score, before[t * K + x] = static_cast<int32_t>(e);
      }
      const int64_t most = std::min<int64_t>(space.longest[x], t + 1);
      for (int64_t d = most; d > 1; --d) run[d - 1] = run[d - 2] + from.step(t, x, d);
      run[0] = entry + node[space.first[x]];
      best[t * S + space.first[x]] = CANARY(SEGMENT_BEST, run[0] + own[0]);
      if (space.longest[x] == 1) continue;
      double& later = best[t * S + space.later[x]] = kMinusInf;
      for (int64_t d = 2; d <= most; ++d)
        if (run[d - 1] + own[d - 1] > later)
          later = run[d - 1] + own[d - 1], length[t * S + space.later[x]] = static_cast<int32_t>(d);
    }
    breath.after(space.n_columns + S * K);
  }
  const double* last = &best[(T - 1) * S];
  int64_t e = std::max_element(last, last + S) - last;
  const double score = last[e];
  for (int64_t t = T - 1; t >= 0 && score != kMinusInf;) {
    const int64_t x = space.type_of[e], d = length[t * S + e];
    spell(space, x, d, t, states);
    t -= d;
    e = before[(t + 1) * K + x];
  }
  return score;
}

// prefixes[t, e] has the k best prefixes that end with token t in state e, entries[t, X] the k best that a
// segment of type X may follow, both best first; lists are merged lazily with a heap of their best entries
// not yet taken.
Ranked k_best_segments(const SegmentSequence& from, int k, Breath& breath) {
  struct Entry {
    double score;
    int32_t origin, rank;  // of a prefix: the length of its last segment; of an entry: the state before it
  };
  const SegmentSpace& space = from.space;
  const int64_t K = space.n_types, S = space.n_states, T = from.T;
  if (T == 0) return {{}, {0.0}};
  std::vector<std::vector<Entry>> prefixes(T * S), entries(T * K);
  const auto below = [](const Entry& a, const Entry& b) {
    return a.score < b.score || (a.score == b.score && a.origin > b.origin);
  };
  // list(o) is the list of origin o, low <= o < high, to whose scores extra(o) is added.
  const auto merge = [&](int64_t low, int64_t high, const auto& list, const auto& extra,
                         std::vector<Entry>& into) {
    std::vector<Entry> heap;
    const auto push = [&](int64_t o, int32_t rank) {
      const std::vector<Entry>* chosen = list(o);
      if (chosen == nullptr || rank >= static_cast<int32_t>(chosen->size())) return;
      const double score = (*chosen)[rank].score + extra(o);
      if (score == kMinusInf) return;
      heap.push_back({score, static_cast<int32_t>(o), rank});
      std::push_heap(heap.begin(), heap.end(), below);
    };
    for (int64_t o = low; o < high; ++o) push(o, 0);
    while (!heap.empty() && static_cast<int>(into.size()) < k) {
      std::pop_heap(heap.begin(), heap.end(), below);
      const Entry top = heap.back();
      heap.pop_back();
      into.push_back({CANARY(SEGMENT_KBEST, top.score), top.origin, top.rank});
      push(top.origin, top.rank + 1);
    }
    breath.after(64 * static_cast<int64_t>(into.size()) + high - low);
  };
  std::vector<double> inner;  // [d - 1] of the segments of one type that end with token t
  for (int64_t t = 0; t < T; ++t)
    for (int64_t x = 0; x < K; ++x) {
      std::vector<Entry>& entry = entries[t * K + x];
      if (t == 0)
        entry.push_back({0.0, -1, 0});
      else
        merge(
            0, S,
            [&](int64_t e) { return space.entering[e * K + x] < 0 ? nullptr : &prefixes[(t - 1) * S + e]; },
            [&](int64_t e) { return from.edge_at(t)[space.entering[e * K + x]]; }, entry);
      const int64_t most = std::min<int64_t>(space.longest[x], t + 1);
      inner.assign(most, 0.0);
      double tail = 0;  // of the tokens after the second
      for (int64_t d = 1; d <= most; ++d) {
        const int64_t s = t - d + 1;
        if (d > 2) tail += from.step(s + 2, x, 3);
        inner[d - 1] = from.node_at(s)[space.first[x]] + (d > 1 ? from.step(s + 1, x, 2) + tail : 0.0) +
                       from.segment_at(t)[space.column[x] + d - 1];
      }
      const auto start = [&](int64_t d) { return &entries[(t - d + 1) * K + x]; };
      const auto extra = [&](int64_t d) { return inner[d - 1]; };
      merge(1, 2, start, extra, prefixes[t * S + space.first[x]]);
      if (most > 1) merge(2, most + 1, start, extra, prefixes[t * S + space.later[x]]);
    }
  std::vector<Entry> ends;
  merge(0, S, [&](int64_t e) { return &prefixes[(T - 1) * S + e]; }, [](int64_t) { return 0.0; }, ends);
  Ranked ranked;
  for (const Entry& end : ends) {
    ranked.states.resize(ranked.states.size() + T);
    ranked.scores.push_back(end.score);
    int32_t* states = ranked.states.data() + ranked.states.size() - T;
    int64_t e = end.origin, rank = end.rank;
    for (int64_t t = T - 1; t >= 0;) {
      const Entry prefix = prefixes[t * S + e][rank];
      const int64_t x = space.type_of[e];
      spell(space, x, prefix.origin, t, states);
      t -= prefix.origin;
      const Entry entry = entries[(t + 1) * K + x][prefix.rank];
      e = entry.origin, rank = entry.rank;
    }
    breath.after(T);
  }
  return ranked;
}

// From the last segment to the first, each drawn given what follows it.
void SegmentPass::sample(const SegmentSequence& from, const std::function<double()>& uniform,
                         int32_t* states) {
  const SegmentSpace& space = from.space;
  const int64_t K = space.n_types, S = space.n_states;
  std::vector<double> logs;
  int64_t x = -1;  // type of the segment that follows
  for (int64_t t = from.T - 1; t >= 0;) {
    logs.assign(alpha_.begin() + t * S, alpha_.begin() + (t + 1) * S);
    for (int64_t e = 0; e < S && x >= 0; ++e) {
      const int32_t step = space.entering[e * K + x];
      logs[e] += step < 0 ? kMinusInf : from.edge_at(t + 1)[step];
    }
    const int64_t e = draw(logs, uniform());
    x = space.type_of[e];
    int64_t d = 1;
    if (e == space.later[x]) {
      logs.assign(std::min<int64_t>(space.longest[x], t + 1), kMinusInf);
      double tail = 0;
      for (size_t n = 2; n <= logs.size(); ++n) {
        const int64_t s = t - static_cast<int64_t>(n) + 1;
        if (n > 2) tail += from.step(s + 2, x, 3) - shift_[s + 2];
        logs[n - 1] = entry_[s * K + x] + from.node_at(s)[space.first[x]] - shift_[s] +
                      from.step(s + 1, x, 2) - shift_[s + 1] + tail +
                      from.segment_at(t)[space.column[x] + static_cast<int64_t>(n) - 1];
      }
      d = draw(logs, uniform()) + 1;
    }
    spell(space, x, d, t, states);
    t -= d;
    breath_.after(S + space.longest[x]);
  }
}

void segment_log_partitions(const SegmentPotentials& from, int n_threads, Watch& watch, double* log_z) {
  each_sequence(from, n_threads, watch, [&](SegmentPass& pass, const SegmentSequence& sequence, int64_t i) {
    log_z[i] = CANARY_ELSEWHERE(THREADS, in_range(pass.log_partition(sequence), i));
  });
}

void segment_marginals(const SegmentPotentials& from, int n_threads, Watch& watch, double* node, double* edge,
                       double* segment, double* log_z) {
  const SegmentSpace& space = from.space;
  each_sequence(from, n_threads, watch, [&](SegmentPass& pass, const SegmentSequence& sequence, int64_t i) {
    const int64_t at = from.offsets[i];
    log_z[i] = CANARY_ELSEWHERE(THREADS, possible_partition(pass, sequence, i));
    pass.marginals(sequence, node + at * space.n_states, edge + at * space.n_edges,
                   segment + at * space.n_columns);
  });
}

void segment_argmax(const SegmentPotentials& from, int n_threads, Watch& watch, int32_t* states,
                    double* scores) {
  each_sequence(from, n_threads, watch, [&](SegmentPass&, const SegmentSequence& sequence, int64_t i) {
    Breath breath(&watch);
    scores[i] = best_segments(sequence, breath, states + from.offsets[i]);
    if (scores[i] == kMinusInf) throw ImpossibleSequence(i);
    in_range(scores[i], i);
  });
}

bool is_segmentation(const SegmentSpace& space, const int32_t* states, int64_t T) {
  int64_t d = 0;  // tokens of the segment so far
  for (int64_t t = 0; t < T; ++t) {
    const int64_t x = space.type_of[states[t]];
    const bool begins = states[t] == space.first[x];
    if (begins ? t > 0 && space.entering[states[t - 1] * space.n_types + x] < 0
               : t == 0 || space.type_of[states[t - 1]] != x || d >= space.longest[x])
      return false;
    d = begins ? 1 : d + 1;
  }
  return true;
}

double segments_score(const SegmentSequence& from, const int32_t* states) {
  const SegmentSpace& space = from.space;
  if (!is_segmentation(space, states, from.T)) return kMinusInf;
  double total = 0;
  int64_t d = 0;  // tokens of the segment so far
  for (int64_t t = 0; t < from.T; ++t) {
    const int64_t x = space.type_of[states[t]];
    const bool begins = states[t] == space.first[x];
    d = begins ? 1 : d + 1;
    if (!begins)
      total += from.step(t, x, d);
    else
      total += from.node_at(t)[states[t]] +
               (t == 0 ? 0.0 : from.edge_at(t)[space.entering[states[t - 1] * space.n_types + x]]);
    const bool ends = t + 1 == from.T || states[t + 1] == space.first[space.type_of[states[t + 1]]];
    if (ends) total += from.segment_at(t)[space.column[x] + d - 1];
  }
  return total;
}

void segment_scores(const SegmentPotentials& from, int n_threads, Watch& watch, const int32_t* states,
                    double* scores) {
  each_sequence(from, n_threads, watch, [&](SegmentPass&, const SegmentSequence& sequence, int64_t i) {
    scores[i] = in_range(CANARY(SEGMENT_SCORE, segments_score(sequence, states + from.offsets[i])), i);
  });
}

std::vector<Ranked> segment_k_best(const SegmentPotentials& from, int k, int n_threads, Watch& watch) {
  std::vector<Ranked> all(from.n_sequences());
  each_sequence(from, n_threads, watch, [&](SegmentPass&, const SegmentSequence& sequence, int64_t i) {
    Breath breath(&watch);
    all[i] = k_best_segments(sequence, k, breath);
    if (all[i].scores.empty()) throw ImpossibleSequence(i);
  });
  return all;
}

std::vector<std::vector<int32_t>> segment_samples(const SegmentPotentials& from, int n, uint64_t seed,
                                                  int64_t first, int n_threads, Watch& watch) {
  std::vector<std::vector<int32_t>> all(from.n_sequences());
  each_sequence(from, n_threads, watch, [&](SegmentPass& pass, const SegmentSequence& sequence, int64_t i) {
    all[i].resize(n * sequence.T);
    if (sequence.T == 0) return;
    possible_partition(pass, sequence, i);
    uint64_t state = seed ^ (0xd1342543de82ef95ull * static_cast<uint64_t>(first + i + 1));
    const auto uniform = [&] { return static_cast<double>(split_mix(state) >> 11) * 0x1.0p-53; };
    for (int s = 0; s < n; ++s) pass.sample(sequence, uniform, all[i].data() + s * sequence.T);
  });
  return all;
}

}  // namespace fieldcraft
