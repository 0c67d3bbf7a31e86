#include "factorial.hpp"

#include <algorithm>

#include "bind/watched.hpp"
#include "parallel.hpp"

namespace fieldcraft::bind {
namespace {

constexpr int64_t kMostStates = 1 << 20;

// The arguments of every question, checked.
struct Batch {
  Batch(In2<double> node_, In1<int64_t> offsets_, In1<int32_t> card, In1<double> edge, In2<int32_t> pairs,
        In1<double> pair, In2<int32_t> crosses, In1<double> cross, In2<int32_t> steps, In1<double> step)
      : node(node_), offsets(vector_of(offsets_)) {
    int64_t S = 1;
    for (const int32_t size : vector_of(card)) {
      require(size >= 1 && size <= static_cast<int64_t>(node.shape(1)), "a column of ", size,
              " labels, node has ", node.shape(1));
      S *= size;
      require(S <= kMostStates, "the columns have more than ", kMostStates, " combinations of labels");
      tables.card.push_back(size);
    }
    const int C = static_cast<int>(tables.card.size());
    require(C >= 1, "no column");
    check_offsets(offsets.data(), offsets.size(), static_cast<int64_t>(node.shape(0)) / C, "offsets");
    require(static_cast<int64_t>(node.shape(0)) == offsets.back() * C, "node has ", node.shape(0),
            " rows for ", offsets.back(), " tokens of ", C, " columns");
    take(pairs, C, "pairs", tables.pairs);
    take(crosses, C, "crosses", tables.crosses);
    take(steps, C, "steps", tables.steps);
    for (const auto& [c, d] : tables.crosses) require(c < d, "a cross leads from column ", c, " to ", d);
    for (const auto& [c, d] : tables.steps) require(c < d, "a step of column ", c, " looks at column ", d);
    tables.edge = edge.data(), tables.pair = pair.data(), tables.cross = cross.data();
    tables.step = step.data();
    tables.width = static_cast<int64_t>(node.shape(1));
    edges = tables.edge_cells();
    pair_cells = FactorialTables::cells(tables.card, tables.pairs);
    cross_cells = FactorialTables::cells(tables.card, tables.crosses);
    step_cells = tables.step_cells();
    check(edge, edges, "edge"), check(pair, pair_cells, "pair"), check(cross, cross_cells, "cross");
    check(step, step_cells, "step");
  }

  static void check(const In1<double>& given, int64_t expected, const char* name) {
    require(static_cast<int64_t>(given.shape(0)) == expected, name, " has ", given.shape(0), " numbers, ",
            expected, " are expected");
  }
  static void take(const In2<int32_t>& given, int C, const char* name,
                   std::vector<std::pair<int, int>>& out) {
    require(given.shape(1) == 2, name, " must be [n, 2]");
    for (size_t i = 0; i < given.shape(0); ++i) {
      const int32_t c = given.data()[2 * i], d = given.data()[2 * i + 1];
      require(c >= 0 && d >= 0 && c < C && d < C && c != d, name, "[", i, "] is (", c, ", ", d, ") of ", C,
              " columns");
      out.emplace_back(c, d);
    }
  }

  int64_t n() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t C() const { return static_cast<int64_t>(tables.card.size()); }
  const double* node_of(size_t i) const { return node.data() + offsets[i] * C() * tables.width; }
  int64_t length(size_t i) const { return offsets[i + 1] - offsets[i]; }

