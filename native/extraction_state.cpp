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

std::vector<std::string> Extractor::components(int32_t of_template, int32_t value) const {
  std::vector<std::string> out;
  append_component(static_cast<size_t>(plan_.templates[static_cast<size_t>(of_template)].node), value, out);
  return out;
}

uint64_t Extractor::content_hash(int32_t of_template, int32_t value, uint64_t seed) const {
  uint64_t h = seed;
  for (const std::string& text : components(of_template, value))
    h = mix(h ^ hash_bytes(text.data(), text.size()), 0x9e3779b97f4a7c15ull);
  return h;
}

Extractor::Origins Extractor::origins() const {
  Origins out{std::vector<int32_t>(n_attributes_), std::vector<int32_t>(n_attributes_)};
  for (size_t k = 0; k < tables_.size(); ++k)
    for (size_t value = 0; value < tables_[k].size(); ++value)
      if (const int32_t attribute = tables_[k][value]; attribute >= 0) {
        out.of_template[static_cast<size_t>(attribute)] = static_cast<int32_t>(k);
        out.value[static_cast<size_t>(attribute)] = static_cast<int32_t>(value);
      }
  return out;
}

// ---- state; every id is checked, since the arrays may come from a file

void Extractor::restore_column(size_t i, Interner&& table) { columns_[i] = std::move(table); }

void Extractor::restore_stream(size_t i, Interner&& values, Array<int32_t>&& map) {
  const StreamPlan& s = plan_.streams[i];
  values_[i] = std::move(values);
  build_boundary(i);
  const bool gazetteer = s.source == Source::gazetteer;
  const size_t size = gazetteer ? s.gazetteer->vocabulary().size() : node_size(i);
  const size_t rows = derived(i) ? columns_[static_cast<size_t>(s.column)].size() : 0;
  if (map.size() != rows) throw std::invalid_argument("a map of values does not fit its column");
  for (const int32_t value : map)
    if (value < -1 || value >= static_cast<int32_t>(size))
      throw std::invalid_argument("a map of values leaves its range");
  maps_[i] = std::move(map);
}

void Extractor::restore_pair(size_t i, PairTable&& table) {
  const int64_t left = static_cast<int64_t>(node_size(static_cast<size_t>(plan_.pairs[i].left)));
  const int64_t right = static_cast<int64_t>(node_size(static_cast<size_t>(plan_.pairs[i].right)));
  for (size_t id = 0; id < table.size(); ++id) {
    const int32_t a = table.left(id), b = table.right(id);
    if (a < 0 || a >= left || b < 0 || b >= right)
      throw std::invalid_argument("a conjunction names a value that is not there");
  }
  pairs_[i] = std::move(table);
}

// Every attribute must stand in the tables once: origins() leaves none out.
void Extractor::restore_tables(std::vector<Array<int32_t>>&& tables) {
  constexpr size_t kMostMissing = size_t{1} << 23;  // elements; older files leave the ends of tables out
  size_t n = 0, missing = 0;
  for (size_t k = 0; k < tables.size(); ++k) {
    const size_t room = owns_table(k) ? node_size(static_cast<size_t>(plan_.templates[k].node)) : 0;
    if (tables[k].size() > room)
      throw std::invalid_argument("a table of attributes does not fit its template");
    missing += room - tables[k].size();
    for (const int32_t attribute : tables[k]) n += attribute >= 0;
  }
  if (missing > kMostMissing) throw std::invalid_argument("tables of attributes are too short");
  std::vector<uint8_t> seen(n, 0);
  for (const Array<int32_t>& table : tables)
    for (const int32_t attribute : table) {
      if (attribute < 0) continue;
      if (static_cast<size_t>(attribute) >= n || seen[static_cast<size_t>(attribute)]++ != 0)
        throw std::invalid_argument("the tables of attributes do not number them from 0 on, each once");
    }
  tables_ = std::move(tables);
  n_attributes_ = n;
  widen_tables();
}

}  // namespace fieldcraft
