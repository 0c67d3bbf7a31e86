#include "attribute_tokens.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <stdexcept>

#include "parallel.hpp"

namespace fieldcraft {
namespace {

// Each task counts, and then places, the occurrences of some tokens: its own numbers follow those of the
// tasks before it within every attribute. Position: wide enough for the number of occurrences.
template <class Position>
class Transposition {
 public:
  Transposition(const EncodedTokens& tokens, int64_t n_attributes, int n_threads)
      : tokens_(tokens), n_attributes_(n_attributes), n_threads_(n_threads) {
    const int64_t n = n_occurrences(), parts = n < kFew ? 1 : n / std::max<int64_t>(n_attributes, 1);
    const int64_t n_parts = std::clamp<int64_t>(parts, 1, std::min(n_threads, kMostParts));
    const int64_t* const ptr = tokens.token_ptr;
    for (int64_t p = 0; p <= n_parts; ++p)
      cuts_.push_back(p == n_parts ? n_tokens()
                                   : std::lower_bound(ptr, ptr + n_tokens(), n / n_parts * p) - ptr);
    next_.resize(static_cast<size_t>(n_parts * n_attributes));
  }

  AttributeTokens run() {
    AttributeTokens out;
    out.ptr.resize(n_attributes_ + 1);
    out.token.resize(n_occurrences());
    if (tokens_.values != nullptr) out.value.resize(n_occurrences());
    for_each_task(n_threads_, n_parts(), [&](size_t p, int) { count(next(p), p); });
    place(out);
    for_each_task(n_threads_, n_parts(), [&](size_t p, int) { fill(next(p), p, out); });
    return out;
  }

 private:
  static constexpr int64_t kFew = 1 << 16;  // occurrences: counted before threads have started
  static constexpr int kMostParts = 32;
  static constexpr int64_t kPiece = 1 << 14;  // attributes

  int64_t n_tokens() const { return tokens_.offsets[tokens_.n_sequences]; }
  int64_t n_occurrences() const { return tokens_.token_ptr[n_tokens()]; }
  size_t n_parts() const { return cuts_.size() - 1; }
  Position* next(size_t part) { return next_.data() + static_cast<int64_t>(part) * n_attributes_; }

  void count(Position* counts, size_t part) const {
    std::fill_n(counts, n_attributes_, Position{0});
    const int64_t end = tokens_.token_ptr[cuts_[part + 1]];
    for (int64_t i = tokens_.token_ptr[cuts_[part]]; i < end; ++i) ++counts[tokens_.attributes[i]];
  }

  // Numbers of occurrences become where they begin.
  void place(AttributeTokens& out) {
    const size_t n_pieces = static_cast<size_t>((n_attributes_ + kPiece - 1) / kPiece);
    std::vector<int64_t> begin(n_pieces + 1, 0);
    const auto each = [&](size_t piece, const auto& visit) {
      const int64_t end = std::min<int64_t>((static_cast<int64_t>(piece) + 1) * kPiece, n_attributes_);
      for (int64_t a = static_cast<int64_t>(piece) * kPiece; a < end; ++a) visit(a);
    };
    for_each_task(n_threads_, n_pieces, [&](size_t piece, int) {
      int64_t sum = 0;
      for (size_t p = 0; p < n_parts(); ++p) each(piece, [&](int64_t a) { sum += next(p)[a]; });
      begin[piece + 1] = sum;
    });
    for (size_t piece = 0; piece < n_pieces; ++piece) begin[piece + 1] += begin[piece];
    for_each_task(n_threads_, n_pieces, [&](size_t piece, int) {
      int64_t at = begin[piece];
      each(piece, [&](int64_t a) {
        out.ptr[a] = at;
        for (size_t p = 0; p < n_parts(); ++p) {
          const Position n = next(p)[a];
          next(p)[a] = static_cast<Position>(at);
          at += n;
        }
      });
    });
    out.ptr[n_attributes_] = n_occurrences();
  }

  void fill(Position* to, size_t part, AttributeTokens& out) const {
    const int64_t* const ptr = tokens_.token_ptr;
    uint32_t* const token = out.token.data();
    for (int64_t t = cuts_[part]; t < cuts_[part + 1]; ++t)
      for (int64_t i = ptr[t], end = ptr[t + 1]; i < end; ++i) {
        const Position at = to[tokens_.attributes[i]]++;
        token[at] = static_cast<uint32_t>(t);
        if (tokens_.values != nullptr) out.value[at] = tokens_.values[i];
      }
  }

