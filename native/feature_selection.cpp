// A configuration is a key: attribute * S^2 + code, the code being the label or previous * S + label; what
// has no attribute counts as one more attribute. Each task gathers keys and drops doubles when they pile up;
// their union, sorted, does not depend on the threads.
#include "feature_selection.hpp"

#include <algorithm>

#include "parallel.hpp"

namespace fieldcraft {
namespace {

constexpr size_t kTasks = 64;
constexpr size_t kPile = size_t{1} << 20;

using Keys = std::vector<uint64_t>;

void drop_doubles(Keys& keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
}

class Gatherer {
 public:
  Gatherer(const EncodedTokens& tokens, const uint8_t* on_edge, uint64_t width)
      : tokens_(tokens), on_edge_(on_edge), width_(width) {}

  // The attributes of token t, on nodes or on edges, with each of these codes.
  void add(int64_t t, bool edge, const std::vector<uint32_t>& codes) {
    if (codes.empty()) return;
    for (int64_t i = tokens_.token_ptr[t]; i < tokens_.token_ptr[t + 1]; ++i)
      if ((on_edge_[tokens_.attributes[i]] != 0) == edge) add_attribute(tokens_.attributes[i], codes);
  }

  void add_attribute(uint64_t attribute, const std::vector<uint32_t>& codes) {
    for (const uint32_t code : codes) keys.push_back(attribute * width_ + code);
    if (keys.size() < limit_) return;
    drop_doubles(keys);
    limit_ = std::max(kPile, 2 * keys.size());
  }

  Keys keys;

 private:
  const EncodedTokens& tokens_;
  const uint8_t* on_edge_;
  uint64_t width_;
  size_t limit_ = kPile;
};

Keys gather(const Potentials& from, const EncodedTokens& tokens, int64_t n_attributes, const uint8_t* on_edge,
            bool label_pairs, double least, size_t task) {
  const int64_t S = from.S(), P = from.P();
  const bool any_edge = std::any_of(on_edge, on_edge + n_attributes, [](uint8_t e) { return e != 0; });
  Gatherer found(tokens, on_edge, static_cast<uint64_t>(S) * S);
  const auto reader = from.reader();
  SequencePass pass;
  Buffer node;
  std::vector<uint32_t> codes;
  const int64_t n = from.n_sequences(), last = n * static_cast<int64_t>(task + 1) / kTasks;
  for (int64_t i = n * static_cast<int64_t>(task) / kTasks; i < last; ++i) {
    const int64_t T = from.length(i), at = from.offsets[i];
    if (T == 0) continue;
    reader->go_to(i);
    pass.log_partition(
        from.edges(), reader->own(), T, [&](double* scores) { reader->fill(scores); }, Numerics::automatic);
    node.reserve(T * P);
    const auto sink = [&](int64_t t, const double* pairs) {
      codes.clear();
      for (int x = 0; x < S; ++x)
        for (int y = 0; y < S; ++y)
          if (pairs[x * P + y] > least) codes.push_back(x * S + y);
      if (label_pairs) found.add_attribute(n_attributes, codes);
      found.add(at + t, true, codes);
    };
    pass.marginals(1.0, node.data(), nullptr, sink, any_edge || label_pairs);
    for (int64_t t = 0; t < T; ++t) {
      codes.clear();
      for (int y = 0; y < S; ++y)
        if (node[t * P + y] > least) codes.push_back(y);
      found.add(at + t, false, codes);
    }
  }
  drop_doubles(found.keys);
  return std::move(found.keys);
}

}  // namespace

LikelyFeatures likely_features(const Potentials& from, const EncodedTokens& tokens, int64_t n_attributes,
                               const uint8_t* on_edge, bool label_pairs, double least, int n_threads) {
  std::vector<Keys> parts(kTasks);
  for_each_task(n_threads, kTasks, [&](size_t task, int) {
    parts[task] = gather(from, tokens, n_attributes, on_edge, label_pairs, least, task);
  });
  Keys all;
  for (const Keys& part : parts) all.insert(all.end(), part.begin(), part.end());
  drop_doubles(all);
  const uint64_t S = from.S(), width = S * S;
  LikelyFeatures out;
  for (const uint64_t key : all) {
    const int64_t attribute = static_cast<int64_t>(key / width);
    const uint64_t code = key % width;
    const bool edge = attribute == n_attributes || on_edge[attribute] != 0;
    out.attribute.push_back(attribute == n_attributes ? -1 : static_cast<int32_t>(attribute));
    out.previous.push_back(edge ? static_cast<int32_t>(code / S) : -1);
    out.label.push_back(static_cast<int32_t>(code % S));
  }
  return out;
}

}  // namespace fieldcraft
