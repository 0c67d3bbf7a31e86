// Template extraction: reads Python strings, calls Python for values that only it can compute, then works
// without the GIL.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/unordered_map.h>

#include <string_view>
#include <unordered_map>

#include "bind/arrays.hpp"
#include "bind/column_reading.hpp"
#include "bind/strings.hpp"
#include "extraction.hpp"
#include "gazetteer.hpp"

namespace fieldcraft::bind {

void bind_gazetteers(nb::module_& m);

namespace {

template <class T>
T choose(const std::unordered_map<std::string, T>& table, const std::string& name, const char* what) {
  const auto found = table.find(name);
  require(found != table.end(), "unknown ", what, " '", name, "'");
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

// A wrong plan would read out of bounds: it is checked once.
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
      require(static_cast<int64_t>(words.size()) == expected, "sequence ", i, ": column '", names[c],
              "' has ", words.size(), " tokens where '", names[0], "' has ", expected,
              "; columns must be of one length");
      take(c, words);
    }
  }
  return offsets;
}

// False: not read, and nothing has changed.
bool read_plain(Extractor& self, const ColumnSource& source, bool grow, int n_threads, Batch& batch) {
  ColumnReading reading(self, source, n_threads);
  if (!reading.read()) return false;
  unlocked([&] { reading.join(self, batch, grow); });
  return true;
}

// A growing read looks at everything before it changes anything, so that bad input leaves no trace.
void read_batch(Extractor& self, const nb::list& columns, const std::vector<std::string>& names, bool grow,
                int n_threads, Batch& batch) {
  using Words = const std::vector<std::string_view>&;
  if (read_plain(self, ColumnSource::of_columns(columns), grow, n_threads, batch)) return;
  if (grow) read_lists(columns, names, [](size_t, Words) {});
  batch.offsets =
      read_lists(columns, names, [&](size_t c, Words words) { self.read(batch, c, words, grow); });
}

