// The k best assignments of a clique tree, lazily.
//
// Each separator state of each clique has a list of its best completions, which grows when someone asks for
// the next. A completion is a cell of the clique's row together with a rank in each child's list; its
// successors ask one child for its next. A rank is raised only at or after the child that was raised last, so
// that no completion comes twice.
#include <queue>
#include <unordered_map>

#include "canary.hpp"
#include "clique_tree.hpp"

namespace fieldcraft {

class RankedCells {
 public:
  explicit RankedCells(const CliquePass& pass) : pass_(pass), lists_(pass.tree_->cliques.size()) {}

  // The score of the rank-th best completion of a row; kForbidden if there are not so many.
  double score(int c, int64_t row, size_t rank) {
    resolve({c, row, rank});
    const List& list = open(c, row);
    return rank < list.best.size() ? list.best[rank].score : kForbidden;
  }

  // The states of the rank-th best completion of a root, which must exist.
  void assign_ranked(int root, size_t rank, int32_t* assignment) {
    std::vector<Wanted> stack{{root, 0, rank}};
    while (!stack.empty()) {
      const Wanted at = stack.back();
      stack.pop_back();
      const Clique& clique = pass_.tree_->cliques[at.clique];
      resolve(at);
      const Completion chosen = open(at.clique, at.row).best[at.rank];
      assign(clique, chosen.cell, assignment);
      for (size_t j = 0; j < clique.children.size(); ++j) {
        const Clique& child = pass_.tree_->cliques[clique.children[j]];
        stack.push_back({clique.children[j], row_of(child, assignment), chosen.ranks[j]});
      }
    }
  }

 private:
  struct Wanted {
    int clique;
    int64_t row;
    size_t rank;
  };
  struct Completion {
    double score;
    int64_t cell;
    std::vector<uint32_t> ranks;
    size_t raised = 0;
    bool operator<(const Completion& other) const {
      return score != other.score ? score < other.score : cell > other.cell;
    }
  };
  struct List {
    bool begun = false;
    bool expanded = true;  // the last of `best` has its successors in `waiting`
    std::vector<Completion> best;
    std::priority_queue<Completion> waiting;
  };

  // The scores of cells contain the children's best; every cell of the row is a candidate.
  List& open(int c, int64_t row) {
    List& list = lists_[c][row];
    if (list.begun) return list;
    list.begun = true;
    const Clique& clique = pass_.tree_->cliques[c];
    const double* scores = pass_.cells_.data() + clique.table_at + row * clique.block;
    for (int64_t i = 0; i < clique.block; ++i)
      if (scores[i] != kForbidden)
        list.waiting.push({scores[i], i, std::vector<uint32_t>(clique.children.size(), 0)});
    return list;
  }

  bool resolved(const Wanted& wanted) {
    const List& list = open(wanted.clique, wanted.row);
    return list.best.size() > wanted.rank || (list.expanded && list.waiting.empty());
  }

  // Lists that are asked for wait on a stack of their own: trees may be deeper than the machine's.
  void resolve(const Wanted& asked) {
    std::vector<Wanted> stack{asked};
    while (!stack.empty()) {
      const Wanted at = stack.back();
      if (resolved(at)) {
        stack.pop_back();
        continue;
      }
      List& list = open(at.clique, at.row);
      if (list.expanded) {
        list.best.push_back(list.waiting.top());
        list.waiting.pop(), list.expanded = false;
        continue;
      }
      const size_t before = stack.size();
      const Clique& clique = pass_.tree_->cliques[at.clique];
      const Completion& last = list.best.back();
      for (size_t j = last.raised; j < last.ranks.size(); ++j) {
        const Wanted below{clique.children[j], row_below(clique, j, at.row, last.cell), last.ranks[j] + 1};
        if (!resolved(below)) stack.push_back(below);
      }
      if (stack.size() == before) expand(at, list);
    }
  }

  // The successors of the last one; what the children have next is resolved.
  void expand(const Wanted& at, List& list) {
    const Clique& clique = pass_.tree_->cliques[at.clique];
    const Completion last = list.best.back();
    for (size_t j = last.raised; j < last.ranks.size(); ++j) {
      const List& below = open(clique.children[j], row_below(clique, j, at.row, last.cell));
      const size_t rank = last.ranks[j];
      if (rank + 1 >= below.best.size()) continue;
      Completion raised = last;
      raised.score += CANARY(CLIQUE_K_BEST, below.best[rank + 1].score - below.best[rank].score);
      ++raised.ranks[j], raised.raised = j;
      list.waiting.push(std::move(raised));
    }
    list.expanded = true;
  }

  // Row of a child for a cell of its parent's table.
  int64_t row_below(const Clique& clique, size_t j, int64_t row, int64_t in_row) const {
    const Clique& child = pass_.tree_->cliques[clique.children[j]];
    int64_t cell = row * clique.block + in_row, below = 0;
    for (size_t k = clique.sizes.size(); k-- > 0; cell /= clique.sizes[k])
      below += cell % clique.sizes[k] * child.message_stride[k];
    return below;
  }

  const CliquePass& pass_;
  std::vector<std::unordered_map<int64_t, List>> lists_;  // [cliques] by row; references to lists stay valid
};

// The roots are combined as the children of one clique are.
void CliquePass::k_best(int k, std::vector<int32_t>& assignments, std::vector<double>& scores) const {
  std::vector<int32_t> roots;
  for (size_t c = 0; c < tree_->cliques.size(); ++c)
    if (tree_->cliques[c].parent < 0) roots.push_back(static_cast<int32_t>(c));
  RankedCells ranked(*this);
  struct Joint {
    double score;
    std::vector<uint32_t> ranks;
    size_t raised;
    bool operator<(const Joint& other) const {
      return score != other.score ? score < other.score : ranks > other.ranks;
    }
  };
  std::priority_queue<Joint> waiting;
  double first = constant_;
  for (const int32_t root : roots) first += ranked.score(root, 0, 0);
  if (first != kForbidden) waiting.push({first, std::vector<uint32_t>(roots.size(), 0), 0});
  while (!waiting.empty() && static_cast<int>(scores.size()) < k) {
    const Joint next = waiting.top();
    waiting.pop();
    std::vector<int32_t> assignment(graph_->n_variables(), 0);
    for (size_t j = 0; j < roots.size(); ++j)
      ranked.assign_ranked(roots[j], next.ranks[j], assignment.data());
    assignments.insert(assignments.end(), assignment.begin(), assignment.end());
    scores.push_back(next.score);
    for (size_t j = next.raised; j < roots.size(); ++j) {
      const double then = ranked.score(roots[j], 0, next.ranks[j] + 1);
      if (then == kForbidden) continue;
      Joint raised{next.score - ranked.score(roots[j], 0, next.ranks[j]) + then, next.ranks, j};
      ++raised.ranks[j];
      waiting.push(std::move(raised));
    }
  }
}

}  // namespace fieldcraft