  const EncodedTokens& tokens_;
  const int64_t n_attributes_;
  const int n_threads_;
  std::vector<int64_t> cuts_;  // [parts + 1] tokens
  RawVector<Position> next_;   // [parts, A] occurrences, then where the next one goes
};

uint64_t mixed(uint64_t x) {  // every bit of the result depends on every bit of x
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr uint64_t kAlone = 0;  // fingerprint of attributes that share their column with none

// Equal for equal columns, and hardly ever for others.
uint64_t fingerprint(const AttributeTokens& columns, int64_t a) {
  const int64_t begin = columns.ptr[a], end = columns.ptr[a + 1];
  uint64_t sum = static_cast<uint64_t>(end - begin);
  for (int64_t k = begin; k < end; ++k) {
    if (k > begin && columns.token[k] == columns.token[k - 1]) return kAlone;
    uint64_t own = columns.token[k];
    if (!columns.value.empty()) own ^= mixed(std::bit_cast<uint64_t>(columns.value[k] + 0.0));
    sum += mixed(own);
  }
  return begin == end ? kAlone : std::max<uint64_t>(mixed(sum), kAlone + 1);
}

bool equal(const AttributeTokens& columns, int64_t a, int64_t b) {
  const auto same = [&](const auto& of) {
    const auto first = of.begin() + columns.ptr[a], last = of.begin() + columns.ptr[a + 1];
    return std::equal(first, last, of.begin() + columns.ptr[b]);
  };
  return columns.frequency(a) == columns.frequency(b) && same(columns.token) &&
         (columns.value.empty() || same(columns.value));
}

// first[a] <- the first attribute with the same fingerprint, next[a] <- the next one. Equal fingerprints fall
// to the same task, which sees them in the order of the attributes.
void pair_up(const RawVector<uint64_t>& prints, SameColumns& same, int n_threads) {
  struct Ends {
    int32_t first = -1, last = -1;
  };
  constexpr size_t kAhead = 16, kLeast = 1 << 13, kMost = 1 << 18;  // attributes of a task, about
  const size_t n = prints.size(), threads = static_cast<size_t>(std::max(n_threads, 1));
  const size_t n_tasks =
      threads == 1 ? 1 : std::bit_ceil(std::max(n / kMost + 1, std::min(n / kLeast, threads)));
  for_each_task(n_threads, n_tasks, [&](size_t task, int) {
    RawVector<uint32_t> mine;
    mine.reserve(n / n_tasks * 5 / 4 + 64);
    for (size_t a = 0; a < n; ++a)
      if ((prints[a] >> 32 & (n_tasks - 1)) == task && prints[a] != kAlone)
        mine.push_back(static_cast<uint32_t>(a));
    const size_t mask = std::bit_ceil(2 * mine.size() + 2) - 1;
    LargeVector<Ends> table(mask + 1);
    for (size_t k = 0; k < mine.size(); ++k) {
      if (k + kAhead < mine.size()) __builtin_prefetch(&table[prints[mine[k + kAhead]] & mask], 1);
      const int32_t a = static_cast<int32_t>(mine[k]);
      size_t slot = prints[a] & mask;
      while (table[slot].first >= 0 && prints[table[slot].first] != prints[a]) slot = (slot + 1) & mask;
      Ends& known = table[slot];
      if (known.first < 0)
        known.first = a;
      else
        same.first[a] = known.first, same.next[known.last] = a;
      known.last = a;
    }
  });
}

// next[a] anew: from each attribute that is first, upwards.
void link(SameColumns& same) {
  std::fill(same.next.begin(), same.next.end(), -1);
  for (size_t a = same.first.size(); a-- > 0;) {
    const int32_t first = same.first[a];
    if (first != static_cast<int32_t>(a))
      same.next[a] = same.next[first], same.next[first] = static_cast<int32_t>(a);
  }
}

}  // namespace

std::vector<int64_t> AttributeTokens::ranges(int64_t n) const {
  std::vector<int64_t> bounds{0};
  for (int64_t r = 1; r <= n; ++r) {
    const auto at = std::lower_bound(ptr.begin() + bounds.back(), ptr.end() - 1, ptr.back() / n * r);
    bounds.push_back(r == n ? n_attributes() : at - ptr.begin());
  }
  return bounds;
}

AttributeTokens transposed(const EncodedTokens& tokens, int64_t n_attributes, int n_threads) {
  const int64_t n_tokens = tokens.offsets[tokens.n_sequences];
  if (n_tokens > 0xffffffffll) throw std::length_error("more than 2^32 tokens");
  if (tokens.token_ptr[n_tokens] <= 0xffffffffll)
    return Transposition<uint32_t>(tokens, n_attributes, n_threads).run();
  return Transposition<uint64_t>(tokens, n_attributes, n_threads).run();
}

std::vector<int64_t> attribute_frequencies(const EncodedTokens& tokens, int64_t n_attributes) {
  std::vector<int64_t> count(n_attributes, 0);
  const int64_t n = tokens.token_ptr[tokens.offsets[tokens.n_sequences]];
  for (int64_t i = 0; i < n; ++i) ++count[tokens.attributes[i]];
  return count;
}

SameColumns same_columns(const AttributeTokens& columns, int n_threads) {
  constexpr int64_t kTasks = 64, kFew = 1 << 16;  // occurrences
  const int64_t n = columns.n_attributes();
  const std::vector<int64_t> bounds = columns.ranges(columns.ptr.back() < kFew ? 1 : kTasks);
  RawVector<uint64_t> prints(static_cast<size_t>(n));
  SameColumns same(static_cast<size_t>(n));
  const auto each = [&](const auto& visit) {
    for_each_task(n_threads, bounds.size() - 1, [&](size_t r, int) {
      for (int64_t a = bounds[r]; a < bounds[r + 1]; ++a) visit(a);
    });
  };
  each([&](int64_t a) {
    prints[a] = fingerprint(columns, a);
    same.first[a] = static_cast<int32_t>(a), same.next[a] = -1;
  });
  pair_up(prints, same, n_threads);
  std::atomic<bool> mistaken{false};
  each([&](int64_t a) {  // an attribute that is first stays so: no task reads what another one writes
    if (same.first[a] == a || equal(columns, a, same.first[a])) return;
    same.first[a] = static_cast<int32_t>(a);
    mistaken = true;
  });
  if (mistaken) link(same);
  return same;
}

}  // namespace fieldcraft
