// Flooding sum-product without logarithms, for graphs of pairs.
#pragma once

#include "messages.hpp"

namespace fieldcraft {

// Runs the sweeps and leaves the messages in `messages`; false, and nothing done, where the graph has other
// factors than pairs, or its tables or products leave the range in which no digits are lost.
bool flood(const Graph& graph, const double* tables, const Settings& settings, Watch& watch,
           Messages& messages, Progress& progress);

}  // namespace fieldcraft
