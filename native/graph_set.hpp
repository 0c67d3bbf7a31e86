// Graphs that are worked on together, threads over graphs, with what their topology determines: computed when
// first asked for, and kept.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "clique_tree.hpp"
#include "graph.hpp"
#include "parallel.hpp"
#include "sequence_error.hpp"
#include "spanning_forests.hpp"

namespace fieldcraft {

// A graph and its triangulations and spanning forests.
class CompiledGraph {
 public:
  explicit CompiledGraph(Graph graph) : graph(std::move(graph)) {}

  // Throws std::invalid_argument with its size where the tables would take more than most_bytes.
  const CliqueTree& tree(Heuristic heuristic, double most_bytes);
  const SpanningForests& forests();

  const Graph graph;

 private:
  std::mutex mutex_;
  std::unique_ptr<const CliqueTree> trees_[2];
  std::unique_ptr<const Elimination> refused_[2];  // what did not fit a limit
  std::unique_ptr<const SpanningForests> forests_;
};

struct GraphSet {
  GraphSet() = default;
  GraphSet(const GraphSet&) = delete;
  GraphSet& operator=(const GraphSet&) = delete;

  std::vector<std::unique_ptr<CompiledGraph>> graphs;
  std::vector<int64_t> variable_ptr{0}, cell_ptr{0}, state_ptr{0};  // [G + 1] full ones

  void add(Graph graph);
  size_t size() const { return graphs.size(); }
};

// Given arrays of one call, all graphs end to end: tables [cells], states [variables] of the observed.
struct GraphInput {
  const GraphSet& set;
  const double* tables;
  const int32_t* states;
  const double* tables_of(size_t g) const { return tables + set.cell_ptr[g]; }
  const int32_t* states_of(size_t g) const { return states + set.variable_ptr[g]; }
};

// One graph of a call with its gathered tables.
struct GraphTurn {
  size_t g;
  CompiledGraph& compiled;
  const Graph& graph;
  const double* tables;  // gathered
  const int32_t* states;
  Watch& watch;
};

// Calls work(turn) for every graph; an error names the graph by its index.
template <class Work>
void each_graph(const GraphInput& input, int n_threads, Watch& watch, const Work& work) {
  for_each_task(
      n_threads, input.set.size(),
      [&](size_t g, int) {
        CompiledGraph& compiled = *input.set.graphs[g];
        std::vector<double> gathered(compiled.graph.n_cells());
        compiled.graph.gather(input.tables_of(g), input.states_of(g), gathered.data());
        try {
          work(GraphTurn{g, compiled, compiled.graph, gathered.data(), input.states_of(g), watch});
        } catch (const std::invalid_argument& error) {
          throw SequenceError(static_cast<int64_t>(g), error.what());
        }
      },
      &watch);
}

[[noreturn]] void throw_impossible();

}  // namespace fieldcraft
