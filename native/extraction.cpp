// The three steps of an extraction: strings to ids, values of new strings, attributes.
#include "extraction.hpp"

#include <algorithm>
#include <stdexcept>

#include "parallel.hpp"

namespace fieldcraft {

struct Extractor::Scratch {
  size_t stride = 0;            // n + 2R of the current sequence
  std::vector<int32_t> values;  // [nodes, stride]
  std::vector<uint64_t> keys;   // [stride] of the current pair
  std::vector<int32_t> text;    // [n] gazetteer word ids
  std::vector<int8_t> tags;     // [n]
};

Extractor::Extractor(Plan plan)
    : plan_(std::move(plan)),
      columns_(static_cast<size_t>(plan_.n_columns)),
      values_(plan_.streams.size()),
      maps_(plan_.streams.size()),
      boundaries_(plan_.streams.size()),
      pairs_(plan_.pairs.size()),
      tables_(plan_.templates.size()) {
  for (size_t i = 0; i < plan_.streams.size(); ++i) build_boundary(i);
  widen_tables();
}

bool Extractor::derived(size_t stream) const {
  const StreamPlan& s = plan_.streams[stream];
  return s.source == Source::gazetteer || (s.source == Source::column && !s.identity);
}

size_t Extractor::node_size(size_t node) const {
  if (node >= plan_.streams.size()) return pairs_[node - plan_.streams.size()].size();
  const StreamPlan& s = plan_.streams[node];
  const size_t outside = 2 * static_cast<size_t>(plan_.reach);
  if (s.source == Source::gazetteer) return outside + 4;
  if (s.source != Source::column) return outside + 1;
  return outside + (s.identity ? columns_[static_cast<size_t>(s.column)].size() : values_[node].size());
}

void Extractor::build_boundary(size_t stream) {
  const int32_t reach = plan_.reach;
  const StreamPlan& s = plan_.streams[stream];
  std::vector<int32_t>& ids = boundaries_[stream];
  ids.assign(2 * static_cast<size_t>(reach), -1);
  for (int32_t b = 0; b < 2 * reach; ++b) {
    const int32_t distance = b % reach;  // less one
    const int32_t shared = plan_.clip > 0 ? std::min(distance, plan_.clip - 1) : distance;
    const size_t from = static_cast<size_t>(b - distance + shared);
    if (s.outside == Outside::boundary) ids[b] = static_cast<int32_t>(from);
    if (s.outside == Outside::given) ids[b] = 2 * reach + values_[stream].intern(s.given[from]);
  }
}

// ---- step 1: strings to ids

Batch Extractor::begin() const {
  Batch batch;
  batch.columns.resize(columns_.size());
  batch.fresh_maps.resize(plan_.streams.size());
  return batch;
}

// False after a growing call that an error cut short, until the next one has caught up.
bool Extractor::settled() const {
  for (size_t i = 0; i < maps_.size(); ++i)
    if (derived(i) && maps_[i].size() != columns_[static_cast<size_t>(plan_.streams[i].column)].size())
      return false;
  for (size_t k = 0; k < tables_.size(); ++k)
    if (owns_table(k) && tables_[k].size() < node_size(static_cast<size_t>(plan_.templates[k].node)))
      return false;
  return true;
}

void Extractor::read(Batch& batch, size_t column, const std::vector<std::string_view>& words, bool grow) {
  if (grow)
    read_growing(columns_[column], words, batch.columns[column]);
  else
    read_frozen(columns_[column], words, batch.columns[column]);
}

// ---- step 2: values of new strings (derive: extraction_blocks.cpp)

std::string_view Extractor::string_of(const Batch& batch, size_t stream, size_t row) const {
  const size_t c = static_cast<size_t>(plan_.streams[stream].column);
  return row < columns_[c].size() ? columns_[c].key(row)
                                  : batch.columns[c].fresh.key(row - columns_[c].size());
}

void Extractor::settle(Batch& batch, size_t stream, size_t row, const std::optional<std::string>& value,
                       bool grow) {
  if (!value) return;  // rows are born with -1
  const StreamPlan& s = plan_.streams[stream];
  int32_t id;
  if (s.source == Source::gazetteer) {
    id = s.gazetteer->vocabulary().find(*value);
  } else {
    id = grow ? values_[stream].intern(*value) : values_[stream].find(*value);
    if (id >= 0) id += 2 * plan_.reach;
  }
  batch.fresh_maps[stream][row - maps_[stream].size()] = id;
}

// ---- step 3: attributes

int32_t* Extractor::row(Scratch& scratch, size_t node) const {
  return scratch.values.data() + node * scratch.stride + plan_.reach;
}

// values[stream][p] for p inside the sequence.
void Extractor::fill_values(const Batch& batch, size_t stream, int64_t begin, int64_t n,
                            Scratch& scratch) const {
  const StreamPlan& s = plan_.streams[stream];
  int32_t* out = row(scratch, stream);
  const int32_t base = 2 * plan_.reach;
  if (s.source == Source::constant || s.source == Source::first || s.source == Source::last) {
    std::fill(out, out + n, s.source == Source::constant ? base : -1);
    if (s.source == Source::first) out[0] = base;
    if (s.source == Source::last) out[n - 1] = base;
    return;
  }
  const int32_t* ids = batch.columns[static_cast<size_t>(s.column)].ids.data() + begin;
  const int32_t known = static_cast<int32_t>(columns_[static_cast<size_t>(s.column)].size());
  if (s.identity) {
    for (int64_t t = 0; t < n; ++t) out[t] = ids[t] < known ? base + ids[t] : -1;
    return;
  }
  const int32_t* map = maps_[stream].data();
  const int32_t* fresh = batch.fresh_maps[stream].data();
  for (int64_t t = 0; t < n; ++t) out[t] = ids[t] < known ? map[ids[t]] : fresh[ids[t] - known];
  if (s.source != Source::gazetteer) return;
  scratch.text.assign(out, out + n);
  scratch.tags.resize(static_cast<size_t>(n));
  s.gazetteer->tag(scratch.text.data(), static_cast<size_t>(n), s.rule, scratch.tags.data());
  for (int64_t t = 0; t < n; ++t)
    out[t] = scratch.tags[t] == kOutside ? -1 : base + (s.positions ? scratch.tags[t] : 0);
}

void Extractor::fill_stream(const Batch& batch, size_t stream, int64_t begin, int64_t n,
                            Scratch& scratch) const {
  fill_values(batch, stream, begin, n, scratch);
  const int64_t reach = plan_.reach;
  int32_t* out = row(scratch, stream);
  const int32_t* outside = boundaries_[stream].data();
  const auto at = [&](int64_t p) {
    if (p < 0) return outside[std::min(-p, reach) - 1];
    return p < n ? out[p] : outside[reach + std::min(p - n + 1, reach) - 1];
  };
  if (plan_.streams[stream].absolute) {
    const int64_t where = *plan_.streams[stream].absolute;
    const int32_t value = at(where < 0 ? n + where : where);
    std::fill(out - reach, out + n + reach, value);
    return;
  }
  if (plan_.streams[stream].source == Source::constant) {
    std::fill(out - reach, out + n + reach, static_cast<int32_t>(2 * reach));
    return;
  }
  for (int64_t d = 1; d <= reach; ++d) {
    out[-d] = outside[d - 1];
    out[n - 1 + d] = outside[reach + d - 1];
  }
}

void Extractor::fill_streams(const Batch& batch, size_t sequence, Scratch& scratch) const {
  const int64_t begin = batch.offsets[sequence], n = batch.offsets[sequence + 1] - begin;
  scratch.stride = static_cast<size_t>(n + 2 * plan_.reach);
  scratch.values.resize((plan_.streams.size() + plan_.pairs.size()) * scratch.stride);
  for (size_t i = 0; i < plan_.streams.size(); ++i) fill_stream(batch, i, begin, n, scratch);
}

// All keys first, each touching its slot, then the lookups.
template <class Find>
void Extractor::fill_pair(size_t pair, int64_t n, Scratch& scratch, const Find& find) const {
  constexpr uint64_t kNothing = ~uint64_t{0};
  const PairPlan& p = plan_.pairs[pair];
  const int32_t* left = row(scratch, static_cast<size_t>(p.left));
  const int32_t* right = row(scratch, static_cast<size_t>(p.right)) + p.delta;
  int32_t* out = row(scratch, plan_.streams.size() + pair);
  scratch.keys.resize(scratch.stride);
  uint64_t* keys = scratch.keys.data() + plan_.reach;
  for (int64_t t = p.low; t < n + p.high; ++t) {
    const bool holds = left[t] >= 0 && right[t] >= 0;
    keys[t] = holds ? PairTable::pack(left[t], right[t]) : kNothing;
    pairs_[pair].prefetch(keys[t]);
  }
  for (int64_t t = p.low; t < n + p.high; ++t) out[t] = keys[t] == kNothing ? -1 : find(keys[t]);
}

void Extractor::widen_tables() {
  for (size_t k = 0; k < tables_.size(); ++k) {
    const size_t size = node_size(static_cast<size_t>(plan_.templates[k].node));
    if (owns_table(k) && tables_[k].size() < size)
      tables_[k].resize(std::max(size, tables_[k].size() * 3 / 2), -1);
  }
}

void Extractor::emit_growing(int64_t n, Scratch& scratch, Incidences& out) {
  for (int64_t t = 0; t < n; ++t) {
    for (size_t k = 0; k < tables_.size(); ++k) {
      const TemplatePlan& plan = plan_.templates[k];
      const int32_t value = row(scratch, static_cast<size_t>(plan.node))[t + plan.offset];
      if (value < 0 || (plan.edge && t == 0)) continue;
      Array<int32_t>& table = tables_[static_cast<size_t>(plan.table)];
      int32_t attribute = table[static_cast<size_t>(value)];
      if (attribute < 0) {
        if (n_attributes_ >= 0x7ffffffeu) throw std::length_error("more than 2^31 attributes");
        attribute = static_cast<int32_t>(n_attributes_++);
        table.set(static_cast<size_t>(value), attribute);
      }
      out.attributes.push_back(attribute);
    }
    out.token_ptr.push_back(static_cast<int64_t>(out.attributes.size()));
  }
}

Incidences Extractor::grow(const Batch& batch) {
  for (size_t i = 0; i < maps_.size(); ++i)
    maps_[i].append(batch.fresh_maps[i].begin(), batch.fresh_maps[i].end());
  Scratch scratch;
  Incidences out;
  const size_t tokens = static_cast<size_t>(batch.offsets.back());
  out.token_ptr.reserve(tokens + 1);
  out.attributes.reserve(tokens * tables_.size());
  for (size_t i = 0; i + 1 < batch.offsets.size(); ++i) {
    const int64_t n = batch.offsets[i + 1] - batch.offsets[i];
    if (n == 0) continue;
    fill_streams(batch, i, scratch);
    for (size_t p = 0; p < pairs_.size(); ++p)
      fill_pair(p, n, scratch, [&](uint64_t key) { return pairs_[p].intern(key); });
    widen_tables();
    emit_growing(n, scratch, out);
  }
  widen_tables();
  return out;
}

size_t Extractor::encode_range(const Batch& batch, size_t from, size_t to, int32_t* attributes,
                               int64_t* ends) const {
  Scratch scratch;
  struct Look {
    const int32_t *values, *table;
  };
  std::vector<Look> looks;
  int32_t* next = attributes;
  for (size_t i = from; i < to; ++i) {
    const int64_t n = batch.offsets[i + 1] - batch.offsets[i];
    if (n == 0) continue;
    fill_streams(batch, i, scratch);
    for (size_t p = 0; p < pairs_.size(); ++p)
      fill_pair(p, n, scratch, [&](uint64_t key) { return pairs_[p].find(key); });
    looks.clear();
    for (size_t k = 0; k < tables_.size(); ++k)
      looks.push_back({row(scratch, static_cast<size_t>(plan_.templates[k].node)) + plan_.templates[k].offset,
                       tables_[static_cast<size_t>(plan_.templates[k].table)].data()});
    for (int64_t t = 0; t < n; ++t) {
      for (size_t k = 0; k < looks.size(); ++k) {
        const int32_t value = looks[k].values[t];
        if (value < 0 || (t == 0 && plan_.templates[k].edge)) continue;
        const int32_t id = looks[k].table[value];
        *next = id;
        next += id >= 0;
      }
      *ends++ = next - attributes;
    }
  }
  return static_cast<size_t>(next - attributes);
}

}  // namespace fieldcraft
