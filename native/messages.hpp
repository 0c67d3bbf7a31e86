// Belief propagation in log space, for sums and for maxima, also reweighted.
//
//   b_v(x)      = local_v(x) + sum over factors f of v of share_f m_fv(x)
//   m_fv(x_v)   = log sum (or max) over the other variables u of f of exp( table_f / share_f + sum of (b_u -
//   m_fu) ) log Z       = constant + sum_v (1 - degree_v) log Z_v + sum_f log Z_f          (Bethe; all shares
//   1) best score <= constant + sum_v max b_v + sum_f max (table_f - share_f sum_u m_fu)
//
// Factors of one variable are part of local_v. States that no assignment can have are found first (arc
// consistency) and stay at -inf, so that every other message is finite. Messages are shifted to a maximum of
// 0.
#pragma once

#include <cstdint>
#include <vector>

#include "graph.hpp"
#include "interruption.hpp"
#include "spanning_forests.hpp"

namespace fieldcraft {

// What a graph's tables say about single variables.
struct Local {
  // Throws std::invalid_argument where a variable has no possible state.
  Local(const Graph& graph, const double* tables);

  std::vector<double> scores;    // [states] -inf: impossible
  double constant = 0;           // sum of factors without variables
  std::vector<int32_t> linking;  // factors with two variables or more
};

enum class Schedule { flooding, sequential, residual, tree };

struct Settings {
  Schedule schedule = Schedule::flooding;
  int max_iterations = 1000;
  double tolerance = 1e-6;
  double damping = 0;
  bool maximise = false;
  int n_threads = 1;
};

struct Progress {
  int64_t iterations = 0;
  double residual = 0;
  bool converged = true;
};

class Messages {
 public:
  // shares [factors], or null: all 1.
  Messages(const Graph& graph, const double* tables, bool maximise, const double* shares, Breath breath);

  Progress run(const Settings& settings, const SpanningForests* forests);
  double bethe() const;
  double upper_bound() const;  // on the best score
  void marginals(double* variables, double* factors) const;
  void argmax(int32_t* assignment) const;  // of each variable's belief

  const Local& local() const { return local_; }
  double* message(int f, int slot) { return messages_.data() + at_[graph_.scope_ptr[f] + slot]; }
  const double* message(int f, int slot) const { return messages_.data() + at_[graph_.scope_ptr[f] + slot]; }
  void refresh();  // beliefs from messages
  const std::vector<double>& beliefs() const { return beliefs_; }

 private:
  double share(int f) const { return shares_ == nullptr ? 1.0 : shares_[f]; }
  void cavities(int f) const;
  void compute(int f, int slot, double* out) const;
  void finish(int f, int slot, double* out) const;
  double change(int f, int slot, const double* next) const;
  double put(int f, int slot, double* next, double damping);
  double factor_table(int f, double* out) const;
  double flooding(double damping);
  double sequential(double damping, bool backwards);
  double along(const SpanningForests& forests, size_t t, double damping);
  Progress residuals(const Settings& settings);

  const Graph& graph_;
  const double* tables_;
  const bool maximise_;
  const double* shares_;
  Local local_;
  std::vector<int64_t> at_;  // [edges] of messages
  std::vector<double> messages_, beliefs_;
  mutable std::vector<double> cavity_, scratch_;  // of one factor
  mutable std::vector<int64_t> cavity_at_;
  std::vector<double> next_;  // all messages of a flooding sweep
  mutable Breath breath_;
};

// log sum exp of x [n].
double log_sum(const double* x, int64_t n);

}  // namespace fieldcraft
