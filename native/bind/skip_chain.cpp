// Chains with skip edges.
#include "skip_chain.hpp"

#include <nanobind/stl/optional.h>

#include <cmath>
#include <optional>

#include "bind/arrays.hpp"
#include "bind/watched.hpp"
#include "parallel.hpp"
#include "skip_contraction.hpp"
#include "skip_reweighted.hpp"

namespace fieldcraft::bind {
namespace {

// Positions of pairs are those of the batch; both ends lie in the sequence that has the pair.
std::vector<int32_t> checked_scope(const In2<int32_t>& given, const std::vector<int64_t>& offsets,
                                   const std::vector<int64_t>& rows) {
  std::vector<int32_t> scope(given.data(), given.data() + given.shape(0) * 2);
  for (size_t i = 0; i + 1 < offsets.size(); ++i)
    for (int64_t k = 2 * rows[i]; k < 2 * rows[i + 1]; ++k) {
      require(scope[k] >= offsets[i] && scope[k] < offsets[i + 1], "pair ", k / 2, " of sequence ", i,
              " has position ", scope[k], ", the sequence ", offsets[i], " .. ", offsets[i + 1] - 1);
      scope[k] -= static_cast<int32_t>(offsets[i]);
      require(k % 2 == 0 || scope[k] != scope[k - 1], "pair ", k / 2, " joins a position with itself");
    }
  return scope;
}

// Chains with their skip edges, checked.
struct SkipChains {
  SkipChains(const In2<double>& node, const In2<double>& edge, const In1<int64_t>& offsets,
             const In2<int32_t>& scope, const In1<int64_t>& rows, const In2<double>& skip,
             const std::optional<In1<uint8_t>>& chosen)
      : T(node.shape(0)),
        Y(node.shape(1)),
        P(scope.shape(0)),
        N(offsets.shape(0) - 1),
        at(vector_of(offsets)),
        row(vector_of(rows)),
        node_(node.data()),
        edge_(edge.data()),
        skip_(skip.data()) {
    check_offsets(at.data(), at.size(), static_cast<int64_t>(T), "offsets");
    check_offsets(row.data(), row.size(), static_cast<int64_t>(P), "offsets of pairs");
    require(at.size() == row.size(), "offsets of positions and of pairs are of different lengths");
    require(edge.shape(1) == Y * Y && (edge.shape(0) == 1 || edge.shape(0) == T), "edge has shape (",
            edge.shape(0), ", ", edge.shape(1), "), expected (1 or ", T, ", ", Y * Y, ")");
    require(skip.shape(0) == P && skip.shape(1) == Y * Y && scope.shape(1) == 2, "skip has shape (",
            skip.shape(0), ", ", skip.shape(1), "), expected (", P, ", ", Y * Y, ")");
    scope_ = checked_scope(scope, at, row);
    stride_ = edge.shape(0) == 1 && T != 1 ? 0 : static_cast<int64_t>(Y * Y);
    if (!chosen) return;
    require(chosen->shape(0) == N, "chosen has ", chosen->shape(0), " numbers, expected ", N);
    chosen_ = vector_of(*chosen);
  }

  bool skips(size_t i) const { return !chosen_.empty() && chosen_[i] == 0; }
  SkipSequence of(size_t i) const {
    return {at[i + 1] - at[i],          row[i + 1] - row[i],     static_cast<int>(Y),
            node_ + at[i] * Y,          edge_ + at[i] * stride_, stride_,
            scope_.data() + 2 * row[i], skip_ + row[i] * Y * Y};
  }

  size_t T, Y, P, N;
  std::vector<int64_t> at, row;

 private:
  const double *node_, *edge_, *skip_;
  std::vector<int32_t> scope_;
  std::vector<uint8_t> chosen_;
  int64_t stride_ = 0;
};

// What is returned for them; sequences that were not chosen have zeros.
struct SkipAnswers {
  explicit SkipAnswers(const SkipChains& of)
      : of(of),
        log_z(of.N),
        residual(of.N),
        nodes(of.T * of.Y),
        edges(of.T * of.Y * of.Y),
        skips(of.P * of.Y * of.Y),
        iterations(of.N),
        converged(of.N, 1),
        lost(of.N),
        levels(of.N) {}
  double* node(size_t i) { return nodes.data() + of.at[i] * of.Y; }
  double* edge(size_t i) { return edges.data() + of.at[i] * of.Y * of.Y; }
  double* skip(size_t i) { return skips.data() + of.row[i] * of.Y * of.Y; }
  void note(size_t i, const SkipAnswer& found) {
    log_z[i] = found.log_partition, residual[i] = found.residual, iterations[i] = found.iterations;
    converged[i] = found.converged, lost[i] = found.lost, levels[i] = found.level;
  }
  nb::dict give_away(std::vector<double>&& messages) {
    nb::dict out;
    out["log_partition"] = give(std::move(log_z));
    out["node"] = give(std::move(nodes), {of.T, of.Y});
    out["edge"] = give(std::move(edges), {of.T, of.Y * of.Y});
    out["skip"] = give(std::move(skips), {of.P, of.Y * of.Y});
    out["iterations"] = give(std::move(iterations));
    out["residual"] = give(std::move(residual));
    out["converged"] = give(std::move(converged));
    out["lost"] = give(std::move(lost));
    out["messages"] = give(std::move(messages));
    out["level"] = give(std::move(levels));
    return out;
  }

