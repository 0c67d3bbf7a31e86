// Building the sorted rows, and matching by narrowing a range of them word by word.
#include "gazetteer.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace fieldcraft {

namespace {

using Row = std::basic_string_view<int32_t>;

Row row_of(const int32_t* words, const int64_t* starts, size_t e) {
  return Row(words + starts[e], static_cast<size_t>(starts[e + 1] - starts[e]));
}

}  // namespace

Gazetteer::Gazetteer(Interner&& vocabulary, const std::vector<int32_t>& rows,
                     const std::vector<int64_t>& row_starts)
    : vocabulary_(std::move(vocabulary)), first_(vocabulary_.size() + 1, 0) {
  const auto row = [&](size_t e) { return row_of(rows.data(), row_starts.data(), e); };
  std::vector<size_t> order(row_starts.size() - 1);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return row(a) < row(b); });
  std::vector<int32_t> words;
  std::vector<int64_t> starts{0};
  for (size_t i = 0; i < order.size(); ++i) {
    const auto entry = row(order[i]);
    if (entry.empty()) throw std::invalid_argument("a gazetteer entry has no words");
    if (i > 0 && entry == row(order[i - 1])) continue;
    words.insert(words.end(), entry.begin(), entry.end());
    starts.push_back(static_cast<int64_t>(words.size()));
    ++first_[static_cast<size_t>(entry[0]) + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  words_ = std::move(words), starts_ = std::move(starts);
}

Gazetteer::Gazetteer(Interner&& vocabulary, Array<int32_t> words, Array<int64_t> starts)
    : vocabulary_(std::move(vocabulary)),
      words_(std::move(words)),
      starts_(std::move(starts)),
      first_(vocabulary_.size() + 1, 0) {
  for (const int32_t word : words_)
    if (word < 0 || word >= static_cast<int64_t>(vocabulary_.size()))
      throw std::invalid_argument("a gazetteer entry names a word that is not there");
  for (size_t e = 0; e < size(); ++e) {
    const auto entry = row_of(words_.data(), starts_.data(), e);
    if (entry.empty() || (e > 0 && !(row_of(words_.data(), starts_.data(), e - 1) < entry)))
      throw std::invalid_argument("the entries of a gazetteer are not in order");
    ++first_[static_cast<size_t>(entry[0]) + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
}

size_t Gazetteer::longest_match(const int32_t* text, size_t n) const {
  if (n == 0 || text[0] < 0) return 0;
  int64_t low = first_[static_cast<size_t>(text[0])], high = first_[static_cast<size_t>(text[0]) + 1];
  size_t best = 0;
  for (size_t depth = 1; low < high; ++depth) {
    // Rows low .. high-1 share text[0 .. depth-1]; the shortest of them stands first.
    if (starts_[low + 1] - starts_[low] == static_cast<int64_t>(depth)) {
      best = depth;
      ++low;
    }
    if (depth == n || text[depth] < 0) break;
    const auto word_at = [&](int64_t e) { return words_[static_cast<size_t>(starts_[e]) + depth]; };
    const auto bisect = [&](int64_t from, int64_t to, int32_t word) {
      while (from < to) {
        const int64_t middle = from + (to - from) / 2;
        if (word_at(middle) < word)
          from = middle + 1;
        else
          to = middle;
      }
      return from;
    };
    low = bisect(low, high, text[depth]);
    high = bisect(low, high, text[depth] + 1);
  }
  return best;
}

void Gazetteer::tag(const int32_t* text, size_t n, MatchRule rule, int8_t* tags) const {
  std::fill(tags, tags + n, static_cast<int8_t>(kOutside));
  std::vector<size_t> covered(rule == MatchRule::all ? n : 0, 0);  // length of the match that tagged it
  for (size_t t = 0; t < n;) {
    const size_t m = longest_match(text + t, n - t);
    for (size_t i = 0; i < m; ++i) {
      if (rule == MatchRule::all && covered[t + i] >= m) continue;
      if (rule == MatchRule::all) covered[t + i] = m;
      tags[t + i] = m == 1 ? kUnit : i == 0 ? kBegin : i + 1 == m ? kLast : kInside;
    }
    t += rule == MatchRule::longest ? std::max<size_t>(m, 1) : 1;
  }
}

}  // namespace fieldcraft
