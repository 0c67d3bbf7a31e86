#include "queries.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "canary.hpp"
#include "turns.hpp"

namespace fieldcraft {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();

uint64_t split_mix(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace

void node_scores(const Potentials& from, int n_threads, Watch& watch, double* out) {
  const int64_t S = from.S(), P = from.P();
  const std::vector<int64_t> cuts = cut_blocks(from);
  const auto work = [&](size_t block, int) {
    const auto reader = from.reader();
    Buffer node;
    for (int64_t i = cuts[block]; i < cuts[block + 1]; ++i) {
      reader->go_to(i);
      node.reserve(static_cast<size_t>(from.length(i) * P));
      reader->fill(node.data());
      for (int64_t t = 0; t < from.length(i); ++t)
        std::copy_n(node.data() + t * P, S, out + (from.offsets[i] + t) * S);
    }
  };
  for_each_task(n_threads, cuts.size() - 1, work, &watch);
}

void log_partitions(const Potentials& from, Numerics numerics, int n_threads, Watch& watch, double* log_z) {
  each_sequence(from, n_threads, watch,
                [&](const Turn& turn) { log_z[turn.i] = turn.log_in_full(turn.log_partition(numerics)); });
}

void marginals(const Potentials& from, Numerics numerics, int n_threads, Watch& watch, EdgeOutput output,
               double* node, double* edge, double* log_z) {
  const int64_t S = from.S(), P = from.P();
  const std::vector<int64_t> cuts = cut_blocks(from);
  const size_t n_pairs = static_cast<size_t>(S) * P, n_blocks = cuts.size() - 1;
  // Totals: at most 16 fixed groups of blocks keep a sum each; the groups are added in order.
  const size_t n_groups = output == EdgeOutput::totals ? std::min<size_t>(16, n_blocks) : n_blocks;
  std::vector<Buffer> sums(output == EdgeOutput::totals ? n_groups : 0);
  const Asked asked(from, watch);
  const auto work = [&](size_t group) {
    Lane lane(asked);
    Buffer out, products = Buffer::zeros(n_pairs), totals = Buffer::zeros(n_pairs);
    const size_t first = n_blocks * group / n_groups, last = n_blocks * (group + 1) / n_groups;
    for (int64_t i = cuts[first]; i < cuts[last]; ++i) {
      const Turn turn = lane.go_to(i);
      const double found = turn.possible_partition(numerics);
      log_z[i] = output == EdgeOutput::none ? found * turn.per_unit : turn.in_full(found);
      const int64_t T = turn.T, at = turn.at;
      out.reserve(T * P);
      const auto sink = [&](int64_t t, const double* pairs) {
        if (output == EdgeOutput::none) return;
        for (int x = 0; x < S; ++x)
          for (int y = 0; y < S; ++y)
            if (output == EdgeOutput::rows)
              edge[(at + t) * S * S + x * S + y] = pairs[x * P + y];
            else
              totals[x * P + y] += pairs[x * P + y];
      };
      turn.pass.marginals(1.0, out.data(), output == EdgeOutput::totals ? products.data() : nullptr, sink,
                          output == EdgeOutput::rows);
      for (int64_t t = 0; t < T; ++t) std::copy_n(out.data() + t * P, S, node + (at + t) * S);
      if (output == EdgeOutput::rows && T > 0) std::fill_n(edge + at * S * S, S * S, 0.0);
    }
    if (output != EdgeOutput::totals) return;
    for (size_t k = 0; k < n_pairs; ++k) totals[k] += products[k] * from.edges().matrix[k];
    sums[group] = std::move(totals);
  };
  for_each_task(n_threads, n_groups, [&](size_t group, int) { work(group); }, &watch);
  for (const Buffer& sum : sums)
    for (int x = 0; x < S; ++x)
      for (int y = 0; y < S; ++y) edge[x * S + y] += sum[x * P + y];
}

void log_marginals(const Potentials& from, int n_threads, Watch& watch, double* out) {
  const int64_t S = from.S();
  each_sequence(from, n_threads, watch, [&](const Turn& turn) {
    if (turn.T == 0) return;
    turn.possible_partition(Numerics::log);
    Buffer node(static_cast<size_t>(turn.T) * from.P());
    turn.pass.marginals(1.0, node.data(), nullptr, [](int64_t, const double*) {}, false);
    for (int64_t t = 0; t < turn.T; ++t) {
      for (int y = 0; y < S; ++y) out[(turn.at + t) * S + y] = turn.log_in_full(turn.pass.log_marginal(t, y));
      watch.check();
    }
  });
}

void covariances(const Potentials& from, const double* moved, int n_threads, Watch& watch, double* node,
                 double* edge) {
  const int64_t S = from.S(), P = from.P();
  each_sequence(from, n_threads, watch, [&](const Turn& turn) {
    const int64_t T = turn.T, at = turn.at;
    if (T == 0) return;
    turn.possible_partition(Numerics::log);
    const size_t n = static_cast<size_t>(T) * P;
    Buffer mu(n), given = Buffer::zeros(n), out(n);
    turn.pass.marginals(1.0, mu.data(), nullptr, [](int64_t, const double*) {}, false);
    for (int64_t t = 0; t < T; ++t) std::copy_n(moved + (at + t) * S, S, given.data() + t * P);
    const auto sink = [&](int64_t t, const double* pairs) {
      for (int x = 0; x < S; ++x) std::copy_n(pairs + x * P, S, edge + ((at + t) * S + x) * S);
    };
    turn.pass.covariance(mu.data(), given.data(), 1.0, out.data(), nullptr, sink);
    for (int64_t t = 0; t < T; ++t) std::copy_n(out.data() + t * P, S, node + (at + t) * S);
  });
}

void argmax(const Potentials& from, int n_threads, Watch& watch, int32_t* states, double* scores) {
  each_sequence(from, n_threads, watch, [&](const Turn& turn) {
    turn.reader.fill(turn.pass.scratch(turn.T, from.P()));
    const double score = turn.pass.viterbi(turn.edges, turn.reader.own(), turn.T, states + turn.at);
    if (score == kMinusInf) throw ImpossibleSequence(turn.i);
    scores[turn.i] = score * turn.per_unit;
  });
}

void score_labels(const Potentials& from, int n_threads, Watch& watch, const int32_t* states,
                  double* scores) {
  const int64_t P = from.P();
  each_sequence(from, n_threads, watch, [&](const Turn& turn) {
    const int32_t* y = states + turn.at;
    double* node = turn.pass.scratch(turn.T, P);
    Buffer own;
    turn.reader.fill(node);
    double total = 0;
    for (int64_t t = 0; t < turn.T; ++t) {
      total += node[t * P + y[t]];
      if (t > 0) total += edge_scores(turn.edges, turn.reader.own(), t, own)[y[t - 1] * P + y[t]];
    }
    scores[turn.i] = turn.log_in_full(CANARY_ELSEWHERE(THREADS, CANARY(LABELLING, total)));
  });
}

void entropies(const Potentials& from, int n_threads, Watch& watch, double* entropy) {
  const int64_t S = from.S(), P = from.P();
  each_sequence(from, n_threads, watch, [&](const Turn& turn) {
    entropy[turn.i] = 0;
    if (turn.T == 0) return;
    turn.possible_partition(Numerics::automatic);
    Buffer node(static_cast<size_t>(turn.T) * P);
    double total = 0;
    const auto sink = [&](int64_t, const double* pairs) {
      for (int x = 0; x < S; ++x) {
        double row = 0;
        for (int y = 0; y < S; ++y) row += pairs[x * P + y];
        for (int y = 0; y < S; ++y)
          if (pairs[x * P + y] > 0) total -= pairs[x * P + y] * std::log(pairs[x * P + y] / row);
      }
    };
    turn.pass.marginals(1.0, node.data(), nullptr, sink, true);
    for (int y = 0; y < S; ++y)
      if (node[y] > 0) total -= node[y] * std::log(node[y]);
    entropy[turn.i] = std::max(CANARY(ENTROPY, total), 0.0);
  });
}

std::vector<Ranked> k_best_of(const Potentials& from, int k, int n_threads, Watch& watch) {
  std::vector<Ranked> all(from.n_sequences());
  each_sequence(from, n_threads, watch, [&](const Turn& turn) {
    double* node = turn.pass.scratch(turn.T, from.P());
    turn.reader.fill(node);
    std::vector<Labelling> found = k_best(turn.edges, turn.reader.own(), turn.T, node, k, &watch);
    if (found.empty()) throw ImpossibleSequence(turn.i);
    Ranked& ranked = all[turn.i];
    for (const Labelling& one : found) {
      ranked.states.insert(ranked.states.end(), one.states.begin(), one.states.end());
      ranked.scores.push_back(one.score * turn.per_unit);
      watch.check();
    }
  });
  return all;
}

std::vector<std::vector<int32_t>> samples(const Potentials& from, int n, uint64_t seed, int64_t first,
                                          int n_threads, Watch& watch) {
  std::vector<std::vector<int32_t>> all(from.n_sequences());
  each_sequence(from, n_threads, watch, [&](const Turn& turn) {
    const int64_t T = turn.T;
    std::vector<int32_t>& drawn = all[turn.i];
    drawn.resize(n * T);
    if (T == 0) return;
    turn.possible_partition(Numerics::automatic);
    uint64_t state = seed ^ (0xd1342543de82ef95ull * static_cast<uint64_t>(first + turn.i + 1));
    const auto uniform = [&] { return static_cast<double>(split_mix(state) >> 11) * 0x1.0p-53; };
    for (int s = 0; s < n; ++s) turn.pass.sample(uniform, drawn.data() + s * T);
  });
  return all;
}

void window_probabilities(const Potentials& from, const Windows& w, int n_threads, Watch& watch,
                          double* probability) {
  std::vector<int64_t> order(w.n);  // windows by sequence, so that one pass serves all of a sequence's
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return w.sequence[a] < w.sequence[b]; });
  std::vector<int64_t> begin(from.n_sequences() + 1, 0);
  for (int64_t r = 0; r < w.n; ++r) ++begin[w.sequence[r] + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  each_sequence(from, n_threads, watch, [&](const Turn& turn) {
    const int64_t i = turn.i;
    if (begin[i] == begin[i + 1]) return;
    turn.possible_partition(Numerics::automatic);
    Buffer node(static_cast<size_t>(turn.T) * from.P());
    turn.pass.marginals(1.0, node.data(), nullptr, [](int64_t, const double*) {}, false);
    for (int64_t j = begin[i]; j < begin[i + 1]; ++j) {
      const int64_t r = order[j];
      probability[r] =
          turn.pass.window_probability(w.first[r], w.ptr[r + 1] - w.ptr[r], w.allowed + w.ptr[r] * from.S());
      watch.check();
    }
  });
}

}  // namespace fieldcraft
