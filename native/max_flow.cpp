// An arc's twin is arc ^ 1. A node's parent is the arc from the node towards its tree's root.
#include "max_flow.hpp"

#include <algorithm>

namespace fieldcraft {

MaxFlow::MaxFlow(int n_nodes, int n_edges) : nodes_(n_nodes) {
  arcs_.reserve(2 * static_cast<size_t>(n_edges));
}

int MaxFlow::add_node() {
  nodes_.emplace_back();
  return static_cast<int>(nodes_.size()) - 1;
}

void MaxFlow::add_costs(int node, double on_sink_side, double on_source_side) {
  nodes_[node].terminal += on_sink_side - on_source_side;
}

void MaxFlow::add_edge(int a, int b, double forth, double back) {
  const auto arc = static_cast<int32_t>(arcs_.size());
  arcs_.push_back({forth, b, nodes_[a].first}), nodes_[a].first = arc;
  arcs_.push_back({back, a, nodes_[b].first}), nodes_[b].first = arc + 1;
}

void MaxFlow::activate(int32_t node) {
  if (nodes_[node].active) return;
  nodes_[node].active = true;
  queue_.push_back(node);
}

// Extends the node's tree by its neighbours; returns an arc from the source's tree to the sink's if it meets
// it.
int32_t MaxFlow::grow(int32_t i) {
  const Tree tree = nodes_[i].tree;
  for (int32_t a = nodes_[i].first; a != kNone; a = arcs_[a].next) {
    if (!(towards(tree, a) > 0)) continue;
    const int32_t j = arcs_[a].head;
    Node& other = nodes_[j];
    if (other.tree == kFree) {
      other.tree = tree, other.parent = a ^ 1;
      other.stamp = nodes_[i].stamp, other.distance = nodes_[i].distance + 1;
      activate(j);
    } else if (other.tree != tree) {
      return tree == kSource ? a : a ^ 1;
    } else if (other.stamp <= nodes_[i].stamp && other.distance > nodes_[i].distance) {
      other.parent = a ^ 1;  // a shorter way to the root
      other.stamp = nodes_[i].stamp, other.distance = nodes_[i].distance + 1;
    }
  }
  return kNone;
}

void MaxFlow::orphan(int32_t node) {
  nodes_[node].parent = kOrphan;
  orphans_.push_front(node);
}

void MaxFlow::augment(int32_t middle) {
  double flow = arcs_[middle].capacity;
  int32_t i = arcs_[middle ^ 1].head, j = arcs_[middle].head;
  for (; nodes_[i].parent != kTerminal; i = arcs_[nodes_[i].parent].head)
    flow = std::min(flow, arcs_[nodes_[i].parent ^ 1].capacity);
  for (; nodes_[j].parent != kTerminal; j = arcs_[nodes_[j].parent].head)
    flow = std::min(flow, arcs_[nodes_[j].parent].capacity);
  flow = std::min({flow, nodes_[i].terminal, -nodes_[j].terminal});
  arcs_[middle].capacity -= flow, arcs_[middle ^ 1].capacity += flow;
  for (i = arcs_[middle ^ 1].head; nodes_[i].parent != kTerminal;) {
    const int32_t up = nodes_[i].parent;
    arcs_[up].capacity += flow, arcs_[up ^ 1].capacity -= flow;
    const int32_t next = arcs_[up].head;
    if (!(arcs_[up ^ 1].capacity > 0)) arcs_[up ^ 1].capacity = 0, orphan(i);
    i = next;
  }
  nodes_[i].terminal -= flow;
  if (!(nodes_[i].terminal > 0)) nodes_[i].terminal = 0, orphan(i);
  for (j = arcs_[middle].head; nodes_[j].parent != kTerminal;) {
    const int32_t up = nodes_[j].parent;
    arcs_[up ^ 1].capacity += flow, arcs_[up].capacity -= flow;
    const int32_t next = arcs_[up].head;
    if (!(arcs_[up].capacity > 0)) arcs_[up].capacity = 0, orphan(j);
    j = next;
  }
  nodes_[j].terminal += flow;
  if (!(nodes_[j].terminal < 0)) nodes_[j].terminal = 0, orphan(j);
}

// Whether the way up from a node ends at a terminal; stamps the nodes on it.
bool MaxFlow::rooted(int32_t node, uint32_t& distance) {
  uint32_t steps = 0;
  int32_t at = node;
  while (true) {
    if (nodes_[at].stamp == time_) {
      steps += nodes_[at].distance;
      break;
    }
    const int32_t up = nodes_[at].parent;
    ++steps;
    if (up == kTerminal) {
      nodes_[at].stamp = time_, nodes_[at].distance = 1;
      break;
    }
    if (up == kOrphan || up == kNone) return false;
    at = arcs_[up].head;
  }
  distance = steps;
  for (at = node; nodes_[at].stamp != time_; at = arcs_[nodes_[at].parent].head)
    nodes_[at].stamp = time_, nodes_[at].distance = steps--;
  return true;
}

void MaxFlow::adopt(int32_t i) {
  const Tree tree = nodes_[i].tree;
  int32_t best = kNone;
  uint32_t shortest = ~0u;
  for (int32_t a = nodes_[i].first; a != kNone; a = arcs_[a].next) {
    const int32_t j = arcs_[a].head;
    uint32_t distance = 0;
    if (!(towards(tree, a ^ 1) > 0) || nodes_[j].tree != tree || !rooted(j, distance)) continue;
    if (distance < shortest) shortest = distance, best = a;
  }
  if (best != kNone) {
    nodes_[i].parent = best, nodes_[i].stamp = time_, nodes_[i].distance = shortest + 1;
    return;
  }
  nodes_[i].stamp = 0;
  for (int32_t a = nodes_[i].first; a != kNone; a = arcs_[a].next) {
    const int32_t j = arcs_[a].head;
    if (nodes_[j].tree != tree) continue;
    if (towards(tree, a ^ 1) > 0) activate(j);
    const int32_t up = nodes_[j].parent;
    if (up >= 0 && arcs_[up].head == i) nodes_[j].parent = kOrphan, orphans_.push_back(j);
  }
  nodes_[i].tree = kFree, nodes_[i].parent = kNone;
}

void MaxFlow::solve() {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    if (node.terminal == 0) continue;
    node.tree = node.terminal > 0 ? kSource : kSink;
    node.parent = kTerminal, node.distance = 1;
    activate(static_cast<int32_t>(i));
  }
  while (!queue_.empty()) {
    const int32_t i = queue_.front();
    if (nodes_[i].tree == kFree) {
      nodes_[i].active = false;
      queue_.pop_front();
      continue;
    }
    const int32_t meeting = grow(i);
    if (meeting == kNone) {
      nodes_[i].active = false;
      queue_.pop_front();
      continue;
    }
    ++time_;
    augment(meeting);
    while (!orphans_.empty()) {
      const int32_t orphan = orphans_.front();
      orphans_.pop_front();
      adopt(orphan);
    }
  }
}

}  // namespace fieldcraft