  const SkipChains& of;
  std::vector<double> log_z, residual, nodes, edges, skips;
  std::vector<int64_t> iterations;
  std::vector<uint8_t> converged, lost;
  std::vector<int32_t> levels;
};

nb::dict py_skip_chain(In2<double> node, In2<double> edge, In1<int64_t> offsets, In2<int32_t> scope,
                       In1<int64_t> rows, In2<double> skip, int max_iterations, double tolerance,
                       double damping, std::optional<In1<double>> start, std::optional<In1<int32_t>> level,
                       std::optional<In1<uint8_t>> chosen, int n_jobs) {
  const SkipChains chains(node, edge, offsets, scope, rows, skip, chosen);
  const size_t Y = chains.Y, N = chains.N;
  SkipAnswers answers(chains);
  std::vector<double> messages(chains.P * 2 * Y, 1.0 / static_cast<double>(Y));
  if (start) {
    require(start->shape(0) == messages.size(), "start has ", start->shape(0), " numbers, expected ",
            messages.size());
    messages = vector_of(*start);
    for (double& one : messages) one = one > 0 && one <= 1 ? one : 1.0 / static_cast<double>(Y);
  }
  if (level) {
    require(level->shape(0) == N, "level has ", level->shape(0), " numbers, expected ", N);
    answers.levels = vector_of(*level);
    check_range(answers.levels.data(), N, 0, 5, "level");
  }
  const SkipSettings settings{max_iterations, tolerance, damping};
  watched([&](Watch& watch) {
    for_each_task(
        n_jobs, N,
        [&](size_t i, int) {
          if (chains.skips(i)) return;
          double* mine = messages.data() + 2 * chains.row[i] * Y;
          answers.note(i, SkipPass().run(chains.of(i), settings, answers.levels[i], mine, answers.node(i),
                                         answers.edge(i), answers.skip(i)));
        },
        &watch);
  });
  return answers.give_away(std::move(messages));
}

nb::dict py_reweighted(In2<double> node, In2<double> edge, In1<int64_t> offsets, In2<int32_t> scope,
                       In1<int64_t> rows, In2<double> skip, In1<double> step_share, In1<double> pair_share,
                       int max_iterations, double tolerance, double damping, std::optional<In1<double>> start,
                       std::optional<In1<uint8_t>> chosen, int n_jobs) {
  const SkipChains chains(node, edge, offsets, scope, rows, skip, chosen);
  const size_t Y = chains.Y;
  require(step_share.shape(0) == chains.T && pair_share.shape(0) == chains.P, "shares of ",
          step_share.shape(0), " steps and ", pair_share.shape(0), " pairs, expected ", chains.T, " and ",
          chains.P);
  SkipAnswers answers(chains);
  std::vector<double> messages((chains.T + chains.P) * 2 * Y, -std::log(static_cast<double>(Y)));
  if (start) {
    require(start->shape(0) == messages.size(), "start has ", start->shape(0), " numbers, expected ",
            messages.size());
    messages = vector_of(*start);
    for (double& one : messages) one = std::isfinite(one) ? one : 0.0;
  }
  const SkipSettings settings{max_iterations, tolerance, damping};
  watched([&](Watch& watch) {
    for_each_task(
        n_jobs, chains.N,
        [&](size_t i, int) {
          if (chains.skips(i)) return;
          const Shares shares{step_share.data() + chains.at[i], pair_share.data() + chains.row[i]};
          double* mine = messages.data() + 2 * (chains.at[i] + chains.row[i]) * Y;
          answers.note(i, ReweightedPass().run(chains.of(i), shares, settings, mine, answers.node(i),
                                               answers.edge(i), answers.skip(i)));
        },
        &watch);
  });
  return answers.give_away(std::move(messages));
}

// Chains and the positions to which they are shortened, checked.
struct LongChains {
  LongChains(const In2<double>& node, const In2<double>& edge, const In1<int64_t>& offsets,
             const In1<int32_t>& ends, const In1<int64_t>& rows)
      : T(node.shape(0)),
        Y(node.shape(1)),
        node_(node.data()),
        edge_(edge.data()),
        at(vector_of(offsets)),
        row(vector_of(rows)),
        ends_(vector_of(ends)) {
    check_offsets(at.data(), at.size(), static_cast<int64_t>(T), "offsets");
    check_offsets(row.data(), row.size(), static_cast<int64_t>(ends_.size()), "offsets of ends");
    require(at.size() == row.size(), "offsets of positions and of ends are of different lengths");
    require(edge.shape(1) == Y * Y && (edge.shape(0) == 1 || edge.shape(0) == T), "edge has shape (",
            edge.shape(0), ", ", edge.shape(1), "), expected (1 or ", T, ", ", Y * Y, ")");
    stride_ = edge.shape(0) == 1 && T != 1 ? 0 : static_cast<int64_t>(Y * Y);
    for (size_t i = 0; i + 1 < at.size(); ++i)
      for (int64_t k = row[i]; k < row[i + 1]; ++k) {
        require(ends_[k] >= at[i] && ends_[k] < at[i + 1], "end ", k, " of sequence ", i, " is ", ends_[k],
                ", the sequence ", at[i], " .. ", at[i + 1] - 1);
        require(k == row[i] || ends_[k] - at[i] > ends_[k - 1], "ends of sequence ", i, " do not ascend");
        ends_[k] -= static_cast<int32_t>(at[i]);
      }
  }

