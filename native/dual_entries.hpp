// Edge entries of one sequence, for dual ascent: features of label pairs that look at the input.
//
// An entry is one occurrence of such a feature; its amount is value * marginal of the label pair, minus value
// where the pair is the gold one. Arrays have an element for each entry of the sequence, in the order of
// DualWeights::each_entry; those of the first token, which has no step, are 0.
#pragma once

#include <cstdint>

#include "dual_weights.hpp"

namespace fieldcraft {

// Takes gold's part off the amounts; returns the gold labelling's score from the entries.
double take_off_gold(const DualWeights& live, int64_t i, const int32_t* gold, double* amounts);

// step <- p - q, scores <- the weights, and the sums of Comparison; p are amounts at the current weights, q
// the stored ones.
Comparison compare_entries(const DualWeights& live, int64_t i, const double* p, const float* q,
                           double* scores, double* step);

// q <- q + s step, rounded; step <- -c (the change of q).
void move_entries(double s, double c, int64_t n, float* q, double* step);

// How much the weights moved along `change` since they were `scores`.
double moved_along(const DualWeights& live, int64_t i, const double* scores, const double* change);

}  // namespace fieldcraft
