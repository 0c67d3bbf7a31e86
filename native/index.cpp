#include "index.hpp"

#include <algorithm>
#include <numeric>

#include "apart.hpp"
#include "parallel.hpp"

namespace fieldcraft {
namespace {

// A code is a label, or previous * S + label for attributes on edges (which need a previous position); 32
// bits are enough for 65535 labels.

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

// One thread's memory.
struct alignas(kApart) Tally {
  std::vector<int64_t> of;     // [codes] zero between calls
  std::vector<uint32_t> seen;  // codes
  std::vector<uint32_t> codes;
};

class alignas(kApart) Builder {
 public:
  Builder(int64_t S, int64_t min_count) : S_(S), min_count_(min_count) {}

  void add(int32_t attribute, bool edge, uint32_t code, int64_t count, int64_t family) {
    if (count < min_count_) return;
    rows.push_back({attribute, edge ? static_cast<int32_t>(code / S_) : -1,
                    static_cast<int32_t>(edge ? code % S_ : code), static_cast<int32_t>(count),
                    static_cast<int32_t>(family)});
  }

  // One attribute (or none, -1) with the codes of its occurrences, which are at `family` positions.
  void add_family(int32_t attribute, bool edge, const std::vector<uint32_t>& codes, int64_t family, bool all,
                  Tally& tally) {
    if (codes.size() == 1 && !all) return add(attribute, edge, codes[0], 1, family);
    const int64_t n_codes = edge ? S_ * S_ : S_;
    if (!all && n_codes > kTally && n_codes > 8 * static_cast<int64_t>(codes.size()))
      return add_sorted(attribute, edge, codes, family, tally.seen);
    if (static_cast<int64_t>(tally.of.size()) < n_codes) tally.of.resize(n_codes, 0);
    tally.seen.clear();
    for (const uint32_t code : codes)
      if (tally.of[code]++ == 0) tally.seen.push_back(code);
    if (all) {
      tally.seen.resize(n_codes);
      std::iota(tally.seen.begin(), tally.seen.end(), 0u);
    }
    std::sort(tally.seen.begin(), tally.seen.end());
    for (const uint32_t code : tally.seen) {
      add(attribute, edge, code, tally.of[code], family);
      tally.of[code] = 0;
    }
  }

  struct Row {
    int32_t attribute, previous, label, count, family;
  };
  RawVector<Row> rows;

 private:
  // The same without a tally, whose memory would be that of a matrix of label pairs.
  void add_sorted(int32_t attribute, bool edge, const std::vector<uint32_t>& codes, int64_t family,
                  std::vector<uint32_t>& sorted) {
    sorted = codes;
    std::sort(sorted.begin(), sorted.end());
    for (auto first = sorted.begin(); first != sorted.end();) {
      const auto last = std::upper_bound(first, sorted.end(), *first);
      add(attribute, edge, *first, last - first, family);
      first = last;
    }
  }

  static constexpr int64_t kTally = 1 << 20;  // so many codes may always have one
  int64_t S_;
  int64_t min_count_;
};

// The codes of the occurrences of an attribute.
class Codes {
 public:
  Codes(const EncodedTokens& tokens, const AttributeTokens& columns, const uint8_t* on_edge,
        const Candidates& gold, int64_t S)
      : columns_(columns), on_edge_(on_edge), gold_(gold), S_(S) {
    const int64_t n_tokens = tokens.offsets[tokens.n_sequences];
    one_each_ = gold.ptr[n_tokens] == n_tokens;
    for (int64_t t = 0; t < n_tokens; ++t) one_each_ &= gold.ptr[t] == t;
    if (on_edge == nullptr) return;
    first_.assign(n_tokens + 1, 0);
    for (int64_t i = 0; i < tokens.n_sequences; ++i) first_[tokens.offsets[i]] = 1;
  }

  bool is_edge(int64_t a) const { return on_edge_ != nullptr && on_edge_[a]; }

