// Bounds on log Z: from above by trees, from below by independent variables.
#pragma once

#include "messages.hpp"

namespace fieldcraft {

// Reweighted messages split the potentials into trees, whose log Z are averaged: an upper bound on log Z by
// convexity, whatever the messages are.
//   theta_t = sum_v b_v + sum over f in t of (table_f / share_f - sum_u m_fu),   mean over t of theta_t =
//   theta
double tree_bound(const Graph& graph, const double* tables, const Messages& messages,
                  const SpanningForests& forests, Breath breath);

// Independent variables q that maximise sum_f E_q[table_f] + H(q), one variable after the other: a lower
// bound on log Z. variables [n_states] receives q. -inf where q meets what is forbidden.
struct MeanField {
  double bound = 0;
  Progress progress;
};
MeanField mean_field(const Graph& graph, const double* tables, const Settings& settings, Breath breath,
                     double* variables);

// Products of marginals as the marginals of factors.
void independent_factors(const Graph& graph, const double* variables, double* factors);

}  // namespace fieldcraft
