// The residual schedule: the message that would change most is sent first.
#include <algorithm>
#include <queue>

#include "messages.hpp"

namespace fieldcraft {

// An iteration is as many messages as there are. An entry of the queue counts if it is the message's newest.
Progress Messages::residuals(const Settings& settings) {
  struct Entry {
    double change;
    int64_t edge;
    uint32_t stamp;
    bool operator<(const Entry& other) const {
      return change != other.change ? change < other.change : edge > other.edge;
    }
  };
  const int64_t n_edges = static_cast<int64_t>(graph_.scope.size());
  std::vector<int32_t> factor(n_edges);
  std::vector<uint32_t> stamp(n_edges, 0);
  std::priority_queue<Entry> queue;
  next_.resize(messages_.size());
  int64_t n_messages = 0;
  const auto look = [&](int32_t f, int slot) {
    const int64_t e = graph_.scope_ptr[f] + slot;
    compute(f, slot, next_.data() + at_[e]);
    queue.push({change(f, slot, next_.data() + at_[e]), e, ++stamp[e]});
  };
  for (const int32_t f : local_.linking) {
    cavities(f);
    for (int k = 0; k < graph_.arity(f); ++k) factor[graph_.scope_ptr[f] + k] = f, ++n_messages, look(f, k);
  }
  Progress progress;
  const int64_t most = settings.max_iterations * n_messages;
  int64_t sent = 0;
  for (; sent < most && !queue.empty();) {
    const Entry top = queue.top();
    if (top.stamp != stamp[top.edge]) {
      queue.pop();
      continue;
    }
    progress.residual = top.change;
    if (top.change <= settings.tolerance) break;
    queue.pop();
    const int32_t f = factor[top.edge], v = graph_.scope[top.edge];
    const int slot = static_cast<int>(top.edge - graph_.scope_ptr[f]);
    put(f, slot, next_.data() + at_[top.edge], settings.damping);
    if (++sent % n_messages == 0) refresh();
    if (settings.damping > 0) cavities(f), look(f, slot);
    for (int64_t k = graph_.factor_ptr[v]; k < graph_.factor_ptr[v + 1]; ++k) {
      const int32_t g = graph_.factor_of[k];
      if (g == f || graph_.arity(g) < 2) continue;
      cavities(g);
      for (int j = 0; j < graph_.arity(g); ++j)
        if (graph_.scope_of(g)[j] != v) look(g, j);
    }
  }
  if (queue.empty()) progress.residual = 0;  // every message was sent, and none has reason to change
  refresh();
  progress.iterations = (sent + n_messages - 1) / n_messages;
  progress.converged = progress.residual <= settings.tolerance;
  return progress;
}

}  // namespace fieldcraft
