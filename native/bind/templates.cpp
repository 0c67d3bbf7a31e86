// Template extraction and gazetteers: reads Python strings, asks Python for what only it can tell, then
// works without the GIL.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/unordered_map.h>

#include <string_view>
#include <unordered_map>

#include "bind/arrays.hpp"
#include "bind/strings.hpp"
#include "extraction.hpp"
#include "gazetteer.hpp"

namespace fieldcraft::bind {

void bind_gazetteers(nb::module_& m);

namespace {

template <class T>
T choose(const std::unordered_map<std::string, T>& table, const std::string& name, const char* what) {
  const auto found = table.find(name);
  require(found != table.end(), [&] { return std::string("unknown ") + what + " '" + name + "'"; });
  return found->second;
}

// ---- the plan, as features/compilation.py writes it

StreamPlan stream_from(const nb::dict& d) {
  static const std::unordered_map<std::string, Source> sources = {{"column", Source::column},
                                                                  {"gazetteer", Source::gazetteer},
                                                                  {"constant", Source::constant},
                                                                  {"first", Source::first},
                                                                  {"last", Source::last}};
  static const std::unordered_map<std::string, Outside> outsides = {
      {"boundary", Outside::boundary}, {"nothing", Outside::nothing}, {"given", Outside::given}};
  StreamPlan s;
  s.source = choose(sources, nb::cast<std::string>(d["source"]), "source");
  s.column = nb::cast<int>(d["column"]);
  s.native = true;
  for (nb::handle step : nb::cast<nb::list>(d["steps"])) {
    const auto pair = nb::cast<nb::tuple>(step);
    const WordFunction function = word_function(nb::cast<std::string>(pair[0]));
    s.native = s.native && function != nullptr;
    if (function) s.steps.push_back({function, nb::cast<int>(pair[1])});
  }
  s.identity = s.source == Source::column && nb::len(nb::cast<nb::list>(d["steps"])) == 0;
  if (s.source == Source::gazetteer) {
    s.gazetteer = nb::cast<std::shared_ptr<Gazetteer>>(d["gazetteer"]);
    s.rule = nb::cast<std::string>(d["rule"]) == "all" ? MatchRule::all : MatchRule::longest;
    s.positions = nb::cast<bool>(d["positions"]);
  }
  s.absolute = nb::cast<std::optional<int>>(d["absolute"]);
  s.outside = choose(outsides, nb::cast<std::string>(d["outside"]), "outside rule");
  s.given = nb::cast<std::vector<std::string>>(d["given"]);
  return s;
}

// The plan is our own, but a wrong one would read out of bounds: check it once.
void check_plan(const Plan& plan) {
  const int streams = static_cast<int>(plan.streams.size());
  require(plan.reach >= 0 && plan.boundary_names.size() == 2 * static_cast<size_t>(plan.reach),
          "plan: one boundary name per position outside");
  for (const StreamPlan& s : plan.streams) {
    const bool reads = s.source == Source::column || s.source == Source::gazetteer;
    require(!reads || (s.column >= 0 && s.column < plan.n_columns), "plan: a stream reads no column");
    require(s.outside != Outside::given || s.given.size() == plan.boundary_names.size(),
            "plan: one given value per position outside");
  }
  for (int p = 0; p < static_cast<int>(plan.pairs.size()); ++p) {
    const PairPlan& q = plan.pairs[static_cast<size_t>(p)];
    require(q.left >= 0 && q.left < streams + p && q.right >= 0 && q.right < streams + p,
            "plan: a pair is made of earlier nodes");
    require(q.low >= -plan.reach && q.high <= plan.reach && q.low + q.delta >= -plan.reach &&
                q.high + q.delta <= plan.reach,
            "plan: a pair leaves the reach");
  }
  for (const TemplatePlan& t : plan.templates)
    require(t.table >= 0 && t.table < static_cast<int>(plan.templates.size()) &&
                plan.templates[static_cast<size_t>(t.table)].node == t.node,
            "plan: templates that share a table read one node");
  for (const TemplatePlan& t : plan.templates)
    require(t.node >= 0 && t.node < streams + static_cast<int>(plan.pairs.size()) &&
                t.offset >= -plan.reach && t.offset <= plan.reach,
            "plan: a template reads no node");
}

Extractor* extractor_from(const nb::dict& d) {
  Plan plan;
  plan.n_columns = nb::cast<int>(d["n_columns"]);
  plan.reach = nb::cast<int>(d["reach"]);
  plan.clip = nb::cast<int>(d["clip"]);
  plan.boundary_names = nb::cast<std::vector<std::string>>(d["boundary_names"]);
  for (nb::handle s : nb::cast<nb::list>(d["streams"]))
    plan.streams.push_back(stream_from(nb::cast<nb::dict>(s)));
  for (nb::handle p : nb::cast<nb::list>(d["pairs"])) {
    const auto v = nb::cast<std::vector<int>>(p);
    require(v.size() == 5, "plan: a pair has five numbers");
    plan.pairs.push_back({v[0], v[1], v[2], v[3], v[4]});
  }
  for (nb::handle t : nb::cast<nb::list>(d["templates"])) {
    const auto v = nb::cast<std::vector<int>>(t);
    require(v.size() == 4, "plan: a template has four numbers");
    plan.templates.push_back({v[0], v[1], v[2] != 0, v[3]});
  }
  check_plan(plan);
  return new Extractor(std::move(plan));
}

// ---- Python strings

void read_words(PyObject* words, size_t sequence, const std::string& column,
                std::vector<std::string_view>& out) {
  const Py_ssize_t n = PyList_Size(words);
  out.resize(static_cast<size_t>(n));
  for (Py_ssize_t t = 0; t < n; ++t) {
    const char* object = reinterpret_cast<const char*>(PyList_GetItem(words, t));
    __builtin_prefetch(object);
    __builtin_prefetch(object + 64);
  }
  for (Py_ssize_t t = 0; t < n; ++t)
    out[static_cast<size_t>(t)] = text_of(PyList_GetItem(words, t), sequence, static_cast<size_t>(t), column);
}

[[noreturn]] void refuse_length(size_t sequence, const std::string& column, size_t length,
                                const std::string& first, int64_t expected) {
  throw std::invalid_argument("sequence " + std::to_string(sequence) + ": column '" + column + "' has " +
                              std::to_string(length) + " tokens where '" + first + "' has " +
                              std::to_string(expected) + "; columns must be of one length");
}

// columns[c][i] is the list of strings of column c in sequence i; take(c, words) gets each of them.
template <class Take>
std::vector<int64_t> read_lists(const nb::list& columns, const std::vector<std::string>& names,
                                const Take& take) {
  std::vector<int64_t> offsets{0};
  std::vector<std::string_view> words;
  const size_t n = nb::len(columns) ? nb::len(nb::cast<nb::list>(columns[0])) : 0;
  for (size_t c = 0; c < names.size(); ++c) {
    const nb::list sequences = nb::cast<nb::list>(columns[c]);
    require(nb::len(sequences) == n, "columns differ in their number of sequences");
    for (size_t i = 0; i < n; ++i) {
      PyObject* list = PyList_GetItem(sequences.ptr(), static_cast<Py_ssize_t>(i));
      if (!PyList_Check(list))
        throw std::invalid_argument("a column of a sequence must be a list of strings");
      read_words(list, i, names[c], words);
      if (c == 0) offsets.push_back(offsets.back() + static_cast<int64_t>(words.size()));
      const int64_t expected = offsets[i + 1] - offsets[i];
      if (static_cast<int64_t>(words.size()) != expected)
        refuse_length(i, names[c], words.size(), names[0], expected);
      take(c, words);
    }
  }
  return offsets;
}

// A growing read looks at everything before it changes anything, so that bad input leaves no trace.
void read_batch(Extractor& self, const nb::list& columns, const std::vector<std::string>& names, bool grow,
                Batch& batch) {
  using Words = const std::vector<std::string_view>&;
  if (grow) read_lists(columns, names, [](size_t, Words) {});
  batch.offsets =
      read_lists(columns, names, [&](size_t c, Words words) { self.read(batch, c, words, grow); });
}

void ask_python(Extractor& self, Batch& batch, const nb::callable& evaluate, bool grow) {
  for (const Pending& pending : self.derive(batch, grow)) {
    nb::list words;
    for (const size_t row : pending.rows) {
      const std::string_view word = self.string_of(batch, pending.stream, row);
      words.append(nb::str(word.data(), word.size()));
    }
    const nb::list values = nb::cast<nb::list>(evaluate(pending.stream, words));
    require(nb::len(values) == pending.rows.size(), "evaluate must answer every word");
    for (size_t i = 0; i < pending.rows.size(); ++i)
      self.settle(batch, pending.stream, pending.rows[i], nb::cast<std::optional<std::string>>(values[i]),
                  grow);
  }
}

nb::tuple encode(Extractor& self, const nb::list& columns, const std::vector<std::string>& names,
                 const nb::callable& evaluate, bool grow, int n_threads) {
  require(names.size() == static_cast<size_t>(self.plan().n_columns) && nb::len(columns) == names.size(),
          "one list per column");
  require(grow || self.settled(), "an earlier encode(grow=True) was interrupted; repeat it before encoding");
  Batch batch = self.begin();
  read_batch(self, columns, names, grow, batch);
  ask_python(self, batch, evaluate, grow);
  Incidences out;
  {
    nb::gil_scoped_release release;
    out = grow ? self.grow(batch) : self.encode(batch, n_threads);
  }
  return nb::make_tuple(give(std::move(batch.offsets)), give(std::move(out.token_ptr)),
                        give(std::move(out.attributes)));
}

// ---- state: strings of columns then streams, maps of streams, pairs, attributes, each end to end

nb::dict state(const Extractor& self) {
  std::vector<uint8_t> bytes;
  std::vector<int64_t> starts{0}, tables{0}, map_ptr{0}, pair_ptr{0};
  std::vector<int32_t> maps, pairs;
  const auto add = [&](const Interner& table) {
    for (size_t i = 0; i < table.size(); ++i) {
      const std::string_view key = table.key(i);
      bytes.insert(bytes.end(), key.begin(), key.end());
      starts.push_back(static_cast<int64_t>(bytes.size()));
    }
    tables.push_back(static_cast<int64_t>(starts.size()) - 1);
  };
  for (int c = 0; c < self.plan().n_columns; ++c) add(self.column(static_cast<size_t>(c)));
  for (size_t s = 0; s < self.plan().streams.size(); ++s) {
    add(self.values(s));
    maps.insert(maps.end(), self.map(s).begin(), self.map(s).end());
    map_ptr.push_back(static_cast<int64_t>(maps.size()));
  }
  for (size_t p = 0; p < self.plan().pairs.size(); ++p) {
    const PairTable& table = self.pair(p);
    for (size_t i = 0; i < table.size(); ++i) {
      pairs.push_back(table.left(i));
      pairs.push_back(table.right(i));
    }
    pair_ptr.push_back(static_cast<int64_t>(pairs.size() / 2));
  }
  nb::dict out;
  out["string_bytes"] = give(std::move(bytes));
  out["string_starts"] = give(std::move(starts));
  out["string_tables"] = give(std::move(tables));
  out["maps"] = give(std::move(maps));
  out["map_ptr"] = give(std::move(map_ptr));
  out["pairs"] = give(std::move(pairs));
  out["pair_ptr"] = give(std::move(pair_ptr));
  out["attribute_template"] = give(std::vector<int32_t>(self.attribute_template()));
  out["attribute_value"] = give(std::vector<int32_t>(self.attribute_value()));
  return out;
}

void restore(Extractor& self, const In1<uint8_t>& bytes, const In1<int64_t>& starts,
             const In1<int64_t>& tables, const In1<int32_t>& maps, const In1<int64_t>& map_ptr,
             const In1<int32_t>& pairs, const In1<int64_t>& pair_ptr, const In1<int32_t>& attribute_template,
             const In1<int32_t>& attribute_value) {
  const size_t columns = static_cast<size_t>(self.plan().n_columns), streams = self.plan().streams.size();
  check_offsets(starts, static_cast<int64_t>(bytes.shape(0)), "string_starts");
  check_offsets(tables, static_cast<int64_t>(starts.shape(0)) - 1, "string_tables");
  check_offsets(map_ptr, static_cast<int64_t>(maps.shape(0)), "map_ptr");
  check_offsets(pair_ptr, static_cast<int64_t>(pairs.shape(0)) / 2, "pair_ptr");
  require(tables.shape(0) == columns + streams + 1,
          "string_tables: one entry per column and stream, and one");
  require(map_ptr.shape(0) == streams + 1, "map_ptr: one entry per stream, and one");
  require(pair_ptr.shape(0) == self.plan().pairs.size() + 1, "pair_ptr: one entry per pair, and one");
  require(pairs.shape(0) % 2 == 0, "pairs: two numbers each");
  require(attribute_template.shape(0) == attribute_value.shape(0), "attribute arrays differ in length");
  for (size_t c = 0; c < columns; ++c)
    self.restore_column(c, table_from(bytes, starts, tables(c), tables(c + 1)));
  for (size_t s = 0; s < streams; ++s)
    self.restore_stream(s, table_from(bytes, starts, tables(columns + s), tables(columns + s + 1)),
                        std::vector<int32_t>(maps.data() + map_ptr(s), maps.data() + map_ptr(s + 1)));
  for (size_t p = 0; p + 1 < pair_ptr.shape(0); ++p)
    self.restore_pair(p, pairs.data() + 2 * pair_ptr(p), static_cast<size_t>(pair_ptr(p + 1) - pair_ptr(p)));
  self.restore_attributes(attribute_template.data(), attribute_value.data(), attribute_value.shape(0));
}

nb::list components(const Extractor& self, const In1<int32_t>& ids) {
  check_range(ids, 0, static_cast<int64_t>(self.n_attributes()), "ids");
  nb::list out;
  for (size_t i = 0; i < ids.shape(0); ++i) out.append(self.components(static_cast<size_t>(ids(i))));
  return out;
}

// Per attribute a bucket: its content's hash in 0 .. size-1, behind another `size` for edge templates.
nb::object buckets(const Extractor& self, const std::vector<std::string>& names, uint64_t size) {
  const auto& templates = self.plan().templates;
  require(names.size() == templates.size() && size > 0 && size < (1u << 30),
          "one name per template, a size below 2^30");
  std::vector<uint64_t> seeds;
  for (const std::string& name : names) seeds.push_back(hash_bytes(name.data(), name.size()));
  std::vector<int32_t> out(self.n_attributes());
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t k = static_cast<size_t>(self.attribute_template()[i]);
    out[i] = static_cast<int32_t>(self.content_hash(i, seeds[k]) % size + (templates[k].edge ? size : 0));
  }
  return give(std::move(out));
}

}  // namespace

void bind_templates(nb::module_& m) {
  bind_gazetteers(m);
  nb::class_<Extractor>(m, "TemplateTable")
      .def(nb::new_(&extractor_from), nb::arg("plan"))
      .def("encode", &encode, nb::arg("columns"), nb::arg("names"), nb::arg("evaluate"), nb::arg("grow"),
           nb::arg("n_threads"))
      .def_prop_ro("n_attributes", &Extractor::n_attributes)
      .def("attribute_template",
           [](const Extractor& self) { return give(std::vector<int32_t>(self.attribute_template())); })
      .def("components", &components, nb::arg("ids"))
      .def("buckets", &buckets, nb::arg("names"), nb::arg("size"))
      .def("state", &state)
      .def("restore", &restore);
  m.def(
      "word_value",
      [](const std::string& name, int argument, std::string_view word) -> std::optional<std::string> {
        const WordFunction function = word_function(name);
        require(function != nullptr && is_ascii(word), "no native function of that name for this word");
        std::string out;
        if (!function(word, argument, out)) return std::nullopt;
        return out;
      },
      nb::arg("name"), nb::arg("argument"), nb::arg("word"), "A word function on one ASCII word.");
}

}  // namespace fieldcraft::bind
