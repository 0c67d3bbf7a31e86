#include "graph_set.hpp"

#include <cmath>
#include <sstream>

namespace fieldcraft {
namespace {

std::string size_text(double bytes) {
  const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) bytes /= 1024, ++unit;
  std::ostringstream text;
  text.precision(bytes < 1e6 ? 4 : 2);
  text << bytes << " " << units[unit];
  return text.str();
}

[[noreturn]] void refuse(const Elimination& found, double most_bytes) {
  const char* least = found.complete ? "" : "at least ";
  std::ostringstream text;
  text << "the junction tree is too wide: its largest clique has " << least << found.width
       << " variables, and its tables need " << least << size_text(8 * found.largest)
       << " for one clique and " << least << size_text(8 * found.cells) << " together; memory allows "
       << size_text(most_bytes)
       << "; raise memory=, observe variables, or use an approximate method such as propagation";
  throw std::invalid_argument(text.str());
}

}  // namespace

const CliqueTree& CompiledGraph::tree(Heuristic heuristic, double most_bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<const CliqueTree>& kept = trees_[static_cast<int>(heuristic)];
  std::unique_ptr<const Elimination>& refused = refused_[static_cast<int>(heuristic)];
  if (!kept) {
    if (refused && 8 * refused->cells > most_bytes) refuse(*refused, most_bytes);
    Elimination found = eliminate(graph, heuristic, most_bytes / 8);
    if (8 * found.cells > most_bytes) {
      found.order.clear(), found.neighbours.clear();
      refused = std::make_unique<const Elimination>(std::move(found));
      refuse(*refused, most_bytes);
    }
    kept = std::make_unique<const CliqueTree>(graph, std::move(found));
  }
  if (8 * kept->elimination.cells > most_bytes) refuse(kept->elimination, most_bytes);
  return *kept;
}

const SpanningForests& CompiledGraph::forests() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!forests_) forests_ = std::make_unique<const SpanningForests>(graph);
  return *forests_;
}

void GraphSet::add(Graph graph) {
  variable_ptr.push_back(variable_ptr.back() + graph.n_variables());
  cell_ptr.push_back(cell_ptr.back() + graph.n_full_cells());
  state_ptr.push_back(state_ptr.back() + graph.n_full_states());
  graphs.push_back(std::make_unique<CompiledGraph>(std::move(graph)));
}

void throw_impossible() {
  throw std::invalid_argument(
      "no assignment is possible: every one has a factor that forbids it (-inf); allow some");
}

}  // namespace fieldcraft
