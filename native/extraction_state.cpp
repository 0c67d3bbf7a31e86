// The tables of an extraction as texts, and rebuilt from the arrays of a model file.
#include <stdexcept>

#include "extraction.hpp"

namespace fieldcraft {

// ---- texts

void Extractor::append_component(size_t node, int32_t value, std::vector<std::string>& out) const {
  if (node >= plan_.streams.size()) {
    const size_t p = node - plan_.streams.size();
    append_component(static_cast<size_t>(plan_.pairs[p].left), pairs_[p].left(static_cast<size_t>(value)),
                     out);
    append_component(static_cast<size_t>(plan_.pairs[p].right), pairs_[p].right(static_cast<size_t>(value)),
                     out);
    return;
  }
  const StreamPlan& s = plan_.streams[node];
  const int32_t inside = value - 2 * plan_.reach;
  if (inside < 0)
    out.push_back(plan_.boundary_names[static_cast<size_t>(value)]);
  else if (s.source == Source::gazetteer)
    out.push_back(s.positions ? std::string(1, "BILU"[inside]) : std::string());
  else if (s.source != Source::column)
    out.emplace_back();
  else
    out.emplace_back((s.identity ? columns_[static_cast<size_t>(s.column)] : values_[node])
                         .key(static_cast<size_t>(inside)));
}

std::vector<std::string> Extractor::components(size_t attribute) const {
  std::vector<std::string> out;
  const size_t k = static_cast<size_t>(attribute_template_[attribute]);
  append_component(static_cast<size_t>(plan_.templates[k].node), attribute_value_[attribute], out);
  return out;
}

uint64_t Extractor::content_hash(size_t attribute, uint64_t seed) const {
  uint64_t h = seed;
  for (const std::string& text : components(attribute))
    h = mix(h ^ hash_bytes(text.data(), text.size()), 0x9e3779b97f4a7c15ull);
  return h;
}

// ---- state; every id is checked, since the arrays may come from a file

void Extractor::restore_column(size_t i, Interner&& table) { columns_[i] = std::move(table); }

void Extractor::restore_stream(size_t i, Interner&& values, std::vector<int32_t>&& map) {
  const StreamPlan& s = plan_.streams[i];
  values_[i] = std::move(values);
  build_boundaries();
  const bool gazetteer = s.source == Source::gazetteer;
  const size_t size = gazetteer ? s.gazetteer->vocabulary().size() : node_size(i);
  const size_t rows = derived(i) ? columns_[static_cast<size_t>(s.column)].size() : 0;
  if (map.size() != rows) throw std::invalid_argument("a map of values does not fit its column");
  for (const int32_t value : map)
    if (value < -1 || value >= static_cast<int32_t>(size))
      throw std::invalid_argument("a map of values leaves its range");
  maps_[i] = std::move(map);
}

void Extractor::restore_pair(size_t i, const int32_t* keys, size_t n) {
  const int64_t left = static_cast<int64_t>(node_size(static_cast<size_t>(plan_.pairs[i].left)));
  const int64_t right = static_cast<int64_t>(node_size(static_cast<size_t>(plan_.pairs[i].right)));
  for (size_t id = 0; id < n; ++id) {
    const int32_t a = keys[2 * id], b = keys[2 * id + 1];
    if (a < 0 || a >= left || b < 0 || b >= right)
      throw std::invalid_argument("a conjunction names a value that is not there");
    if (pairs_[i].intern(PairTable::pack(a, b)) != static_cast<int32_t>(id))
      throw std::invalid_argument("a conjunction occurs twice");
  }
}

void Extractor::restore_attributes(const int32_t* templates, const int32_t* values, size_t n) {
  widen_tables();
  for (size_t id = 0; id < n; ++id) {
    const int32_t k = templates[id], value = values[id];
    if (k < 0 || k >= static_cast<int32_t>(tables_.size()) ||
        plan_.templates[static_cast<size_t>(k)].table != k)
      throw std::invalid_argument("an attribute names a template that is not there");
    const size_t size = node_size(static_cast<size_t>(plan_.templates[static_cast<size_t>(k)].node));
    if (value < 0 || value >= static_cast<int64_t>(size))
      throw std::invalid_argument("an attribute names a value that is not there");
    int32_t& entry = tables_[static_cast<size_t>(k)][static_cast<size_t>(value)];
    if (entry >= 0) throw std::invalid_argument("an attribute occurs twice");
    entry = static_cast<int32_t>(id);
  }
  attribute_template_.assign(templates, templates + n);
  attribute_value_.assign(values, values + n);
}

}  // namespace fieldcraft
