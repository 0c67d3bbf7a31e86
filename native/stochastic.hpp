// Optimisers that change the weights after every sequence.
//
// A pass visits sequences in some order; `visit` evaluates the loss of one at the current weights and changes
// them. Weights are scale * field (passes.hpp), so that a penalty that shrinks them all costs nothing. Passes
// are sequential: the result cannot depend on the number of threads.
//
// Averages are lazy. With steps k = 1 .. K, weights w_k = s_k v_k after each and importances a_k,
//
//   sum of a_k w_k = theta v - sum over changes d of (theta when it was made) d,      theta = sum of a_k s_k
//
// so a change d of v goes to a second field times -theta, and a step adds to theta.
//
// Descent, after the gradient g of a sequence's loss, with rate h (rate / (1 + decay t), and if adaptive
// divided by the root of the sum of squared gradients of each weight, Duchi et al. 2011):
//
//   w <- (w - h g + h p m) / (1 + h p)       penalty p (w - m)^2 / 2: implicit, so that no rate is too large
//
// where p is the precision / N of every weight (then by scale, if all are equal and m = 0), or else the
// precision / (sequences with the feature) of the weights that the sequence touches. Absolute values are
// cumulative (Tsuruoka, Tsujii & Ananiadou 2009): a weight is clipped at 0 by the penalty not yet applied to
// it.
#pragma once

#include <string>
#include <vector>

#include "interruption.hpp"
#include "passes.hpp"

namespace fieldcraft {

// The prior, each part [n_features], or one number, or empty.
struct Penalty {
  std::vector<double> mean, precision, above, below;
};

class Stochastic {
 public:
  enum class Averaging { none, uniform, linear };  // importance of step k: 1, or k

  // mask [n_features] or null: 0 where a weight may not change. The passes must outlive this.
  Stochastic(Passes& passes, const uint8_t* mask, Averaging averaging);
  virtual ~Stochastic() = default;
  Stochastic(const Stochastic&) = delete;  // fields_ and numbers_ point to members

  // One pass; returns the sum of the losses, each as computed at its visit.
  double run(const int64_t* order, int64_t n, Watch& watch);
  // The sum of the losses at the weights as they are, the average if there is one.
  double loss(const int64_t* order, int64_t n, Watch& watch);

  // Starts again at weights [n_features].
  virtual void start(const double* weights);
  // The weights that the method arrives at (the average, if so), and the last ones.
  void weights(double* out) const;
  void last_weights(double* out) const;

  // What must be saved to continue later: fields as [n_features], and numbers.
  struct Field {
    std::string name;
    Buffer* values;
  };
  const std::vector<Field>& fields() const { return fields_; }
  const std::vector<double*>& numbers() const { return numbers_; }

  const Passes& passes() const { return passes_; }

 protected:
  virtual int64_t draw(int64_t k, const int64_t* order) { return order[k]; }  // sequence of step k of a pass
  virtual double visit(int64_t sequence) = 0;
  virtual void finish() {}  // at the end of a pass
  double evaluate(int64_t sequence) { return passes_.evaluate(sequence, field_.data(), scale_); }
  // gradient_ <- that of the last evaluation.
  void collect(bool all) { passes_.collect(all, gradient_), gradient_.multiply(mask_); }
  std::unique_lock<std::mutex> begin_pass() const;
  void end_step();
  bool averages() const { return averaging_ != Averaging::none; }
  // Adds to an entry of the field.
  void change(size_t at, double amount) {
    field_[at] += amount;
    if (averages()) sum_[at] -= theta_ * amount;
  }
  void add(double factor);  // factor * gradient_, to the whole
  void fold_scale();

  Passes& passes_;
  SparseGradient gradient_;
  Averaging averaging_;
  Buffer mask_;  // a field; 0 for entries without a weight, too
  Buffer field_, sum_;
  double time_ = 0, scale_ = 1, theta_ = 0, total_ = 0;
  double shrunk_ = 0;                             // what an absolute-value penalty of strength 1 took so far
  std::vector<Field> fields_{{"last", &field_}};  // subclasses add theirs
  std::vector<double*> numbers_{&time_, &scale_, &theta_, &total_, &shrunk_};
};

// A number for each entry of a field.
struct Setting {
  double one = 0;
  Buffer each;
  Setting() = default;
  // values [n_features] or empty. Where all are equal one number serves, unless entries without a weight must
  // have 0 (`exact`).
  Setting(const Passes& passes, size_t field_size, const std::vector<double>& values, bool exact = false);
  double operator[](size_t at) const { return each.size() == 0 ? one : each[at]; }
  bool zero() const { return each.size() == 0 && one == 0; }
};

class Descent : public Stochastic {
 public:
  struct Options {
    double rate, decay;
    bool adaptive;  // a rate for each weight
    double floor;   // added to the root
    bool hold;      // the average of a pass's steps is made at its end
  };
  Descent(Passes& passes, const uint8_t* mask, Averaging averaging, const Options& options,
          const Penalty& penalty);

  void start(const double* weights) override;

 protected:
  double visit(int64_t sequence) override;
  void finish() override;

 private:
  void count_sequences();
  void move(double rate);
  double shrink(size_t at, double rate, double weight);
  double clip(size_t at, double strength, double weight);
  bool has_l1() const { return !above_.zero() || !below_.zero(); }

  Options options_;
  Setting mean_, precision_, above_, below_;
  double uniform_ = 0;      // precision / N, by scale
  Buffer share_;            // 1 / sequences with the feature; where penalties are spread over them
  Buffer squares_, taken_;  // sums of squared gradients; what absolute values took so far
  Buffer spared_;           // adaptive: instead of shrunk_
  Buffer held_;
  double n_held_ = 0;
};

}  // namespace fieldcraft