  size_t size() const { return at.size() - 1; }
  LongChain of(size_t i) const {
    return {at[i + 1] - at[i],    row[i + 1] - row[i],     static_cast<int>(Y),
            node_ + at[i] * Y,    edge_ + at[i] * stride_, stride_,
            ends_.data() + row[i]};
  }

  size_t T, Y;
  const double *node_, *edge_;
  std::vector<int64_t> at, row;

 private:
  std::vector<int32_t> ends_;
  int64_t stride_ = 0;
};

nb::dict py_contract(In2<double> node, In2<double> edge, In1<int64_t> offsets, In1<int32_t> ends,
                     In1<int64_t> rows, int n_jobs) {
  const LongChains chains(node, edge, offsets, ends, rows);
  const size_t M = ends.shape(0), Y = chains.Y, N = chains.size();
  std::vector<double> nodes(M * Y), edges(M * Y * Y), rest(N);
  std::vector<uint8_t> lost(N);
  watched([&](Watch& watch) {
    for_each_task(
        n_jobs, N,
        [&](size_t i, int) {
          const int64_t k = chains.row[i];
          lost[i] = !contract(chains.of(i), nodes.data() + k * Y, edges.data() + k * Y * Y, rest[i]);
        },
        &watch);
  });
  nb::dict out;
  out["node"] = give(std::move(nodes), {M, Y});
  out["edge"] = give(std::move(edges), {M, Y * Y});
  out["rest"] = give(std::move(rest));
  out["lost"] = give(std::move(lost));
  return out;
}

nb::tuple py_expand(In2<double> node, In2<double> edge, In1<int64_t> offsets, In1<int32_t> ends,
                    In1<int64_t> rows, In2<double> short_node, In2<double> short_edge, int n_jobs) {
  const LongChains chains(node, edge, offsets, ends, rows);
  const size_t M = ends.shape(0), T = chains.T, Y = chains.Y, N = chains.size();
  require(short_node.shape(0) == M && short_node.shape(1) == Y && short_edge.shape(0) == M &&
              short_edge.shape(1) == Y * Y,
          "marginals of ", short_node.shape(0), " and ", short_edge.shape(0), " ends, expected ", M);
  std::vector<double> nodes(T * Y), edges(T * Y * Y);
  watched([&](Watch& watch) {
    for_each_task(
        n_jobs, N,
        [&](size_t i, int) {
          const int64_t k = chains.row[i], t = chains.at[i];
          expand(chains.of(i), short_node.data() + k * Y, short_edge.data() + k * Y * Y, nodes.data() + t * Y,
                 edges.data() + t * Y * Y);
        },
        &watch);
  });
  return nb::make_tuple(give(std::move(nodes), {T, Y}), give(std::move(edges), {T, Y * Y}));
}

}  // namespace

void bind_skip_chain(nb::module_& m) {
  m.def("skip_chain", &py_skip_chain, "node"_a, "edge"_a, "offsets"_a, "scope"_a, "rows"_a, "skip"_a,
        "max_iterations"_a, "tolerance"_a, "damping"_a, "start"_a = nb::none(), "level"_a = nb::none(),
        "chosen"_a = nb::none(), "n_jobs"_a = 1, "Belief propagation on chains with skip edges.");
  m.def("skip_reweighted", &py_reweighted, "node"_a, "edge"_a, "offsets"_a, "scope"_a, "rows"_a, "skip"_a,
        "step_share"_a, "pair_share"_a, "max_iterations"_a, "tolerance"_a, "damping"_a,
        "start"_a = nb::none(), "chosen"_a = nb::none(), "n_jobs"_a = 1,
        "Tree-reweighted sums on chains with skip edges.");
  m.def("skip_contract", &py_contract, "node"_a, "edge"_a, "offsets"_a, "ends"_a, "rows"_a, "n_jobs"_a = 1,
        "Chains shortened to some of their positions.");
  m.def("skip_expand", &py_expand, "node"_a, "edge"_a, "offsets"_a, "ends"_a, "rows"_a, "short_node"_a,
        "short_edge"_a, "n_jobs"_a = 1, "Marginals of chains from those of the shortened ones.");
}

}  // namespace fieldcraft::bind