  // Returns at how many positions it occurs.
  int64_t of(int64_t a, std::vector<uint32_t>& codes) const {
    const uint32_t* const begin = columns_.token.data() + columns_.ptr[a];
    const uint32_t* const end = columns_.token.data() + columns_.ptr[a + 1];
    codes.clear();
    if (one_each_ && !is_edge(a)) {
      codes.resize(static_cast<size_t>(end - begin));
      for (const uint32_t* t = begin; t < end; ++t) codes[t - begin] = static_cast<uint32_t>(gold_.label[*t]);
      return end - begin;
    }
    int64_t family = 0;
    for (const uint32_t* t = begin; t < end; ++t) {
      if (is_edge(a) && first_[*t]) continue;
      each_code(gold_, *t, is_edge(a), S_, [&](uint32_t one) { codes.push_back(one); });
      ++family;
    }
    return family;
  }

 private:
  const AttributeTokens& columns_;
  const uint8_t* on_edge_;
  const Candidates& gold_;
  const int64_t S_;
  bool one_each_;               // one label per token
  std::vector<uint8_t> first_;  // [tokens + 1] whether a sequence begins there, if there are edges
};

// Pairs of labels without attribute.
void add_pairs(const EncodedTokens& tokens, const Candidates& gold, int S, bool all, Builder& builder) {
  Tally tally;
  int64_t steps = 0;
  for (int64_t i = 0; i < tokens.n_sequences; ++i)
    for (int64_t t = tokens.offsets[i] + 1; t < tokens.offsets[i + 1]; ++t, ++steps)
      each_code(gold, t, true, S, [&](uint32_t code) { tally.codes.push_back(code); });
  builder.add_family(-1, true, tally.codes, steps, all, tally);
}

FeatureCounts joined(const std::vector<Builder>& builders, int n_threads) {
  std::vector<size_t> first{0};
  for (const Builder& one : builders) first.push_back(first.back() + one.rows.size());
  FeatureCounts all;
  const size_t n = first.back();
  for (RawVector<int32_t>* column : {&all.attribute, &all.count, &all.family}) column->resize(n);
  all.labels.resize(2 * n);
  for_each_task(n_threads, builders.size(), [&](size_t b, int) {
    size_t at = first[b];
    for (const Builder::Row& row : builders[b].rows) {
      all.attribute[at] = row.attribute, all.labels[at] = row.previous, all.labels[n + at] = row.label;
      all.count[at] = row.count, all.family[at++] = row.family;
    }
  });
  return all;
}

}  // namespace

FeatureCounts count_features(const EncodedTokens& tokens, const AttributeTokens& columns,
                             const uint8_t* on_edge, const Candidates& gold, int S, const IndexRules& rules,
                             int n_threads) {
  constexpr int64_t kFew = 1 << 16;  // occurrences: counted before threads have started
  constexpr int kRanges = 64;
  const Codes codes(tokens, columns, on_edge, gold, S);
  const bool few = columns.ptr.back() < kFew;
  if (few) n_threads = 1;
  const std::vector<int64_t> bounds = columns.ranges(few ? 1 : kRanges);
  std::vector<Builder> builders(bounds.size(), Builder(S, rules.min_count));  // the first has the pairs
  std::vector<Tally> tallies(std::min(static_cast<size_t>(std::max(n_threads, 1)), builders.size()));
  for_each_task(n_threads, builders.size(), [&](size_t r, int thread) {
    if (r == 0) {
      if (rules.edge_bias) add_pairs(tokens, gold, S, rules.all_transitions, builders[r]);
      return;
    }
    Tally& tally = tallies[static_cast<size_t>(thread)];
    builders[r].rows.reserve(static_cast<size_t>(bounds[r] - bounds[r - 1]) * 5 / 4);  // most have one label
    for (int64_t a = bounds[r - 1]; a < bounds[r]; ++a) {
      const int64_t family = codes.of(a, tally.codes);
      builders[r].add_family(static_cast<int32_t>(a), codes.is_edge(a), tally.codes, family, rules.all_states,
                             tally);
    }
  });
  return joined(builders, n_threads);
}

}  // namespace fieldcraft
