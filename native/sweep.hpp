// What an evaluation of a ChainProblem works with: inside of training.cpp and training_losses.cpp.
#pragma once

#include <atomic>
#include <barrier>
#include <exception>
#include <memory>
#include <vector>

#include "training.hpp"

namespace fieldcraft {

struct ChainProblem::Lane {
  std::vector<SequencePass> passes{1};
  Buffer products, totals;  // [S, P] sums before and after multiplication with the matrix
  bool has_totals = false;
  std::unique_ptr<ObservedEdges> own;
  ChainLoss loss;

  void make_totals() {
    if (has_totals) return;
    totals.reserve(products.size());
    totals.fill_zero();
    has_totals = true;
  }
  void add(const double* pairs) {
    make_totals();
    for (size_t k = 0; k < products.size(); ++k) totals[k] += pairs[k];
  }
};

// What the threads of an evaluation share; kept between evaluations so that its memory is asked for once.
struct ChainProblem::Sweep {
  const double* weights = nullptr;
  double* gradient = nullptr;
  double* per_sequence = nullptr;  // log Z, or weighted losses
  std::unique_ptr<Edges> edges;
  Buffer rows, row_gradient;  // [n_rows, P]
  Buffer marginals[2];        // [round tokens, P]
  Buffer pair_marginals[2];   // [round entries]
  std::vector<Lane> lanes;
  std::vector<std::atomic<int>> next;  // [rounds] lane to hand out
  std::barrier<> all_here;
  std::exception_ptr failure;
  std::atomic<bool> failed{false};

  Sweep(size_t n_rounds, int n_threads) : lanes(kClasses), next(n_rounds), all_here(n_threads) {}
};

}  // namespace fieldcraft