  In2<double> node;
  std::vector<int64_t> offsets;
  FactorialTables tables;
  int64_t edges, pair_cells, cross_cells, step_cells;
};

nb::object py_log_partition(In2<double> node, In1<int64_t> offsets, In1<int32_t> card, In1<double> edge,
                            In2<int32_t> pairs, In1<double> pair, In2<int32_t> crosses, In1<double> cross,
                            In2<int32_t> steps, In1<double> step, int n_jobs) {
  const Batch batch(node, offsets, card, edge, pairs, pair, crosses, cross, steps, step);
  std::vector<double> out(batch.n());
  watched([&](Watch& watch) {
    const Factorial model(batch.tables);
    for_each_task(
        n_jobs, out.size(),
        [&](size_t i, int) { out[i] = model.log_partition(batch.node_of(i), batch.length(i)); }, &watch);
  });
  return give(std::move(out));
}

// Sums over positions are one row per sequence; without `summed` they are empty.
nb::tuple py_marginals(In2<double> node, In1<int64_t> offsets, In1<int32_t> card, In1<double> edge,
                       In2<int32_t> pairs, In1<double> pair, In2<int32_t> crosses, In1<double> cross,
                       In2<int32_t> steps, In1<double> step, bool summed, int n_jobs) {
  const Batch batch(node, offsets, card, edge, pairs, pair, crosses, cross, steps, step);
  const int64_t rows = summed ? batch.n() : 0;
  const size_t N = static_cast<size_t>(batch.n());
  std::vector<double> log_z(N), nodes(node.shape(0) * node.shape(1)), edges(rows * batch.edges),
      together(rows * batch.pair_cells), across(rows * batch.cross_cells), steps_(rows * batch.step_cells);
  watched([&](Watch& watch) {
    const Factorial model(batch.tables);
    for_each_task(
        n_jobs, N,
        [&](size_t i, int) {
          FactorialMarginals out{nodes.data() + batch.offsets[i] * batch.C() * batch.tables.width, nullptr,
                                 nullptr, nullptr, nullptr};
          if (summed)
            out.edge = edges.data() + i * batch.edges, out.pair = together.data() + i * batch.pair_cells,
            out.cross = across.data() + i * batch.cross_cells,
            out.step = steps_.data() + i * batch.step_cells;
          log_z[i] = model.marginals(batch.node_of(i), batch.length(i), out);
        },
        &watch);
  });
  const size_t R = static_cast<size_t>(rows);
  return nb::make_tuple(give(std::move(log_z)), give(std::move(nodes), {node.shape(0), node.shape(1)}),
                        give(std::move(edges), {R, static_cast<size_t>(batch.edges)}),
                        give(std::move(together), {R, static_cast<size_t>(batch.pair_cells)}),
                        give(std::move(across), {R, static_cast<size_t>(batch.cross_cells)}),
                        give(std::move(steps_), {R, static_cast<size_t>(batch.step_cells)}));
}

nb::tuple py_argmax(In2<double> node, In1<int64_t> offsets, In1<int32_t> card, In1<double> edge,
                    In2<int32_t> pairs, In1<double> pair, In2<int32_t> crosses, In1<double> cross,
                    In2<int32_t> steps, In1<double> step, int n_jobs) {
  const Batch batch(node, offsets, card, edge, pairs, pair, crosses, cross, steps, step);
  std::vector<int32_t> labels(node.shape(0));
  std::vector<double> value(batch.n());
  watched([&](Watch& watch) {
    const Factorial model(batch.tables);
    for_each_task(
        n_jobs, value.size(),
        [&](size_t i, int) {
          value[i] =
              model.best(batch.node_of(i), batch.length(i), labels.data() + batch.offsets[i] * batch.C());
        },
        &watch);
  });
  return give_all(std::move(labels), std::move(value));
}

}  // namespace

void bind_factorial(nb::module_& m) {
  m.def("factorial_log_partition", &py_log_partition, "node"_a, "offsets"_a, "card"_a, "edge"_a, "pairs"_a,
        "pair"_a, "crosses"_a, "cross"_a, "steps"_a, "step"_a, "n_jobs"_a, "log Z of factorial chains [N].");
  m.def("factorial_marginals", &py_marginals, "node"_a, "offsets"_a, "card"_a, "edge"_a, "pairs"_a, "pair"_a,
        "crosses"_a, "cross"_a, "steps"_a, "step"_a, "summed"_a, "n_jobs"_a,
        "log Z [N], node marginals, and sums of edge, pair and cross marginals per sequence.");
  m.def("factorial_argmax", &py_argmax, "node"_a, "offsets"_a, "card"_a, "edge"_a, "pairs"_a, "pair"_a,
        "crosses"_a, "cross"_a, "steps"_a, "step"_a, "n_jobs"_a,
        "The best labels [tokens * columns] and their scores [N].");
}

}  // namespace fieldcraft::bind
