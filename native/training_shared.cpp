// Weights that act as one, as variables of a training problem (training.hpp, shared_weights.hpp).
#include <stdexcept>
#include <vector>

#include "training_sweep.hpp"

namespace fieldcraft {

void ChainProblem::refuse_shared() const {
  if (shared_or_null() != nullptr) throw std::invalid_argument("weights are shared: the loss stays as it is");
}

const SharedWeights& ChainProblem::shared() const {
  if (shared_or_null() == nullptr) throw std::invalid_argument("no weights are shared");
  return *shared_or_null();
}

size_t ChainProblem::share(const double* start) {
  if (by_sequence_) throw std::invalid_argument("this problem was made for one sequence after the other");
  refuse_shared();
  prepare();
  const bool gold = fused_ && counts_ == nullptr;
  if (!blocks_->share({start, fused_ ? counts_ : nullptr, gold ? empirical_.data() : nullptr}, n_threads_))
    return 0;
  const SharedWeights& shared = this->shared();
  if (fused_ && counts_ != nullptr) {
    shared_counts_.resize(shared.size());
    for (size_t f = 0; f < shared.n_features(); ++f) shared_counts_[shared.variable[f]] = counts_[f];
    counts_ = shared_counts_.data();
  } else if (fused_) {
    std::vector<double> numbers(shared.size());
    for (size_t f = 0; f < shared.n_features(); ++f) numbers[shared.variable[f]] = empirical_[f];
    empirical_ = std::move(numbers);
  }
  return shared.size();
}

double ChainProblem::evaluate_shared(const double* variables, double* gradient, Watch& watch,
                                     Quadratic* penalty) {
  shared();
  return evaluate_field(variables, gradient, nullptr, watch, penalty);
}

// Any weights, though variables have taken their places: those of one variable may differ.
double ChainProblem::evaluate_each(const double* weights, double* gradient, double* per_sequence,
                                   Watch& watch) {
  const SharedWeights& shared = this->shared();
  std::vector<double> variables(shared.size()), slope(shared.size());
  shared.means_of(weights, variables.data());
  const double value = evaluate_field(variables.data(), slope.data(), per_sequence, watch, nullptr);
  shared.weights_of(slope.data(), gradient);
  return value;
}

}  // namespace fieldcraft
