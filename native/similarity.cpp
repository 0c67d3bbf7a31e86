#include "similarity.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "canary.hpp"
#include "parallel.hpp"

namespace fieldcraft {
namespace {

constexpr char32_t kBlank = U' ';
constexpr int64_t kTaskTokens = 512;
constexpr double kSlack = 1 + 1e-12;  // rounding must not lose an entry that just reaches the threshold

// Code points of UTF-8; bytes that are none count as themselves.
std::u32string code_points(const std::string& text) {
  std::u32string out;
  for (size_t i = 0; i < text.size();) {
    const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
    const unsigned char lead = byte(i);
    const size_t n = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    if (n == 1 || i + n > text.size()) {
      out.push_back(lead);
      ++i;
      continue;
    }
    char32_t c = lead & (0xff >> (n + 1));
    for (size_t k = 1; k < n; ++k) c = c << 6 | (byte(i + k) & 0x3f);
    out.push_back(c);
    i += n;
  }
  return out;
}

uint64_t key_of(char32_t a, char32_t b, char32_t c) {
  return static_cast<uint64_t>(a) << 42 | static_cast<uint64_t>(b) << 21 | c;
}

// Levenshtein's distance if it is at most `most`, else most + 1.
int64_t distance(const std::u32string& a, const std::u32string& b, int64_t most) {
  const int64_t n = static_cast<int64_t>(a.size()), m = static_cast<int64_t>(b.size());
  if (std::abs(n - m) > most) return most + 1;
  std::vector<int64_t> row(m + 1);
  for (int64_t j = 0; j <= m; ++j) row[j] = j;
  for (int64_t i = 1; i <= n; ++i) {
    int64_t diagonal = row[0], lowest = row[0] = i;
    for (int64_t j = 1; j <= m; ++j) {
      const int64_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
      lowest = std::min(lowest, row[j]);
    }
    if (lowest > most) return most + 1;
  }
  return std::min(row[m], most + 1);
}

}  // namespace

// One thread's memory.
struct NearestIndex::Scratch {
  explicit Scratch(const NearestIndex& index) : weight(index.idf_.size(), 0.0), stamp(index.n_entries_, 0) {}