void ask_python(Extractor& self, Batch& batch, const nb::callable& evaluate, bool grow, int n_threads) {
  for (const Pending& pending : unlocked([&] { return self.derive(batch, grow, n_threads); })) {
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

Batch begin(const Extractor& self, const std::vector<std::string>& names, bool grow) {
  require(names.size() == static_cast<size_t>(self.plan().n_columns), "one name per column");
  require(grow || self.settled(), "an earlier encode(grow=True) was interrupted; repeat it before encoding");
  return self.begin();
}

nb::tuple encode_batch(Extractor& self, Batch& batch, const nb::callable& evaluate, bool grow,
                       int n_threads) {
  ask_python(self, batch, evaluate, grow, n_threads);
  Incidences out = unlocked([&] { return grow ? self.grow(batch) : self.encode(batch, n_threads); });
  return give_all(std::move(batch.offsets), std::move(out.token_ptr), std::move(out.attributes));
}

nb::tuple encode(Extractor& self, const nb::list& columns, const std::vector<std::string>& names,
                 const nb::callable& evaluate, bool grow, int n_threads) {
  require(nb::len(columns) == names.size(), "one list per column");
  Batch batch = begin(self, names, grow);
  read_batch(self, columns, names, grow, n_threads, batch);
  return encode_batch(self, batch, evaluate, grow, n_threads);
}

// The same for dicts of columns; None if anything else than Python's own dicts, lists and strings is there.
nb::object encode_dicts(Extractor& self, const nb::list& sequences, const std::vector<std::string>& names,
                        const nb::callable& evaluate, bool grow, int n_threads) {
  Batch batch = begin(self, names, grow);
  if (!read_plain(self, ColumnSource::of_dicts(sequences, names), grow, n_threads, batch)) return nb::none();
  return encode_batch(self, batch, evaluate, grow, n_threads);
}

// ---- state: strings of columns then streams, maps of streams, pairs, tables of templates, each end to end

// The slots of a table of pairs, two words each.
std::vector<uint64_t> words_of(const PairTable& table) {
  std::vector<uint64_t> out;
  for (const PairTable::Slot& slot : table.slots()) {
    out.push_back(slot.key);
    out.push_back(static_cast<uint64_t>(slot.id));
  }
  return out;
}

nb::dict state(const Extractor& self) {
  const Plan& plan = self.plan();
  Joined<uint8_t> bytes;
  Joined<uint32_t> starts, slots;
  Joined<int32_t> maps, tables;
  Joined<uint64_t> pairs, pair_slots;
  const auto add_strings = [&](const Interner& table) {
    const std::vector<uint32_t> its_slots = table.file_slots();
    bytes.add(table.arena().begin(), table.arena().end());
    starts.add(table.starts().begin(), table.starts().end());
    slots.add(its_slots.begin(), its_slots.end());
  };
  for (int c = 0; c < plan.n_columns; ++c) add_strings(self.column(static_cast<size_t>(c)));
  for (size_t s = 0; s < plan.streams.size(); ++s) {
    add_strings(self.values(s));
    maps.add(self.map(s).begin(), self.map(s).end());
  }
  for (size_t p = 0; p < plan.pairs.size(); ++p) {
    const std::vector<uint64_t> words = words_of(self.pair(p));
    pairs.add(self.pair(p).keys().begin(), self.pair(p).keys().end());
    pair_slots.add(words.begin(), words.end());
  }
  for (size_t k = 0; k < plan.templates.size(); ++k) {
    const size_t room = self.node_size(static_cast<size_t>(plan.templates[k].node));
    const Array<int32_t>& table = self.table(k);
    tables.add(table.begin(), table.begin() + std::min(room, table.size()));
  }
  nb::dict out;
  const auto put = [&](const char* name, const char* ptr_name, auto& joined) {
    out[name] = give(std::move(joined.values)), out[ptr_name] = give(std::move(joined.ptr));
  };
  put("string_bytes", "byte_ptr", bytes), put("string_starts", "start_ptr", starts);
  put("string_slots", "string_slot_ptr", slots), put("maps", "map_ptr", maps);
  put("pairs", "pair_ptr", pairs), put("pair_slots", "pair_slot_ptr", pair_slots);
  put("tables", "table_ptr", tables);
  return out;
}

// Elements ptr(i) .. ptr(i + 1) - 1 of an array that many tables share.
template <class T, class U>
Array<T> part(const In1<U>& array, const In1<int64_t>& ptr, size_t i) {
  return looking_at<T>(array, static_cast<size_t>(ptr(i)), static_cast<size_t>(ptr(i + 1)));
}

void check_ptr(const In1<int64_t>& ptr, size_t n, size_t total, const char* name) {
  require(ptr.shape(0) == n + 1, name, " has ", ptr.shape(0), " entries, expected ", n + 1);
  check_offsets(ptr, static_cast<int64_t>(total), name);
}

// The arrays stay in use: they may be parts of a mapped file.
void restore(Extractor& self, const In1<uint8_t>& bytes, const In1<uint32_t>& starts,
             const In1<uint32_t>& slots, const In1<int64_t>& byte_ptr, const In1<int64_t>& start_ptr,
             const In1<int64_t>& string_slot_ptr, const In1<int32_t>& maps, const In1<int64_t>& map_ptr,
             const In1<uint64_t>& pairs, const In1<int64_t>& pair_ptr, const In1<uint64_t>& pair_slots,
             const In1<int64_t>& pair_slot_ptr, const In1<int32_t>& tables, const In1<int64_t>& table_ptr) {
  const Plan& plan = self.plan();
  const size_t columns = static_cast<size_t>(plan.n_columns), streams = plan.streams.size();
  check_ptr(byte_ptr, columns + streams, bytes.shape(0), "byte_ptr");
  check_ptr(start_ptr, columns + streams, starts.shape(0), "start_ptr");
  check_ptr(string_slot_ptr, columns + streams, slots.shape(0), "string_slot_ptr");
  check_ptr(map_ptr, streams, maps.shape(0), "map_ptr");
  check_ptr(pair_ptr, plan.pairs.size(), pairs.shape(0), "pair_ptr");
  check_ptr(pair_slot_ptr, plan.pairs.size(), pair_slots.shape(0), "pair_slot_ptr");
  check_ptr(table_ptr, plan.templates.size(), tables.shape(0), "table_ptr");
  const auto strings = [&](size_t i) {
    return Interner::over(part<char>(bytes, byte_ptr, i), part<uint32_t>(starts, start_ptr, i),
                          part<uint32_t>(slots, string_slot_ptr, i));
  };
  for (size_t c = 0; c < columns; ++c) self.restore_column(c, strings(c));
  for (size_t s = 0; s < streams; ++s)
    self.restore_stream(s, strings(columns + s), part<int32_t>(maps, map_ptr, s));
  for (size_t p = 0; p < plan.pairs.size(); ++p) {
    require((pair_slot_ptr(p + 1) - pair_slot_ptr(p)) % 2 == 0, "pair_slots: two numbers each");
    self.restore_pair(p, PairTable::over(part<uint64_t>(pairs, pair_ptr, p),
                                         part<PairTable::Slot>(pair_slots, pair_slot_ptr, p)));
  }
  std::vector<Array<int32_t>> mine;
  for (size_t k = 0; k < plan.templates.size(); ++k) mine.push_back(part<int32_t>(tables, table_ptr, k));
  self.restore_tables(std::move(mine));
}

// The text of the attributes of a template: piece, value, piece, value … piece; values by their position.
using Form = std::pair<std::vector<std::string>, std::vector<size_t>>;

nb::list texts(const Extractor& self, const In1<int32_t>& given, const std::vector<Form>& forms) {
  const std::vector<int32_t> ids = vector_of(given);
  check_range(ids.data(), ids.size(), 0, static_cast<int64_t>(self.n_attributes()), "ids");
  require(forms.size() == self.plan().templates.size(), "one form per template");
  const Extractor::Origins origins = self.origins();
  nb::list out;
  for (const int32_t number : ids) {
    const size_t id = static_cast<size_t>(number);
    const auto& [pieces, places] = forms[static_cast<size_t>(origins.of_template[id])];
    const auto values = self.components(origins.of_template[id], origins.value[id]);
    require(pieces.size() == places.size() + 1, "one piece more than values");
    std::string text = pieces[0];
    for (size_t j = 0; j < places.size(); ++j) text += values.at(places[j]) + pieces[j + 1];
    out.append(nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace")));
  }
  return out;
}

// Per attribute a bucket: its content's hash in 0 .. size-1, behind another `size` for edge templates.
nb::object buckets(const Extractor& self, const std::vector<std::string>& names, uint64_t size) {
  const auto& templates = self.plan().templates;
  require(names.size() == templates.size() && size > 0 && size < (1u << 30),
          "one name per template, a size below 2^30");
  std::vector<uint64_t> seeds;
  for (const std::string& name : names) seeds.push_back(hash_bytes(name.data(), name.size()));
  const Extractor::Origins origins = self.origins();
  std::vector<int32_t> out(self.n_attributes());
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t k = static_cast<size_t>(origins.of_template[i]);
    const uint64_t hash = self.content_hash(origins.of_template[i], origins.value[i], seeds[k]);
    out[i] = static_cast<int32_t>(hash % size + (templates[k].edge ? size : 0));
  }
  return give(std::move(out));
}

}  // namespace

void bind_templates(nb::module_& m) {
  bind_gazetteers(m);
  nb::class_<Extractor>(m, "TemplateTable")
      .def(nb::new_(&extractor_from), "plan"_a)
      .def("encode", &encode, "columns"_a, "names"_a, "evaluate"_a, "grow"_a, "n_threads"_a)
      .def("encode_dicts", &encode_dicts, "sequences"_a, "names"_a, "evaluate"_a, "grow"_a, "n_threads"_a)
      .def_prop_ro("n_attributes", &Extractor::n_attributes)
      .def("attribute_template",
           [](const Extractor& self) { return give(std::move(self.origins().of_template)); })
      .def("texts", &texts, "ids"_a, "forms"_a)
      .def("buckets", &buckets, "names"_a, "size"_a)
      .def("state", &state)
      .def("restore", &restore);
  // Slots for conjunctions in order of their ids: what a file without them lacks.
  m.def(
      "pair_slots",
      [](In1<uint64_t> keys) {
        PairTable table;
        for (size_t i = 0; i < keys.shape(0); ++i)
          require(table.intern(keys(i)) == static_cast<int32_t>(i), "a conjunction occurs twice");
        return give(words_of(table));
      },
      "keys"_a);
  m.def(
      "word_value",
      [](const std::string& name, int argument, std::string_view word) -> std::optional<std::string> {
        const WordFunction function = word_function(name);
        require(function != nullptr && is_ascii(word), "no native function of that name for this word");
        std::string out;
        if (!function(word, argument, out)) return std::nullopt;
        return out;
      },
      "name"_a, "argument"_a, "word"_a, "A word function on one ASCII word.");
}

}  // namespace fieldcraft::bind
