// The interface of a training problem to stochastic optimisers: passes over sequences.
//
// evaluate() computes the loss of a sequence at the current weights, collect() its gradient per weight.
// Weights are scale * field; a field is one flat memory with at least one entry per weight, in the order that
// suits the problem. The gradient of a sequence in potential space is one flat vector of `size(i)` numbers,
// from which the gradient in the weights can be computed again: compact, and linear.
//
// Implementations: chains (chain_passes.hpp), segments (segment_passes.hpp), and structures written in Python
// (bind/passes.cpp).
#pragma once

#include <cstdint>
#include <mutex>

#include "sparse_gradient.hpp"

namespace fieldcraft {

class Passes {
 public:
  virtual ~Passes() = default;

  virtual int64_t n_sequences() const = 0;
  virtual int64_t n_features() const = 0;
  virtual double weight_of(int64_t i) const = 0;

  // field <- values [n_features], and back.
  virtual void spread(const double* values, double* field) const = 0;
  virtual void gather(const double* field, double* values) const = 0;
  // An empty gradient; its field_size() is the length of a field.
  virtual SparseGradient sparse_gradient() const = 0;

  // Returns the weight of sequence i times its loss at scale * field. The functions up to size() refer to
  // the sequence and the weights of the last call.
  virtual double evaluate(int64_t i, const double* field, double scale) = 0;
  virtual int64_t wrong() const = 0;  // positions whose gradient is not zero
  // out <- the gradient; without `all`, weights whose gradient is zero may be left out.
  virtual void collect(bool all, SparseGradient& out) = 0;
  virtual void remember(float* parts) const = 0;  // [size(i)] the gradient in potential space

  virtual size_t size(int64_t i) const = 0;
  // out <- the gradient that belongs to parts [size(i)], with all weights that the sequence touches.
  virtual void collect(int64_t i, const double* parts, SparseGradient& out) = 0;
  // out <- zeros for the weights that the sequence touches.
  virtual void touch(int64_t i, SparseGradient& out) = 0;

  std::mutex in_use;  // one pass at a time
};

}  // namespace fieldcraft
