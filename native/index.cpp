#include "index.hpp"

#include <algorithm>
#include <numeric>

#include "parallel.hpp"

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

class Grouping {
 public:
  Grouping(const EncodedTokens& tokens, int64_t n_attributes, const uint8_t* on_edge, const Candidates& gold,
           int S)
      : tokens_(tokens), on_edge_(on_edge), gold_(gold), S_(S) {
    all_.ptr.assign(n_attributes + 1, 0), all_.family.assign(n_attributes, 0);
    first_.assign(tokens.offsets[tokens.n_sequences] + 1, 0);
    for (int64_t i = 0; i < tokens.n_sequences; ++i) first_[tokens.offsets[i]] = 1;
    simple_ = is_simple();
  }

  const Occurrences& all() const { return all_; }
  bool is_edge(int64_t a) const { return on_edge_ != nullptr && on_edge_[a]; }

  void count() {
    int64_t *n_codes_of = all_.ptr.data() + 1, *family = all_.family.data();
    if (simple_) {
      each(0, n_attributes(), [=](int32_t a, int64_t) { ++family[a]; });
      std::copy(all_.family.begin(), all_.family.end(), n_codes_of);
    } else {
      each(0, n_attributes(), [=, this](int32_t a, int64_t t) {
        n_codes_of[a] += n_codes(gold_, t, is_edge(a));
        ++family[a];
      });
    }
    std::partial_sum(all_.ptr.begin(), all_.ptr.end(), all_.ptr.begin());
    all_.code.resize(all_.ptr.back());
    next_.assign(all_.ptr.begin(), all_.ptr.end() - 1);
  }

  // The codes of attributes begin .. end-1; others may be filled at the same time.
  void fill(int64_t begin, int64_t end) {
    uint32_t* code = all_.code.data();
    int64_t* next = next_.data();
    if (simple_) {
      const int32_t* label = gold_.label;
      each(begin, end, [=](int32_t a, int64_t t) { code[next[a]++] = static_cast<uint32_t>(label[t]); });
    } else {
      each(begin, end, [=, this](int32_t a, int64_t t) {
        each_code(gold_, t, is_edge(a), S_, [&](uint32_t one) { code[next[a]++] = one; });
      });
    }
  }

  // Bounds of at most n ranges of attributes with about equally many occurrences.
  std::vector<int64_t> ranges(int64_t n) const {
    std::vector<int64_t> bounds{0};
    for (int64_t r = 1; r <= n; ++r) {
      const int64_t until = r == n ? all_.ptr.back() : all_.ptr.back() / n * r;
      const auto at = std::lower_bound(all_.ptr.begin() + bounds.back(), all_.ptr.end() - 1, until);
      bounds.push_back(r == n ? n_attributes() : at - all_.ptr.begin());
    }
    return bounds;
  }

 private:
  int64_t n_attributes() const { return static_cast<int64_t>(all_.family.size()); }

  int64_t n_tokens() const { return tokens_.offsets[tokens_.n_sequences]; }

  // One label per token, and no attribute of pairs: a code is a label.
  bool is_simple() const {
    bool one = on_edge_ == nullptr;
    for (int64_t t = 0; t < n_tokens(); ++t) one &= gold_.ptr[t] == t;
    return one && gold_.ptr[n_tokens()] == n_tokens();
  }

  template <class Visit>
  void each(int64_t begin, int64_t end, const Visit& visit) const {
    const uint64_t n = static_cast<uint64_t>(end - begin);
    const int64_t* ptr = tokens_.token_ptr;
    const int32_t* attributes = tokens_.attributes;
    for (int64_t t = 0, last = n_tokens(); t < last; ++t)
      for (int64_t i = ptr[t], to = ptr[t + 1]; i < to; ++i) {
        const int32_t a = attributes[i];
        if (static_cast<uint64_t>(a - begin) < n && (!is_edge(a) || !first_[t])) visit(a, t);
      }
  }

  const EncodedTokens& tokens_;
  const uint8_t* on_edge_;
  const Candidates& gold_;
  const int64_t S_;
  bool simple_;
  Occurrences all_;
  std::vector<uint8_t> first_;  // [tokens + 1] whether a sequence begins there
  std::vector<int64_t> next_;   // [A] where the next code goes
};

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

namespace {

void append(FeatureCounts& to, const FeatureCounts& more) {
  const auto one = [](std::vector<int32_t>& into, const std::vector<int32_t>& from) {
    into.insert(into.end(), from.begin(), from.end());
  };
  one(to.attribute, more.attribute), one(to.previous, more.previous), one(to.label, more.label);
  one(to.count, more.count), one(to.family, more.family);
}

// Pairs of labels without attribute.
void add_pairs(const EncodedTokens& tokens, const Candidates& gold, int S, bool all, Builder& builder) {
  std::vector<uint32_t> pairs;
  int64_t steps = 0;
  for (int64_t i = 0; i < tokens.n_sequences; ++i)
    for (int64_t t = tokens.offsets[i] + 1; t < tokens.offsets[i + 1]; ++t, ++steps)
      each_code(gold, t, true, S, [&](uint32_t code) { pairs.push_back(code); });
  builder.add_family(-1, true, pairs.data(), pairs.data() + pairs.size(), steps, all);
}

}  // namespace

FeatureCounts count_features(const EncodedTokens& tokens, int64_t n_attributes, const uint8_t* on_edge,
                             const Candidates& gold, int S, const IndexRules& rules, int n_threads) {
  constexpr int64_t kFew = 1 << 16;  // occurrences: counted before threads have started
  constexpr int kRanges = 64;        // each of them looks at all tokens
  Grouping grouping(tokens, n_attributes, on_edge, gold, S);
  grouping.count();
  const Occurrences& all = grouping.all();
  const std::vector<int64_t> bounds =
      grouping.ranges(all.ptr.back() < kFew ? 1 : std::clamp(n_threads, 1, kRanges));
  std::vector<Builder> builders(bounds.size() - 1, Builder(S, rules.min_count));
  if (rules.edge_bias) add_pairs(tokens, gold, S, rules.all_transitions, builders[0]);
  for_each_task(n_threads, builders.size(), [&](size_t r, int) {
    grouping.fill(bounds[r], bounds[r + 1]);
    for (int64_t a = bounds[r]; a < bounds[r + 1]; ++a)
      builders[r].add_family(static_cast<int32_t>(a), grouping.is_edge(a), all.code.data() + all.ptr[a],
                             all.code.data() + all.ptr[a + 1], all.family[a], rules.all_states);
  });
  FeatureCounts out = std::move(builders[0].out);
  for (size_t r = 1; r < builders.size(); ++r) append(out, builders[r].out);
  return out;
}

}  // namespace fieldcraft
