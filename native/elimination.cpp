#include "elimination.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

namespace fieldcraft {
namespace {

using List = std::vector<int32_t>;
constexpr int64_t kPatience = 100'000'000;  // steps, after which a triangulation beyond the limit is given up

void insert_sorted(List& list, int32_t v) { list.insert(std::lower_bound(list.begin(), list.end(), v), v); }
void erase_sorted(List& list, int32_t v) { list.erase(std::lower_bound(list.begin(), list.end(), v)); }

class Eliminator {
 public:
  Eliminator(const Graph& graph, Heuristic heuristic, double most_cells)
      : graph_(graph),
        min_fill_(heuristic == Heuristic::min_fill),
        most_cells_(most_cells),
        adjacent_(graph.n_variables()),
        missing_(graph.n_variables(), 0),
        stamp_(graph.n_variables(), 0),
        gone_(graph.n_variables(), false) {
    connect();
    if (min_fill_)
      for (int v = 0; v < graph.n_variables(); ++v) missing_[v] = count_missing(v);
    for (int v = 0; v < graph.n_variables(); ++v)
      if (!graph.is_observed(v)) push(v);
  }

  Elimination run() {
    while (!queue_.empty()) {
      const auto [fill, degree, v, stamp] = queue_.top();
      queue_.pop();
      if (gone_[v] || stamp != stamp_[v]) continue;
      record(v);
      if (found_.cells > most_cells_ && steps_ > kPatience) {
        found_.complete = false;
        break;
      }
      remove(v);
    }
    return std::move(found_);
  }

 private:
  using Entry = std::tuple<int64_t, int64_t, int32_t, int32_t>;  // missing links, degree, variable, stamp

  void connect() {
    for (int f = 0; f < graph_.n_factors(); ++f)
      for (int i = 0; i < graph_.arity(f); ++i)
        for (int j = 0; j < graph_.arity(f); ++j)
          if (i != j) adjacent_[graph_.scope_of(f)[i]].push_back(graph_.scope_of(f)[j]);
    for (List& list : adjacent_) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }

  int64_t count_missing(int32_t v) {
    const List& around = adjacent_[v];
    int64_t missing = 0;
    for (const int32_t a : around)
      missing += static_cast<int64_t>(around.size()) - 1 - in_common(around, adjacent_[a]);
    return missing / 2;
  }

  template <class Visit>
  void each_common(const List& a, const List& b, const Visit& visit) {
    steps_ += static_cast<int64_t>(a.size() + b.size());
    auto i = a.begin(), j = b.begin();
    while (i != a.end() && j != b.end()) {
      if (*i < *j)
        ++i;
      else if (*j < *i)
        ++j;
      else
        visit(*i), ++i, ++j;
    }
  }
  int64_t in_common(const List& a, const List& b) {
    int64_t n = 0;
    each_common(a, b, [&](int32_t) { ++n; });
    return n;
  }

  void push(int32_t v) {
    queue_.emplace(min_fill_ ? missing_[v] : 0, static_cast<int64_t>(adjacent_[v].size()), v, ++stamp_[v]);
  }

  void record(int32_t v) {
    found_.order.push_back(v);
    found_.neighbours.push_back(adjacent_[v]);
    double cells = graph_.card[v];
    for (const int32_t u : adjacent_[v]) cells *= graph_.card[u];
    found_.cells += cells;
    found_.largest = std::max(found_.largest, cells);
    found_.width = std::max(found_.width, 1 + static_cast<int>(adjacent_[v].size()));
  }

  void link(int32_t a, int32_t b) {
    if (min_fill_) {
      int64_t common = 0;
      each_common(adjacent_[a], adjacent_[b], [&](int32_t c) { ++common, --missing_[c], touch(c); });
      missing_[a] += static_cast<int64_t>(adjacent_[a].size()) - common;
      missing_[b] += static_cast<int64_t>(adjacent_[b].size()) - common;
    }
    insert_sorted(adjacent_[a], b);
    insert_sorted(adjacent_[b], a);
  }

  void touch(int32_t v) { touched_.push_back(v); }

  // Links the neighbours of v with one another, then takes v away.
  void remove(int32_t v) {
    gone_[v] = true;
    const List around = std::move(adjacent_[v]);
    adjacent_[v] = around;  // v is still a common neighbour while links are added
    for (const int32_t a : around) {
      steps_ += static_cast<int64_t>(around.size() + adjacent_[a].size());
      List absent;
      std::set_difference(around.begin(), around.end(), adjacent_[a].begin(), adjacent_[a].end(),
                          std::back_inserter(absent));
      for (const int32_t b : absent)
        if (b > a) link(a, b);
    }
    for (const int32_t u : around) {
      missing_[u] -= static_cast<int64_t>(adjacent_[u].size()) - static_cast<int64_t>(around.size());
      erase_sorted(adjacent_[u], v);
      touch(u);
    }
    adjacent_[v] = List();
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (const int32_t u : touched_)
      if (!gone_[u]) push(u);
    touched_.clear();
  }

  const Graph& graph_;
  const bool min_fill_;
  const double most_cells_;
  std::vector<List> adjacent_;
  std::vector<int64_t> missing_;  // links between neighbours
  std::vector<int32_t> stamp_;    // of the entry in the queue that counts
  std::vector<bool> gone_;
  List touched_;
  int64_t steps_ = 0;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue_;
  Elimination found_;
};

}  // namespace

Elimination eliminate(const Graph& graph, Heuristic heuristic, double most_cells) {
  return Eliminator(graph, heuristic, most_cells).run();
}

}  // namespace fieldcraft