  std::vector<Key> keys, sorted;
  std::vector<Gram> grams;  // of the query, each once
  std::vector<double> shares;
  std::vector<double> weight;  // [grams of the index] of the query, 0 where it has none
  std::vector<int64_t> stamp;  // [entries] the query that last looked at it
  int64_t query = 0;
  std::u32string text;  // with a blank before it and behind it
};

NearestIndex::NearestIndex(Similarity kind, double threshold, const std::vector<std::string>& entries)
    : kind_(kind), threshold_(threshold), n_entries_(static_cast<int64_t>(entries.size())) {
  // cosine: the shared part of the query must have threshold^2 of its squared norm; jaccard: threshold of its
  // words; edit: of the n + 1 pairs of a text of n characters, each change alters two.
  needed_ = kind == Similarity::cosine ? threshold * threshold
            : kind == Similarity::edit ? 2 * threshold - 1
                                       : threshold;
  std::vector<std::vector<Key>> keys(entries.size());
  for (size_t e = 0; e < entries.size(); ++e) {
    texts_.push_back(code_points(entries[e]));
    longest_text_ = std::max(longest_text_, static_cast<double>(texts_[e].size()));
    whole_.emplace(texts_[e], static_cast<int32_t>(e));
    if (kind == Similarity::jaccard) {
      std::u32string word;
      for (const char32_t c : texts_[e] + kBlank) {
        if (c != kBlank) {
          word.push_back(c);
          continue;
        }
        if (!word.empty()) keys[e].push_back(words_.emplace(word, words_.size()).first->second);
        word.clear();
      }
    } else if (kind != Similarity::exact) {
      add_grams(kBlank + texts_[e] + kBlank, 0, keys[e]);
    }
  }
  if (kind != Similarity::exact) index_entries(keys);
}

// Grams of `text` that are not within its first `before` characters.
void NearestIndex::add_grams(const std::u32string& text, size_t before, std::vector<Key>& keys) const {
  const size_t q = kind_ == Similarity::edit ? 2 : 3;
  for (size_t i = before < q ? 0 : before - q + 1; i + q <= text.size(); ++i)
    keys.push_back(q == 2 ? key_of(0, text[i], text[i + 1]) : key_of(text[i], text[i + 1], text[i + 2]));
}

void NearestIndex::index_entries(const std::vector<std::vector<Key>>& keys) {
  std::vector<std::map<int32_t, double>> counts(keys.size());
  std::vector<int64_t> frequency;
  for (size_t e = 0; e < keys.size(); ++e) {
    for (const Key key : keys[e])
      ++counts[e][gram_of_.emplace(key, static_cast<int32_t>(gram_of_.size())).first->second];
    frequency.resize(gram_of_.size(), 0);
    for (const auto& [gram, n] : counts[e]) ++frequency[gram];
    most_grams_ = std::max<int64_t>(most_grams_, static_cast<int64_t>(counts[e].size()));
  }
  const bool weighted = kind_ == Similarity::cosine;
  const double N = static_cast<double>(n_entries_);
  idf_unknown_ = weighted ? 1 + std::log(1 + N) : 1;
  for (const int64_t df : frequency)
    idf_.push_back(weighted ? 1 + std::log((1 + N) / (1 + static_cast<double>(df))) : 1);
  entry_ptr_.push_back(0);
  for (const auto& entry : counts) {
    double size = 0;
    for (const auto& [gram, n] : entry) {
      const double weight = kind_ == Similarity::jaccard ? 1 : n * idf_[gram];
      ids_.push_back(gram), weights_.push_back(weight);
      size += weighted ? weight * weight : weight;
    }
    size_.push_back(weighted ? std::sqrt(size) : size);
    entry_ptr_.push_back(static_cast<int64_t>(ids_.size()));
  }
  gram_ptr_.assign(idf_.size() + 1, 0);
  for (size_t g = 0; g < idf_.size(); ++g) gram_ptr_[g + 1] = gram_ptr_[g] + frequency[g];
  postings_.resize(ids_.size());
  std::vector<int64_t> next(gram_ptr_.begin(), gram_ptr_.end() - 1);
  for (int64_t e = 0; e < n_entries_; ++e)
    for (int64_t k = entry_ptr_[e]; k < entry_ptr_[e + 1]; ++k)
      postings_[next[ids_[k]]++] = static_cast<int32_t>(e);
}

// The grams of the query from its keys; returns the sum of their shares.
double NearestIndex::count(Scratch& scratch) const {
  scratch.sorted = scratch.keys;
  std::sort(scratch.sorted.begin(), scratch.sorted.end());
  scratch.grams.clear();
  double total = 0;
  for (size_t i = 0; i < scratch.sorted.size();) {
    size_t n = 1;
    while (i + n < scratch.sorted.size() && scratch.sorted[i + n] == scratch.sorted[i]) ++n;
    const auto found = gram_of_.find(scratch.sorted[i]);
    const int32_t id = found == gram_of_.end() ? -1 : found->second;
    const double times = kind_ == Similarity::jaccard ? 1 : static_cast<double>(n);
    const double weight = times * (id < 0 ? idf_unknown_ : idf_[id]);
    scratch.grams.push_back({id, weight, kind_ == Similarity::cosine ? weight * weight : weight});
    total += scratch.grams.back().share;
    i += n;
  }
  return total;
}

// Whether no entry has grams enough: of all the query's known ones, or of as many as the largest entry has.
bool NearestIndex::hopeless(double total, double known, Scratch& scratch) const {
  const double wanted = needed_ * total / kSlack;
  if (known < wanted) return true;
  if (kind_ == Similarity::edit || static_cast<int64_t>(scratch.grams.size()) <= most_grams_) return false;
  scratch.shares.clear();
  for (const Gram& gram : scratch.grams)
    if (gram.id >= 0) scratch.shares.push_back(gram.share);
  if (static_cast<int64_t>(scratch.shares.size()) > most_grams_)
    std::nth_element(scratch.shares.begin(), scratch.shares.begin() + most_grams_, scratch.shares.end(),
                     std::greater<>());
  const size_t n = std::min(scratch.shares.size(), static_cast<size_t>(most_grams_));
  double most = 0;
  for (size_t i = 0; i < n; ++i) most += scratch.shares[i];
  return most < wanted;
}

double NearestIndex::compare(int32_t entry, double total, const Scratch& scratch) const {
  if (kind_ == Similarity::edit) {
    const std::u32string text = scratch.text.substr(1, scratch.text.size() - 2);
    const double longer = static_cast<double>(std::max(text.size(), texts_[entry].size()));
    const int64_t most = static_cast<int64_t>(std::floor((1 - threshold_) * longer * kSlack));
    const int64_t changes = distance(text, texts_[entry], most);
    return changes > most ? 0.0 : 1 - static_cast<double>(changes) / longer;
  }
  double product = 0;
  for (int64_t k = entry_ptr_[entry]; k < entry_ptr_[entry + 1]; ++k)
    product += weights_[k] * scratch.weight[ids_[k]];
  if (kind_ == Similarity::jaccard) return product / (total + size_[entry] - product);
  return product / (std::sqrt(total) * size_[entry]);
}

// The largest similarity of the query to an entry; 0 below the threshold.
double NearestIndex::best(Scratch& scratch) const {
  const double total = count(scratch);
  double known = 0, found = 0;
  for (const Gram& gram : scratch.grams) known += gram.id < 0 ? 0 : gram.share;
  if (hopeless(total, known, scratch)) return 0;
  std::erase_if(scratch.grams, [](const Gram& gram) { return gram.id < 0; });
  const auto frequency = [&](int32_t g) { return gram_ptr_[g + 1] - gram_ptr_[g]; };
  std::sort(scratch.grams.begin(), scratch.grams.end(), [&](const Gram& a, const Gram& b) {
    const int64_t left = frequency(a.id), right = frequency(b.id);
    return left < right || (left == right && a.id < b.id);
  });
  for (const Gram& gram : scratch.grams) scratch.weight[gram.id] = gram.weight;
  ++scratch.query;
  for (const Gram& gram : scratch.grams) {
    if (known * kSlack < needed_ * total) break;
    for (int64_t k = gram_ptr_[gram.id]; k < gram_ptr_[gram.id + 1]; ++k) {
      const int32_t entry = postings_[k];
      if (scratch.stamp[entry] == scratch.query) continue;
      scratch.stamp[entry] = scratch.query;
      found = std::max(found, compare(entry, total, scratch));
    }
    known -= gram.share;
  }
  for (const Gram& gram : scratch.grams) scratch.weight[gram.id] = 0;
  found = CANARY_BY(SIMILARITY, found, 0.99);
  return found * kSlack < threshold_ ? 0 : std::min(found, 1.0);
}

NearestIndex::Key NearestIndex::word_key(const std::u32string& word) const {
  const auto found = words_.find(word);
  if (found != words_.end()) return found->second;
  return std::hash<std::u32string>()(word) | Key{1}
                                                 << 63;  // unknown; that two of them are equal hardly matters
}

void NearestIndex::cells_of(const std::vector<std::u32string>& words, const int32_t* ids, int64_t at,
                            int64_t T, int64_t longest, Scratch& scratch, std::vector<Near>& out) const {
  for (int64_t s = 0; s < T; ++s) {
    scratch.keys.clear();
    scratch.text = kBlank;
    for (int64_t d = 1; d <= std::min(longest, T - s); ++d) {
      const std::u32string& word = words[ids[s + d - 1]];
      const size_t before = scratch.text.size();
      scratch.text += word, scratch.text += kBlank;
      const double length = static_cast<double>(scratch.text.size() - 2);
      double similarity = 0;
      if (kind_ == Similarity::exact) {
        if (length > longest_text_) break;
        similarity = whole_.count(scratch.text.substr(1, scratch.text.size() - 2)) ? 1.0 : 0.0;
      } else {
        if (kind_ == Similarity::edit && length * threshold_ > longest_text_ * kSlack) break;
        if (kind_ == Similarity::jaccard)
          scratch.keys.push_back(word_key(word));
        else
          add_grams(scratch.text, before, scratch.keys);
        similarity = best(scratch);
      }
      if (similarity > 0) out.push_back({(at + s + d - 1) * longest + d - 1, similarity});
    }
  }
}

std::vector<Near> NearestIndex::cells(const std::vector<std::string>& words, const std::vector<int32_t>& ids,
                                      const std::vector<int64_t>& offsets, int64_t longest, int n_threads,
                                      Watch& watch) const {
  std::vector<std::u32string> decoded;
  for (const std::string& word : words) decoded.push_back(code_points(word));
  std::vector<int64_t> cuts{0};
  const int64_t n = static_cast<int64_t>(offsets.size()) - 1;
  for (int64_t i = 0; i < n; ++i)
    if (offsets[i + 1] - offsets[cuts.back()] >= kTaskTokens || i + 1 == n) cuts.push_back(i + 1);
  std::vector<std::vector<Near>> found(cuts.size() - 1);
  const auto task = [&](size_t k, int) {
    Scratch scratch(*this);
    for (int64_t i = cuts[k]; i < cuts[k + 1]; ++i) {
      cells_of(decoded, ids.data() + offsets[i], offsets[i], offsets[i + 1] - offsets[i], longest, scratch,
               found[k]);
      watch.check();
    }
  };
  for_each_task(n_threads, found.size(), task, &watch);
  std::vector<Near> all;
  for (const auto& part : found) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace fieldcraft
