// Gibbs sampling: single variables, or blocks whose variables form chains or trees and are drawn together.
//
// A variable's state is drawn given all others. While the assignment is impossible, states with the fewest
// forbidding factors are drawn from, so that chains find a possible one by themselves; from then on they keep
// to possible ones.
#pragma once

#include <cstdint>
#include <vector>

#include "graph.hpp"
#include "interruption.hpp"

namespace fieldcraft {

enum class Blocks { none, chains, trees };

struct GibbsSettings {
  int n = 1000, burn_in = 200, chains = 4, batches = 20;
  Blocks blocks = Blocks::none;
  uint64_t seed = 0;
  bool keep = false;
};

struct GibbsDraws {
  std::vector<double> counts;        // [chains, batches, n_states] draws with that state
  std::vector<double> factors;       // [chains, n_cells]
  std::vector<int32_t> assignments;  // [chains, n, variables] if kept
};

// Throws std::invalid_argument where a chain finds no possible assignment.
GibbsDraws gibbs(const Graph& graph, const double* tables, const GibbsSettings& settings, int n_threads,
                 uint64_t stream, Watch& watch);

// Moves ``state`` [variables], a possible assignment, by so many sweeps over single variables.
void sweep_from(const Graph& graph, const double* tables, int sweeps, uint64_t seed, uint64_t stream,
                Watch& watch, int32_t* state);

// Sets of free variables without a cycle among the factors that link them; together all of them.
std::vector<std::vector<int32_t>> blocks_of(const Graph& graph, Blocks kind);

}  // namespace fieldcraft
