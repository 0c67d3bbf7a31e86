// A state space as the kernels run over it: S states, E transitions sorted by source and target, labels, and
// the node classes whose scores the states share (structures/states.py).
//
// Node scores come per class, [T, C]; a label mask [T, Y] may forbid some. Row t of edges is the step from
// t-1 to t: E scores, shared by all positions or of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels.hpp"

namespace fieldcraft {

class StateGraph {
 public:
  // Arrays as in StateSpace; transitions are sorted by source, then target. Throws where they are not.
  StateGraph(std::vector<int32_t> sources, std::vector<int32_t> targets, std::vector<uint8_t> starts,
             std::vector<uint8_t> stops, std::vector<int32_t> label_of, std::vector<int32_t> node_class,
             int n_labels);

  int64_t S() const { return static_cast<int64_t>(label_of.size()); }
  int64_t E() const { return static_cast<int64_t>(source.size()); }
  Runs view() const { return {runs.data(), static_cast<int64_t>(runs.size())}; }
  // The same with sources and targets exchanged; its transitions are numbered like in_edge.
  Runs reversed_view() const { return {reversed.data(), static_cast<int64_t>(reversed.size())}; }

  // counts [E] of the transitions that labellings can use: those whose labels are allowed and which a start
  // reaches; `stuck` [N] gets the token at which a sequence has no state left (its length: it may not end
  // there), or -1. allowed [tokens, n_labels].
  void trace(const std::vector<int64_t>& offsets, const uint8_t* allowed, int64_t* counts,
             int64_t* stuck) const;

  std::vector<int32_t> source, target;  // [E]
  std::vector<uint8_t> starts, stops;   // [S]
  std::vector<int32_t> label_of, node_class;
  int n_labels, n_classes;
  std::vector<Run> runs, reversed;
  std::vector<int64_t> out_ptr;  // [S + 1] transitions by source
  std::vector<int64_t> in_ptr;   // [S + 1]
  std::vector<int64_t> in_edge;  // [E] transitions by target, then source
  // [S] the node class of every source from which a state is reached, -1 if none is; `folds`: each has one at
  // most, as n-grams have. Scores of pairs of classes are then scores of states.
  std::vector<int32_t> came_from;
  bool folds = true;
};

}  // namespace fieldcraft
