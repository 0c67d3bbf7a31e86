#include "state_queries.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "canary.hpp"
#include "parallel.hpp"
#include "rescaled.hpp"

namespace fieldcraft {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
constexpr int64_t kTaskTokens = 256;

uint64_t split_mix(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

std::vector<int64_t> cut_tasks(const StatePotentials& from) {
  std::vector<int64_t> cuts{0};
  for (int64_t i = 0; i < from.n_sequences(); ++i)
    if (from.offsets[i + 1] - from.offsets[cuts.back()] >= kTaskTokens) cuts.push_back(i + 1);
  if (cuts.back() != from.n_sequences()) cuts.push_back(from.n_sequences());
  return cuts;
}

// body(i, scores, pass) for every sequence, on any thread.
template <class Body>
void each_chain(const StatePotentials& from, int n_threads, Watch& watch, const Body& body) {
  const std::vector<int64_t> cuts = cut_tasks(from);
  for_each_task(
      n_threads, cuts.size() - 1,
      [&](size_t task, int) {
        StatePotentials::Reader reader(from);
        StatePass pass(from.graph, &watch);
        for (int64_t i = cuts[task]; i < cuts[task + 1]; ++i) body(i, reader.go_to(i), pass);
      },
      &watch);
}

double possible(int64_t i, double log_z) {
  if (log_z == kMinusInf) throw ImpossibleSequence(i);
  if (!std::isfinite(log_z)) throw BeyondRange(i);
  return log_z;
}

}  // namespace

StatePotentials::StatePotentials(const StateGraph& its_graph, const double* node, const double* edge,
                                 bool per_token, std::vector<int64_t> its_offsets)
    : graph(its_graph), offsets(std::move(its_offsets)), node_(node), edge_(edge), per_token_(per_token) {
  std::vector<double> shared(graph.E(), 0.0);
  if (!per_token) std::copy_n(edge, graph.E(), shared.begin());
  edges = StateEdges(std::move(shared));
}

StatePotentials::StatePotentials(const StateGraph& its_graph, const Potentials& base,
                                 const std::vector<double>& extra)
    : graph(its_graph), offsets(base.offsets), base_(&base), cell_(graph.E()), extra_(extra) {
  std::vector<double> shared(graph.E());
  for (int64_t e = 0; e < graph.E(); ++e) {
    cell_[e] = graph.node_class[graph.source[e]] * base.P() + graph.node_class[graph.target[e]];
    shared[e] = base.edges().scores[cell_[e]] + (extra_.empty() ? 0.0 : extra_[e]);
  }
  edges = StateEdges(std::move(shared));
}

StatePotentials::Reader::Reader(const StatePotentials& from) : from_(from) {
  if (from.base_ != nullptr) base_ = from.base_->reader();
}

StateScores StatePotentials::Reader::go_to(int64_t i) {
  StateScores out;
  const int64_t first = from_.offsets[i], E = from_.graph.E();
  out.T = from_.length(i), out.edges = &from_.edges;
  if (!from_.allowed.empty()) out.allowed = from_.allowed.data() + first * from_.graph.n_labels;
  if (!base_) {
    out.C = from_.graph.n_classes, out.node = from_.node_ + first * out.C;
    if (from_.per_token_)
      out.own = [edge = from_.edge_ + first * E, E](int64_t t, double* scores) {
        std::copy_n(edge + t * E, E, scores);
        return true;
      };
    return out;
  }
  base_->go_to(i);
  out.C = from_.base_->P();
  node_.reserve(static_cast<size_t>(out.T * out.C));
  base_->fill(node_.data());
  out.node = node_.data();
  if (const OwnEdges* own = base_->own()) {
    pairs_.reserve(static_cast<size_t>(from_.base_->S() * out.C));
    if (from_.graph.folds) {
      out.fold = [this, own, P = out.C](int64_t t, double* added) {
        if (!own->has(t)) return false;
        own->fill(t, pairs_.data());
        fold_pairs(from_.graph, pairs_.data(), from_.base_->edges().scores.data(), P, added);
        return true;
      };
      return out;
    }
    out.own = [this, own, E](int64_t t, double* scores) {
      if (!own->has(t)) return false;
      own->fill(t, pairs_.data());
      for (int64_t e = 0; e < E; ++e)
        scores[e] = pairs_[from_.cell_[e]] + (from_.extra_.empty() ? 0.0 : from_.extra_[e]);
      return true;
    };
  }
  return out;
}

void state_log_partitions(const StatePotentials& from, Numerics how, int n_threads, Watch& watch,
                          double* log_z) {
  each_chain(from, n_threads, watch, [&](int64_t i, const StateScores& scores, StatePass& pass) {
    const double z = pass.log_partition(scores, how);
    log_z[i] = z == kMinusInf ? z : possible(i, z);
  });
}

void state_marginals(const StatePotentials& from, Numerics how, int n_threads, Watch& watch,
                     EdgeOutput output, double* node, double* edge, double* log_z) {
  const int64_t S = from.graph.S(), E = from.graph.E();
  const std::vector<int64_t> cuts = cut_tasks(from);
  const size_t n_tasks = cuts.size() - 1;
  // Totals: at most 16 fixed groups of tasks keep a sum each; the groups are added in order.
  const size_t n_groups = output == EdgeOutput::totals ? std::min<size_t>(16, n_tasks) : n_tasks;
  std::vector<std::vector<double>> sums(output == EdgeOutput::totals ? n_groups : 0);
  for_each_task(
      n_threads, n_groups,
      [&](size_t group, int) {
        StatePotentials::Reader reader(from);
        StatePass pass(from.graph, &watch);
        if (!sums.empty()) sums[group].assign(E, 0.0);
        for (int64_t i = cuts[n_tasks * group / n_groups]; i < cuts[n_tasks * (group + 1) / n_groups]; ++i) {
          const StateScores scores = reader.go_to(i);
          log_z[i] = possible(i, pass.log_partition(scores, how));
          const int64_t first = from.offsets[i];
          const StatePass::Sink sink = [&](int64_t t, const double* pairs) {
            std::copy_n(pairs, E, edge + (first + t) * E);
          };
          pass.marginals(1.0, node + first * S, sums.empty() ? nullptr : sums[group].data(),
                         output == EdgeOutput::rows ? &sink : nullptr);
        }
        if (!sums.empty()) pass.collect(sums[group].data());
      },
      &watch);
  for (const std::vector<double>& sum : sums)
    for (int64_t e = 0; e < E; ++e) edge[e] += sum[e];
}

void state_argmax(const StatePotentials& from, const Beam* beam, int n_threads, Watch& watch, bool may_fail,
                  int32_t* states, double* scores) {
  each_chain(from, n_threads, watch, [&](int64_t i, StateScores given, StatePass& pass) {
    given.beam = beam;
    scores[i] = pass.viterbi(given, states + from.offsets[i]);
    if (scores[i] == kMinusInf && !may_fail) throw ImpossibleSequence(i);
  });
}

void state_beam_partitions(const StatePotentials& from, const Beam& beam, int n_threads, Watch& watch,
                           double* log_z, double* lost) {
  each_chain(from, n_threads, watch, [&](int64_t i, StateScores given, StatePass& pass) {
    given.beam = &beam;
    log_z[i] = possible(i, pass.log_partition(given, Numerics::automatic));
    lost[i] = pass.lost_mass();
  });
}

void state_scores(const StatePotentials& from, int n_threads, Watch& watch, const int32_t* states,
                  double* scores) {
  const StateGraph& g = from.graph;
  each_chain(from, n_threads, watch, [&](int64_t i, const StateScores& given, StatePass&) {
    const int32_t* y = states + from.offsets[i];
    std::vector<double> own(given.own ? g.E() : 0), added(given.fold ? g.S() : 0);
    double total = 0;
    for (int64_t t = 0; t < given.T; ++t) {
      const bool ends = (t == 0 && !g.starts[y[t]]) || (t == given.T - 1 && !g.stops[y[t]]);
      const bool masked = given.allowed != nullptr && !given.allowed[t * g.n_labels + g.label_of[y[t]]];
      total += ends || masked ? kMinusInf : given.node[t * given.C + g.node_class[y[t]]];
      if (t == 0) continue;
      if (given.fold && given.fold(t, added.data())) total += added[y[t]];
      const auto first = g.target.begin() + g.out_ptr[y[t - 1]],
                 last = g.target.begin() + g.out_ptr[y[t - 1] + 1];
      const auto at = std::lower_bound(first, last, y[t]);
      if (at == last || *at != y[t]) {
        total = kMinusInf;
        continue;
      }
      const int64_t e = at - g.target.begin();
      total += given.own && given.own(t, own.data()) ? own[e] : given.edges->scores[e];
    }
    scores[i] = CANARY(STATES_LABELLING, total);
  });
}

void state_entropies(const StatePotentials& from, int n_threads, Watch& watch, double* out) {
  const StateGraph& g = from.graph;
  each_chain(from, n_threads, watch, [&](int64_t i, const StateScores& given, StatePass& pass) {
    out[i] = 0;
    if (given.T == 0) return;
    possible(i, pass.log_partition(given, Numerics::automatic));
    std::vector<double> node(given.T * g.S());
    double total = 0;
    const StatePass::Sink sink = [&](int64_t, const double* pairs) {
      for (int64_t x = 0; x < g.S(); ++x) {
        double row = 0;
        for (int64_t e = g.out_ptr[x]; e < g.out_ptr[x + 1]; ++e) row += pairs[e];
        for (int64_t e = g.out_ptr[x]; e < g.out_ptr[x + 1]; ++e)
          if (pairs[e] > 0) total -= pairs[e] * std::log(pairs[e] / row);
      }
    };
    pass.marginals(1.0, node.data(), nullptr, &sink);
    for (int64_t s = 0; s < g.S(); ++s)
      if (node[s] > 0) total -= node[s] * std::log(node[s]);
    out[i] = std::max(total, 0.0);
  });
}

std::vector<Ranked> state_k_best(const StatePotentials& from, int k, int n_threads, Watch& watch) {
  std::vector<Ranked> all(from.n_sequences());
  each_chain(from, n_threads, watch, [&](int64_t i, const StateScores& given, StatePass& pass) {
    const std::vector<Labelling> found = pass.k_best(given, k);
    if (found.empty()) throw ImpossibleSequence(i);
    for (const Labelling& one : found) {
      all[i].states.insert(all[i].states.end(), one.states.begin(), one.states.end());
      all[i].scores.push_back(one.score);
    }
  });
  return all;
}

std::vector<std::vector<int32_t>> state_samples(const StatePotentials& from, int n, uint64_t seed,
                                                int64_t first, int n_threads, Watch& watch) {
  std::vector<std::vector<int32_t>> all(from.n_sequences());
  each_chain(from, n_threads, watch, [&](int64_t i, const StateScores& given, StatePass& pass) {
    all[i].resize(n * given.T);
    if (given.T == 0) return;
    possible(i, pass.log_partition(given, Numerics::automatic));
    uint64_t state = seed ^ (0xd1342543de82ef95ull * static_cast<uint64_t>(first + i + 1));
    const auto uniform = [&] { return static_cast<double>(split_mix(state) >> 11) * 0x1.0p-53; };
    for (int s = 0; s < n; ++s) pass.sample(uniform, all[i].data() + s * given.T);
  });
  return all;
}

// p(window) = Z(restricted to the window's labels) / Z.
void state_windows(const StatePotentials& from, const Windows& w, int n_threads, Watch& watch,
                   double* probability) {
  const int64_t Y = from.graph.n_labels;
  std::vector<std::vector<int64_t>> of(from.n_sequences());
  for (int64_t r = 0; r < w.n; ++r) of[w.sequence[r]].push_back(r);
  each_chain(from, n_threads, watch, [&](int64_t i, const StateScores& given, StatePass& pass) {
    if (of[i].empty()) return;
    const double log_z = possible(i, pass.log_partition(given, Numerics::automatic));
    std::vector<uint8_t> free(static_cast<size_t>(given.T * Y), 1), mask;
    if (given.allowed != nullptr) free.assign(given.allowed, given.allowed + given.T * Y);
    for (const int64_t r : of[i]) {
      mask = free;
      const int64_t n = (w.ptr[r + 1] - w.ptr[r]) * Y;
      for (int64_t k = 0; k < n; ++k) mask[w.first[r] * Y + k] &= w.allowed[w.ptr[r] * Y + k];
      StateScores restricted = given;
      restricted.allowed = mask.data();
      const double log_share = pass.log_partition(restricted, Numerics::automatic) - log_z;
      probability[r] = std::min(1.0, std::exp(log_share));
    }
  });
}

}  // namespace fieldcraft
