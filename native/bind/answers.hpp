// What the queries on chains (chain.cpp) and on state spaces (states.cpp) share: names of options, checked
// windows, and the Python objects of the results. `From` is Potentials or StatePotentials.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/watched.hpp"
#include "queries.hpp"

namespace fieldcraft::bind {

inline Numerics numerics_of(const std::string& name) {
  if (name == "auto") return Numerics::automatic;
  if (name == "scaled") return Numerics::scaled;
  require(name == "log", "numerics must be auto, scaled or log, got ", name);
  return Numerics::log;
}

// The array [N] that query(watch, out) fills.
template <class From, class Query>
nb::object per_sequence(const From& from, const Query& query) {
  std::vector<double> out(from.n_sequences());
  watched([&](Watch& watch) { query(watch, out.data()); });
  return give(std::move(out));
}

// Node marginals [tokens, S], edge marginals [tokens, E], [1, E] or [0, E], and log Z [N], which
// query(watch, output, node, edge, log_z) fills.
template <class From, class Query>
nb::tuple given_marginals(const From& from, size_t S, size_t E, const std::string& edge, const Query& query) {
  const size_t tokens = from.n_tokens();
  const EdgeOutput output = edge == "rows"     ? EdgeOutput::rows
                            : edge == "totals" ? EdgeOutput::totals
                                               : EdgeOutput::none;
  const size_t rows = output == EdgeOutput::rows ? tokens : output == EdgeOutput::totals ? 1 : 0;
  std::vector<double> node(tokens * S), pairs(rows * E, 0.0), log_z(from.n_sequences());
  watched([&](Watch& watch) { query(watch, output, node.data(), pairs.data(), log_z.data()); });
  return nb::make_tuple(give(std::move(node), {tokens, S}), give(std::move(pairs), {rows, E}),
                        give(std::move(log_z)));
}

// States [tokens] and scores [N] that query(watch, states, scores) fills.
template <class From, class Query>
nb::tuple given_argmax(const From& from, const Query& query) {
  std::vector<int32_t> states(from.n_tokens());
  std::vector<double> scores(from.n_sequences());
  watched([&](Watch& watch) { query(watch, states.data(), scores.data()); });
  return give_all(std::move(states), std::move(scores));
}

// Per sequence (states [k', T], scores [k']) of query(watch).
template <class From, class Query>
nb::list given_ranked(const From& from, int k, const Query& query) {
  require(k >= 1, "k must be at least 1, got ", k);
  std::vector<Ranked> all = watched(query);
  nb::list out;
  for (int64_t i = 0; i < from.n_sequences(); ++i) {
    const size_t n = all[i].scores.size(), T = from.length(i);
    out.append(nb::make_tuple(give(std::move(all[i].states), {n, T}), give(std::move(all[i].scores))));
  }
  return out;
}

// Per sequence states [n, T] of query(watch).
template <class From, class Query>
nb::list given_samples(const From& from, int n, const Query& query) {
  require(n >= 0, "the number of samples must not be negative");
  auto all = watched(query);
  nb::list out;
  for (int64_t i = 0; i < from.n_sequences(); ++i)
    out.append(give(std::move(all[i]), {static_cast<size_t>(n), static_cast<size_t>(from.length(i))}));
  return out;
}

// The probabilities of windows that query(watch, windows, out) fills; `allowed` has `width` columns, one per
// `what`.
template <class From, class Query>
nb::object given_windows(const From& from, In1<int64_t> sequences, In1<int64_t> firsts, In1<int64_t> ptrs,
                         In2<uint8_t> allowed, size_t width, const char* what, const Query& query) {
  const std::vector<int64_t> sequence = checked_order(sequences, from.n_sequences(), "a window");
  const std::vector<int64_t> first = vector_of(firsts), ptr = vector_of(ptrs);
  const size_t n = sequence.size();
  require(first.size() == n && ptr.size() == n + 1, "windows need one first position and one extent each");
  check_offsets(ptr.data(), ptr.size(), static_cast<int64_t>(allowed.shape(0)), "window offsets");
  require(allowed.shape(1) == width, "allowed needs one column per ", what);
  for (size_t r = 0; r < n; ++r) {
    const int64_t length = from.length(sequence[r]), extent = ptr[r + 1] - ptr[r];
    require(first[r] >= 0 && first[r] <= length && extent <= length - first[r], "window ", r,
            " reaches beyond its sequence: ", extent, " positions from ", first[r], " on, of ", length);
  }
  const Windows windows{static_cast<int64_t>(n), sequence.data(), first.data(), ptr.data(), allowed.data()};
  std::vector<double> probability(n);
  watched([&](Watch& watch) { query(watch, windows, probability.data()); });
  return give(std::move(probability));
}

}  // namespace fieldcraft::bind
