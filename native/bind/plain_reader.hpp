// The features of a sequence that consists of Python's own objects alone, read on any thread
// (plain_text.hpp).
//
// It reads what Collector reads, with the same result, and gives up at anything else: subclasses, sets,
// numbers of other types and whatever is an error. Then the calling thread reads the sequence with a
// Collector.
#pragma once

#include <cmath>

#include "apart.hpp"
#include "bind/collector.hpp"
#include "bind/names.hpp"
#include "bind/plain_text.hpp"
#include "bind/strings_ahead.hpp"
#include "canary.hpp"
#include "prefetch.hpp"

namespace fieldcraft::bind {

class alignas(kApart) PlainReader : public Names {
 public:
  PlainReader() { in_memory = true; }

  StringsAhead ahead;  // of the sequences that are read

  // False: not read, and what this contains means nothing.
  bool sequence(PyObject* items) {
    clear();
    prefix_.clear();
    const bool list = is_exact(items, PyList_Type);
    if (!list && !is_exact(items, PyTuple_Type)) return false;
    const Py_ssize_t n = list ? list_size(items) : PyTuple_Size(items);
    const auto at = [&](Py_ssize_t t) { return list ? list_item(items, t) : PyTuple_GetItem(items, t); };
    for (Py_ssize_t t = 0; t < n; ++t) {
      ahead.read_token();
      if (!item(at(t))) return false;
      end_token();
    }
    finish();
    return true;
  }

  // The same for a list of strings that are names of nothing, with their hashes: the words of a column.
  bool strings(PyObject* words) {
    clear();
    if (!is_exact(words, PyList_Type) || !list(words)) return false;
    finish();
    find_hashes();
    return true;
  }

  FIELDCRAFT_FETCHES static void prefetch_items(PyObject* object) {
    if (!is_exact(object, PyList_Type)) return;
    const Py_ssize_t n = list_size(object);
    for (Py_ssize_t i = 0; i < n; ++i) {
      const char* string = reinterpret_cast<const char*>(list_item(object, i));
      __builtin_prefetch(string);
      __builtin_prefetch(string + 64);  // the text begins near the end of the first line
    }
  }

 private:
  bool item(PyObject* object) {
    if (is_exact(object, PyList_Type) || is_exact(object, PyTuple_Type)) return elements(object);
    if (is_exact(object, PyUnicode_Type)) return name(object);
    return is_exact(object, PyDict_Type) && dict(object, 0);
  }

  // A name behind the prefix.
  bool name(PyObject* object) {
    std::string_view text;
    const Text kind = plain_text(object, text, value_memory_);
    if (kind == Text::in_place && prefix_.empty())
      add(text, 1.0);
    else if (kind != Text::foreign)
      add_joined(1.0, prefix_, text);
    return kind != Text::foreign;
  }

  bool elements(PyObject* object) {
    if (is_exact(object, PyList_Type)) return prefix_.empty() ? list(object) : behind_prefix(object);
    const Py_ssize_t n = is_exact(object, PyTuple_Type) ? PyTuple_Size(object) : -1;
    for (Py_ssize_t i = 0; i < n; ++i)
      if (!name(PyTuple_GetItem(object, i))) return false;
    return n >= 0;
  }

  bool behind_prefix(PyObject* object) {
    const Py_ssize_t n = list_size(object);
    for (Py_ssize_t i = 0; i < n; ++i)
      if (!name(list_item(object, i))) return false;
    return true;
  }

  // The form in which most features come.
  bool list(PyObject* object) {
    const Py_ssize_t n = list_size(object);
    const size_t before = names.size();
    names.resize(before + static_cast<size_t>(n));
    std::string_view* out = names.data() + before;
    for (Py_ssize_t i = 0; i < n; ++i) {
      const Text kind = plain_text(list_item(object, i), out[i], value_memory_);
      if (kind == Text::foreign) return false;
      if (kind == Text::elsewhere) own(before + static_cast<size_t>(i));
    }
    if (!values.empty()) values.resize(names.size(), 1.0);
    return true;
  }

  bool dict(PyObject* object, int depth) {
    if (depth > kDeepest) return false;
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(object, &position, &key, &value)) {
      std::string_view text;
      const Text kind = plain_text(key, text, key_memory_);
      if (kind == Text::foreign || !entry(text, kind, value, depth)) return false;
    }
    return true;
  }

  bool entry(std::string_view key, Text kind, PyObject* value, int depth) {
    if (value == Py_True || value == Py_False) return number(key, kind, value == Py_True ? 1.0 : 0.0);
    if (is_exact(value, PyFloat_Type)) return number(key, kind, PyFloat_AsDouble(value));
    if (is_exact(value, PyLong_Type)) return whole_number(key, kind, value);
    const size_t before = prefix_.size();
    prefix_.append(key).append(":");
    const bool read = is_exact(value, PyUnicode_Type) ? name(value)
                      : is_exact(value, PyDict_Type)  ? dict(value, depth + 1)
                                                      : elements(value);
    prefix_.resize(before);
    return read;
  }

  bool whole_number(std::string_view key, Text kind, PyObject* value) {
    constexpr long long kExact = 1ll << 53;  // as a double
    int overflow = 0;
    const long long number_ = PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow == 0 && number_ >= -kExact && number_ <= kExact &&
           number(key, kind, static_cast<double>(number_));
  }

  bool number(std::string_view key, Text kind, double value) {
    if (value == 0.0 || !std::isfinite(value)) return value == 0.0;
    value = CANARY_ELSEWHERE(THREADS, value);
    if (kind == Text::in_place && prefix_.empty())
      add(key, value);
    else
      add_joined(value, prefix_, key);
    return true;
  }

  static constexpr int kDeepest = 50;      // dicts in dicts
  std::string prefix_;                     // of the dicts around
  std::string key_memory_, value_memory_;  // text that Python has no UTF-8 of
};

}  // namespace fieldcraft::bind
