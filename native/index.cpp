#include "index.hpp"

#include <algorithm>
#include <numeric>

namespace fieldcraft {
namespace {

// Label configurations of each attribute's occurrences, grouped by attribute. A code is the label, or
// previous * S + label for attributes on edges (which need a previous position); 32 bits are enough for 65535
// labels.
struct Occurrences {
  std::vector<int64_t> ptr;  // [A + 1]
  std::vector<uint32_t> code;
  std::vector<int64_t> family;  // [A] positions
};

// Visits the codes of position t.
template <class Visit>
void each_code(const Candidates& gold, int64_t t, bool edge, int64_t S, const Visit& visit) {
  for (int64_t j = gold.ptr[t]; j < gold.ptr[t + 1]; ++j) {
    if (!edge) {
      visit(static_cast<uint32_t>(gold.label[j]));
      continue;
    }
    for (int64_t i = gold.ptr[t - 1]; i < gold.ptr[t]; ++i)
      visit(static_cast<uint32_t>(gold.label[i] * S + gold.label[j]));
  }
}

int64_t n_codes(const Candidates& gold, int64_t t, bool edge) {
  const int64_t n = gold.ptr[t + 1] - gold.ptr[t];
  return edge ? n * (gold.ptr[t] - gold.ptr[t - 1]) : n;
}

Occurrences group(const EncodedTokens& tokens, int64_t n_attributes, const uint8_t* on_edge,
                  const Candidates& gold, int S) {
  Occurrences all;
  all.ptr.assign(n_attributes + 1, 0), all.family.assign(n_attributes, 0);
  const int64_t n_tokens = tokens.offsets[tokens.n_sequences];
  std::vector<uint8_t> first(n_tokens + 1, 0);
  for (int64_t i = 0; i < tokens.n_sequences; ++i) first[tokens.offsets[i]] = 1;
  const auto is_edge = [&](int32_t a) { return on_edge != nullptr && on_edge[a]; };
  const auto counts = [&](int32_t a, int64_t t) { return !is_edge(a) || !first[t]; };
  for (int64_t t = 0; t < n_tokens; ++t)
    for (int64_t i = tokens.token_ptr[t]; i < tokens.token_ptr[t + 1]; ++i) {
      const int32_t a = tokens.attributes[i];
      if (!counts(a, t)) continue;
      all.ptr[a + 1] += n_codes(gold, t, is_edge(a));
      ++all.family[a];
    }
  std::partial_sum(all.ptr.begin(), all.ptr.end(), all.ptr.begin());
  all.code.resize(all.ptr.back());
  std::vector<int64_t> next(all.ptr.begin(), all.ptr.end() - 1);
  for (int64_t t = 0; t < n_tokens; ++t)
    for (int64_t i = tokens.token_ptr[t]; i < tokens.token_ptr[t + 1]; ++i) {
      const int32_t a = tokens.attributes[i];
      if (!counts(a, t)) continue;
      each_code(gold, t, is_edge(a), S, [&](uint32_t code) { all.code[next[a]++] = code; });
    }
  return all;
}

class Builder {
 public:
  Builder(int64_t S, int64_t min_count) : S_(S), min_count_(min_count) {}

  void add(int32_t attribute, bool edge, uint32_t code, int64_t count, int64_t family) {
    if (count < min_count_) return;
    out.attribute.push_back(attribute);
    out.previous.push_back(edge ? static_cast<int32_t>(code / S_) : -1);
    out.label.push_back(static_cast<int32_t>(edge ? code % S_ : code));
    out.count.push_back(static_cast<int32_t>(count));
    out.family.push_back(static_cast<int32_t>(family));
  }

  // One attribute (or none, -1) with the codes of its occurrences, which are at `family` positions.
  void add_family(int32_t attribute, bool edge, const uint32_t* begin, const uint32_t* end, int64_t family,
                  bool all) {
    const int64_t n_codes = edge ? S_ * S_ : S_;
    if (!all && n_codes > kTally && n_codes > 8 * (end - begin))
      return add_sorted(attribute, edge, begin, end, family);
    if (static_cast<int64_t>(tally_.size()) < n_codes) tally_.resize(n_codes, 0);
    seen_.clear();
    for (const uint32_t* code = begin; code != end; ++code)
      if (tally_[*code]++ == 0) seen_.push_back(*code);
    if (all) {
      seen_.resize(n_codes);
      std::iota(seen_.begin(), seen_.end(), 0u);
    }
    std::sort(seen_.begin(), seen_.end());
    for (const uint32_t code : seen_) {
      add(attribute, edge, code, tally_[code], family);
      tally_[code] = 0;
    }
  }

  FeatureCounts out;

 private:
  // The same without a tally, whose memory would be that of a matrix of label pairs.
  void add_sorted(int32_t attribute, bool edge, const uint32_t* begin, const uint32_t* end, int64_t family) {
    seen_.assign(begin, end);
    std::sort(seen_.begin(), seen_.end());
    for (auto first = seen_.begin(); first != seen_.end();) {
      const auto last = std::upper_bound(first, seen_.end(), *first);
      add(attribute, edge, *first, last - first, family);
      first = last;
    }
  }

  static constexpr int64_t kTally = 1 << 20;  // so many codes may always have one
  int64_t S_;
  int64_t min_count_;
  std::vector<int64_t> tally_;  // [codes] zero between calls
  std::vector<uint32_t> seen_;
};

}  // namespace

FeatureCounts count_features(const EncodedTokens& tokens, int64_t n_attributes, const uint8_t* on_edge,
                             const Candidates& gold, int S, const IndexRules& rules) {
  Builder builder(S, rules.min_count);
  if (rules.edge_bias) {
    std::vector<uint32_t> pairs;
    int64_t steps = 0;
    for (int64_t i = 0; i < tokens.n_sequences; ++i)
      for (int64_t t = tokens.offsets[i] + 1; t < tokens.offsets[i + 1]; ++t, ++steps)
        each_code(gold, t, true, S, [&](uint32_t code) { pairs.push_back(code); });
    builder.add_family(-1, true, pairs.data(), pairs.data() + pairs.size(), steps, rules.all_transitions);
  }
  Occurrences all = group(tokens, n_attributes, on_edge, gold, S);
  for (int64_t a = 0; a < n_attributes; ++a)
    builder.add_family(static_cast<int32_t>(a), on_edge != nullptr && on_edge[a],
                       all.code.data() + all.ptr[a], all.code.data() + all.ptr[a + 1], all.family[a],
                       rules.all_states);
  return std::move(builder.out);
}

}  // namespace fieldcraft
