#include "queries.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "canary.hpp"
#include "parallel.hpp"

namespace fieldcraft {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();

// Sequences first .. last-1 of a block have about kBlockTokens tokens: enough work for a task.
constexpr int64_t kBlockTokens = 1024;

std::vector<int64_t> cut_blocks(const Potentials& from) {
  std::vector<int64_t> cuts{0};
  int64_t begun = 0;
  for (int64_t i = 0; i < from.n_sequences(); ++i)
    if (from.offsets[i + 1] - begun >= kBlockTokens) {
      cuts.push_back(i + 1);
      begun = from.offsets[i + 1];
    }
  if (cuts.back() != from.n_sequences()) cuts.push_back(from.n_sequences());
  return cuts;
}

// Calls body(sequence, reader, pass) for every sequence, on any thread.
template <class Body>
void each_sequence(const Potentials& from, int n_threads, const Body& body) {
  const std::vector<int64_t> cuts = cut_blocks(from);
  for_each_task(n_threads, cuts.size() - 1, [&](size_t block, int) {
    const auto reader = from.reader();
    SequencePass pass;
    for (int64_t i = cuts[block]; i < cuts[block + 1]; ++i) {
      reader->go_to(i);
      body(i, *reader, pass);
    }
  });
}

double partition(const Potentials& from, int64_t i, Potentials::Reader& reader, SequencePass& pass,
                 Numerics how) {
  return pass.log_partition(
      from.edges(), reader.own(), from.length(i), [&](double* node) { reader.fill(node); }, how);
}

double possible_partition(const Potentials& from, int64_t i, Potentials::Reader& reader, SequencePass& pass,
                          Numerics how) {
  const double log_z = partition(from, i, reader, pass, how);
  if (log_z == kMinusInf) throw ImpossibleSequence(i);
  return log_z;
}

uint64_t split_mix(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace

void node_scores(const Potentials& from, int n_threads, double* out) {
  const int S = from.S(), P = from.P();
  each_sequence(from, n_threads, [&](int64_t i, Potentials::Reader& reader, SequencePass& pass) {
    double* node = pass.scratch(from.length(i), P);
    reader.fill(node);
    for (int64_t t = 0; t < from.length(i); ++t)
      std::copy_n(node + t * P, S, out + (from.offsets[i] + t) * S);
  });
}

void log_partitions(const Potentials& from, Numerics numerics, int n_threads, double* log_z) {
  each_sequence(from, n_threads, [&](int64_t i, Potentials::Reader& reader, SequencePass& pass) {
    log_z[i] = partition(from, i, reader, pass, numerics);
  });
}

void marginals(const Potentials& from, Numerics numerics, int n_threads, EdgeOutput output, double* node,
               double* edge, double* log_z) {
  const int S = from.S(), P = from.P();
  const std::vector<int64_t> cuts = cut_blocks(from);
  const size_t n_pairs = static_cast<size_t>(S) * P, n_blocks = cuts.size() - 1;
  // Totals: at most 16 fixed groups of blocks keep a sum each; the groups are added in order.
  const size_t n_groups = output == EdgeOutput::totals ? std::min<size_t>(16, n_blocks) : n_blocks;
  std::vector<Buffer> sums(output == EdgeOutput::totals ? n_groups : 0);
  const auto work = [&](size_t group) {
    const auto reader = from.reader();
    SequencePass pass;
    Buffer out, products = Buffer::zeros(n_pairs), totals = Buffer::zeros(n_pairs);
    const size_t first = n_blocks * group / n_groups, last = n_blocks * (group + 1) / n_groups;
    for (int64_t i = cuts[first]; i < cuts[last]; ++i) {
      reader->go_to(i);
      log_z[i] = possible_partition(from, i, *reader, pass, numerics);
      const int64_t T = from.length(i), at = from.offsets[i];
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
      pass.marginals(1.0, out.data(), output == EdgeOutput::totals ? products.data() : nullptr, sink,
                     output == EdgeOutput::rows);
      for (int64_t t = 0; t < T; ++t) std::copy_n(out.data() + t * P, S, node + (at + t) * S);
      if (output == EdgeOutput::rows && T > 0) std::fill_n(edge + at * S * S, S * S, 0.0);
    }
    if (output != EdgeOutput::totals) return;
    for (size_t k = 0; k < n_pairs; ++k) totals[k] += products[k] * from.edges().matrix[k];
    sums[group] = std::move(totals);
  };
  for_each_task(n_threads, n_groups, [&](size_t group, int) { work(group); });
  for (const Buffer& sum : sums)
    for (int x = 0; x < S; ++x)
      for (int y = 0; y < S; ++y) edge[x * S + y] += sum[x * P + y];
}

void log_marginals(const Potentials& from, int n_threads, double* out) {
  const int S = from.S();
  each_sequence(from, n_threads, [&](int64_t i, Potentials::Reader& reader, SequencePass& pass) {
    if (from.length(i) == 0) return;
    possible_partition(from, i, reader, pass, Numerics::log);
    Buffer node(static_cast<size_t>(from.length(i)) * from.P());
    pass.marginals(1.0, node.data(), nullptr, [](int64_t, const double*) {}, false);
    for (int64_t t = 0; t < from.length(i); ++t)
      for (int y = 0; y < S; ++y) out[(from.offsets[i] + t) * S + y] = pass.log_marginal(t, y);
  });
}

void covariances(const Potentials& from, const double* moved, int n_threads, double* node, double* edge) {
  const int S = from.S(), P = from.P();
  each_sequence(from, n_threads, [&](int64_t i, Potentials::Reader& reader, SequencePass& pass) {
    const int64_t T = from.length(i), at = from.offsets[i];
    if (T == 0) return;
    possible_partition(from, i, reader, pass, Numerics::log);
    const size_t n = static_cast<size_t>(T) * P;
    Buffer mu(n), given = Buffer::zeros(n), out(n);
    pass.marginals(1.0, mu.data(), nullptr, [](int64_t, const double*) {}, false);
    for (int64_t t = 0; t < T; ++t) std::copy_n(moved + (at + t) * S, S, given.data() + t * P);
    pass.covariance(mu.data(), given.data(), 1.0, out.data(), nullptr, [&](int64_t t, const double* pairs) {
      for (int x = 0; x < S; ++x) std::copy_n(pairs + x * P, S, edge + ((at + t) * S + x) * S);
    });
    for (int64_t t = 0; t < T; ++t) std::copy_n(out.data() + t * P, S, node + (at + t) * S);
  });
}

void argmax(const Potentials& from, int n_threads, int32_t* states, double* scores) {
  each_sequence(from, n_threads, [&](int64_t i, Potentials::Reader& reader, SequencePass& pass) {
    reader.fill(pass.scratch(from.length(i), from.P()));
    scores[i] = pass.viterbi(from.edges(), reader.own(), from.length(i), states + from.offsets[i]);
    if (scores[i] == kMinusInf) throw ImpossibleSequence(i);
  });
}

void score_labels(const Potentials& from, int n_threads, const int32_t* states, double* scores) {
  const int P = from.P();
  each_sequence(from, n_threads, [&](int64_t i, Potentials::Reader& reader, SequencePass& pass) {
    const int64_t T = from.length(i);
    const int32_t* y = states + from.offsets[i];
    double* node = pass.scratch(T, P);
    Buffer own;
    reader.fill(node);
    double total = 0;
    for (int64_t t = 0; t < T; ++t) {
      total += node[t * P + y[t]];
      if (t > 0) total += edge_scores(from.edges(), reader.own(), t, own)[y[t - 1] * P + y[t]];
    }
    scores[i] = CANARY_ELSEWHERE(THREADS, CANARY(LABELLING, total));
  });
}

void entropies(const Potentials& from, int n_threads, double* entropy) {
  const int S = from.S(), P = from.P();
  each_sequence(from, n_threads, [&](int64_t i, Potentials::Reader& reader, SequencePass& pass) {
    entropy[i] = 0;
    if (from.length(i) == 0) return;
    possible_partition(from, i, reader, pass, Numerics::automatic);
    Buffer node(static_cast<size_t>(from.length(i)) * P);
    double total = 0;
    const auto sink = [&](int64_t, const double* pairs) {
      for (int x = 0; x < S; ++x) {
        double row = 0;
        for (int y = 0; y < S; ++y) row += pairs[x * P + y];
        for (int y = 0; y < S; ++y)
          if (pairs[x * P + y] > 0) total -= pairs[x * P + y] * std::log(pairs[x * P + y] / row);
      }
    };
    pass.marginals(1.0, node.data(), nullptr, sink, true);
    for (int y = 0; y < S; ++y)
      if (node[y] > 0) total -= node[y] * std::log(node[y]);
    entropy[i] = std::max(CANARY(ENTROPY, total), 0.0);
  });
}

std::vector<Ranked> k_best_of(const Potentials& from, int k, int n_threads) {
  std::vector<Ranked> all(from.n_sequences());
  each_sequence(from, n_threads, [&](int64_t i, Potentials::Reader& reader, SequencePass& pass) {
    const int64_t T = from.length(i);
    double* node = pass.scratch(T, from.P());
    reader.fill(node);
    std::vector<Labelling> found = k_best(from.edges(), reader.own(), T, node, k);
    if (found.empty()) throw ImpossibleSequence(i);
    for (const Labelling& one : found) {
      all[i].states.insert(all[i].states.end(), one.states.begin(), one.states.end());
      all[i].scores.push_back(one.score);
    }
  });
  return all;
}

std::vector<std::vector<int32_t>> samples(const Potentials& from, int n, uint64_t seed, int64_t first,
                                          int n_threads) {
  std::vector<std::vector<int32_t>> all(from.n_sequences());
  each_sequence(from, n_threads, [&](int64_t i, Potentials::Reader& reader, SequencePass& pass) {
    const int64_t T = from.length(i);
    all[i].resize(n * T);
    if (T == 0) return;
    possible_partition(from, i, reader, pass, Numerics::automatic);
    uint64_t state = seed ^ (0xd1342543de82ef95ull * static_cast<uint64_t>(first + i + 1));
    const auto uniform = [&] { return static_cast<double>(split_mix(state) >> 11) * 0x1.0p-53; };
    for (int s = 0; s < n; ++s) pass.sample(uniform, all[i].data() + s * T);
  });
  return all;
}

void window_probabilities(const Potentials& from, const Windows& w, int n_threads, double* probability) {
  std::vector<int64_t> order(w.n);  // windows by sequence, so that one pass serves all of a sequence's
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return w.sequence[a] < w.sequence[b]; });
  std::vector<int64_t> begin(from.n_sequences() + 1, 0);
  for (int64_t r = 0; r < w.n; ++r) ++begin[w.sequence[r] + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  each_sequence(from, n_threads, [&](int64_t i, Potentials::Reader& reader, SequencePass& pass) {
    if (begin[i] == begin[i + 1]) return;
    possible_partition(from, i, reader, pass, Numerics::automatic);
    Buffer node(static_cast<size_t>(from.length(i)) * from.P());
    pass.marginals(1.0, node.data(), nullptr, [](int64_t, const double*) {}, false);
    for (int64_t j = begin[i]; j < begin[i + 1]; ++j) {
      const int64_t r = order[j];
      probability[r] =
          pass.window_probability(w.first[r], w.ptr[r + 1] - w.ptr[r], w.allowed + w.ptr[r] * from.S());
    }
  });
}

}  // namespace fieldcraft
