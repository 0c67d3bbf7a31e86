// Triangulation: an order in which to eliminate the variables of a graph, and the cliques that it makes.
//
// Greedy: the next variable is the one whose neighbours lack the fewest links (min-fill; ties: the fewest
// neighbours), or that has the fewest neighbours (min-degree). Eliminating it links all of them. Numbers of
// missing links are kept up to date for the variables that a new link concerns; nothing is counted anew.
#pragma once

#include <cstdint>
#include <vector>

#include "graph.hpp"

namespace fieldcraft {

enum class Heuristic { min_fill, min_degree };

struct Elimination {
  std::vector<int32_t> order;                    // free variables
  std::vector<std::vector<int32_t>> neighbours;  // [order] when they were eliminated, sorted
  double cells = 0;                              // of all tables of these cliques together
  double largest = 0;                            // cells of the largest one
  int width = 0;                                 // variables in the clique with the most
  bool complete = true;  // false: given up, since it exceeded most_cells; the numbers are lower bounds
};

Elimination eliminate(const Graph& graph, Heuristic heuristic, double most_cells);

}  // namespace fieldcraft
