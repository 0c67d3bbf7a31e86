// Minimum cuts with real capacities: two search trees, from the source and from the sink, that are kept from
// one augmenting path to the next (Boykov and Kolmogorov's algorithm).
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace fieldcraft {

class MaxFlow {
 public:
  MaxFlow(int n_nodes, int n_edges);

  int add_node();
  // Cost of being on the sink side and on the source side; may be negative.
  void add_costs(int node, double on_sink_side, double on_source_side);
  // Capacities >= 0 of a -> b and b -> a: cost if a is on the source side and b on the sink side, and back.
  void add_edge(int a, int b, double forth, double back);
  void solve();
  bool on_sink_side(int node) const { return nodes_[node].tree != kSource; }

 private:
  static constexpr int32_t kNone = -1, kTerminal = -2, kOrphan = -3;
  enum Tree : uint8_t { kFree, kSource, kSink };
  struct Node {
    double terminal = 0;  // > 0: left from the source; < 0: left to the sink
    int32_t first = kNone, parent = kNone;
    uint32_t stamp = 0, distance = 0;
    Tree tree = kFree;
    bool active = false;
  };
  struct Arc {
    double capacity;
    int32_t head, next;
  };

  double towards(Tree tree, int32_t arc) const {  // what can flow along the arc in the direction of the tree
    return arcs_[tree == kSource ? arc : arc ^ 1].capacity;
  }
  void activate(int32_t node);
  int32_t grow(int32_t node);
  void augment(int32_t arc);
  void adopt(int32_t orphan);
  void orphan(int32_t node);
  bool rooted(int32_t node, uint32_t& distance);

  std::vector<Node> nodes_;
  std::vector<Arc> arcs_;
  std::deque<int32_t> queue_, orphans_;
  uint32_t time_ = 0;
};

}  // namespace fieldcraft
