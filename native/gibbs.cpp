#include "gibbs.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "canary.hpp"
#include "clique_tree.hpp"
#include "messages.hpp"
#include "parallel.hpp"

namespace fieldcraft {

std::vector<std::vector<int32_t>> blocks_of(const Graph& graph, Blocks kind) {
  const int n = graph.n_variables();
  std::vector<int32_t> root(n), links(n, 0);
  std::vector<uint8_t> placed(n, 0), inside(n, 0);
  const auto find = [&](int32_t v) {
    while (root[v] != v) v = root[v] = root[root[v]];
    return v;
  };
  std::vector<std::vector<int32_t>> blocks;
  std::vector<int32_t> joined, partners;
  int left = 0;
  for (int v = 0; v < n; ++v) graph.is_observed(v) ? placed[v] = 1 : ++left;
  while (left > 0) {
    std::iota(root.begin(), root.end(), 0);
    std::fill(links.begin(), links.end(), 0), std::fill(inside.begin(), inside.end(), 0);
    std::vector<int32_t> block;
    for (int v = 0; v < n; ++v) {
      if (placed[v]) continue;
      joined.clear(), partners.clear();
      for (int64_t k = graph.factor_ptr[v]; k < graph.factor_ptr[v + 1]; ++k) {
        const int32_t f = graph.factor_of[k];
        int32_t partner = -1;
        for (int j = 0; j < graph.arity(f); ++j)
          if (inside[graph.scope_of(f)[j]]) partner = graph.scope_of(f)[j];
        if (partner >= 0) partners.push_back(partner), joined.push_back(find(partner));
      }
      std::sort(joined.begin(), joined.end());
      bool fits = std::adjacent_find(joined.begin(), joined.end()) == joined.end();
      if (kind == Blocks::chains)
        fits = fits && partners.size() <= 2 &&
               std::all_of(partners.begin(), partners.end(), [&](int32_t u) { return links[u] < 2; });
      if (!fits) continue;
      for (const int32_t r : joined) root[r] = v;
      for (const int32_t u : partners) ++links[u], ++links[v];
      inside[v] = 1, block.push_back(v), placed[v] = 1, --left;
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

namespace {

// A block drawn jointly: the graph with all other variables observed.
struct Block {
  Block(const Graph& whole, const std::vector<int32_t>& chosen) : variables(chosen) {
    std::vector<uint8_t> observed(whole.n_variables(), 1);
    for (const int32_t v : chosen) observed[v] = 0;
    graph = std::make_unique<Graph>(whole.card, observed, whole.scope_ptr, whole.scope);
    tree = std::make_unique<CliqueTree>(*graph, eliminate(*graph, Heuristic::min_degree, INFINITY));
  }
  std::vector<int32_t> variables;
  std::unique_ptr<Graph> graph;
  std::unique_ptr<CliqueTree> tree;
};

class Chain {
 public:
  Chain(const Graph& graph, const double* tables, const std::vector<Block>& blocks, uint64_t seed,
        uint64_t stream)
      : graph_(graph),
        tables_(tables),
        blocks_(blocks),
        random_(seed, stream),
        state_(graph.n_variables(), 0) {
    const Local local(graph, tables);
    for (int v = 0; v < graph.n_variables(); ++v) {
      mass_.assign(graph.card[v], 0.0);
      for (int32_t x = 0; x < graph.card[v]; ++x)
        mass_[x] = local.scores[graph.state_ptr[v] + x] == kForbidden ? 0.0 : 1.0;
      state_[v] = draw(mass_.data(), graph.card[v], random_());
    }
  }

  // Goes on from these states.
  void place(const int32_t* state) {
    std::copy(state, state + graph_.n_variables(), state_.begin());
    possible_ = graph_.score(tables_, state_.data()) != kForbidden;
  }

  void sweep() {
    if (blocks_.empty() || !possible_)
      for (int v = 0; v < graph_.n_variables(); ++v)
        if (!graph_.is_observed(v) && graph_.card[v] > 1) single(v);
    if (!possible_) possible_ = graph_.score(tables_, state_.data()) != kForbidden;
    if (possible_)
      for (const Block& block : blocks_) joint(block);
  }
  bool possible() const { return possible_; }
  const std::vector<int32_t>& state() const { return state_; }

 private:
  void single(int32_t v) {
    const int32_t card = graph_.card[v];
    score_.assign(card, 0.0), forbidding_.assign(card, 0);
    for (int64_t k = graph_.factor_ptr[v]; k < graph_.factor_ptr[v + 1]; ++k) {
      const int32_t f = graph_.factor_of[k];
      int64_t stride = 1, cell = 0, own = 0;
      for (int j = graph_.arity(f); j-- > 0;) {
        const int32_t u = graph_.scope_of(f)[j];
        if (j == graph_.slot_of[k])
          own = stride;
        else
          cell += stride * state_[u];
        stride *= graph_.card[u];
      }
      const double* table = tables_ + graph_.table_ptr[f] + cell;
      for (int32_t x = 0; x < card; ++x) {
        const double entry = table[x * own];
        if (entry == kForbidden)
          ++forbidding_[x];
        else
          score_[x] += entry;
      }
    }
    const int32_t fewest = *std::min_element(forbidding_.begin(), forbidding_.end());
    double top = kForbidden;
    for (int32_t x = 0; x < card; ++x)
      if (forbidding_[x] == fewest) top = std::max(top, score_[x]);
    mass_.resize(card);
    for (int32_t x = 0; x < card; ++x) mass_[x] = forbidding_[x] == fewest ? std::exp(score_[x] - top) : 0.0;
    state_[v] = draw(mass_.data(), card, CANARY_BY(GIBBS, random_(), 0.9));
  }

  void joint(const Block& block) {
    cells_.resize(block.graph->n_cells());
    block.graph->gather(tables_, state_.data(), cells_.data());
    if (pass_.sum(*block.graph, *block.tree, cells_.data()) == kForbidden) return;
    drawn_.resize(graph_.n_variables());
    pass_.sample(random_, drawn_.data());
    for (const int32_t v : block.variables) state_[v] = drawn_[v];
  }

  const Graph& graph_;
  const double* tables_;
  const std::vector<Block>& blocks_;
  Uniform random_;
  std::vector<int32_t> state_, forbidding_, drawn_;
  std::vector<double> score_, mass_, cells_;
  CliquePass pass_;
  bool possible_ = false;
};

}  // namespace

GibbsDraws gibbs(const Graph& graph, const double* tables, const GibbsSettings& settings, int n_threads,
                 uint64_t stream, Watch& watch) {
  std::vector<Block> blocks;
  if (settings.blocks != Blocks::none)
    for (const auto& chosen : blocks_of(graph, settings.blocks)) blocks.emplace_back(graph, chosen);
  const int64_t S = graph.n_states(), n = graph.n_variables();
  GibbsDraws out;
  out.counts.assign(S * settings.chains * settings.batches, 0.0);
  out.factors.assign(graph.n_cells() * settings.chains, 0.0);
  if (settings.keep) out.assignments.assign(n * settings.chains * settings.n, 0);
  for_each_task(
      n_threads, settings.chains,
      [&](size_t c, int) {
        Chain chain(graph, tables, blocks, settings.seed, stream * 1000003 + c);
        for (int i = 0; i < settings.burn_in; ++i) watch.check(), chain.sweep();
        if (!chain.possible() && settings.burn_in == 0) chain.sweep();
        if (!chain.possible())
          throw std::invalid_argument(
              "Gibbs sampling met no possible assignment; raise burn_in, or use another method: forbidden "
              "configurations (-inf) block its moves");
        double* factors = out.factors.data() + c * graph.n_cells();
        for (int i = 0; i < settings.n; ++i) {
          watch.check();
          chain.sweep();
          const int64_t batch = static_cast<int64_t>(i) * settings.batches / settings.n;
          double* counts = out.counts.data() + (c * settings.batches + batch) * S;
          for (int v = 0; v < n; ++v) counts[graph.state_ptr[v] + chain.state()[v]] += 1;
          for (int f = 0; f < graph.n_factors(); ++f)
            factors[graph.table_ptr[f] + graph.cell_of(f, chain.state().data())] += 1;
          if (settings.keep)
            std::copy(chain.state().begin(), chain.state().end(),
                      out.assignments.begin() + static_cast<int64_t>(c * settings.n + i) * n);
        }
      },
      &watch);
  return out;
}

void sweep_from(const Graph& graph, const double* tables, int sweeps, uint64_t seed, uint64_t stream,
                Watch& watch, int32_t* state) {
  const std::vector<Block> blocks;
  Chain chain(graph, tables, blocks, seed, stream);
  chain.place(state);
  for (int i = 0; i < sweeps; ++i) watch.check(), chain.sweep();
  std::copy(chain.state().begin(), chain.state().end(), state);
}

}  // namespace fieldcraft
