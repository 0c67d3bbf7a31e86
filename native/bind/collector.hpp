// Features that users wrote in Python -> attribute ids, natively.
//
// A sequence is a list (or any iterable) of items; an item is a str, a list, tuple or set of str, or a dict
// of name -> str | bool | number | list | set | dict. {"k": "v"} is the attribute `k:v`, nesting joins with
// `:`, a number is the attribute's value, True is 1, and 0 and False leave the attribute out.
//
// A sequence is read in three phases, so that the memory behind cold strings arrives while others are worked
// on: collect pointers to the UTF-8 bytes, hash them all and fetch their table slots ahead, probe.
//
// Hazard: reading sets, subclasses and numbers of other types runs user code, which may change or free any
// argument. Before such code runs, the names collected so far are copied (own_names) and a reference to the
// object being read is taken; afterwards sizes are read again.
#pragma once

#include <cmath>
#include <stdexcept>

#include "bind/arrays.hpp"
#include "bind/lists.hpp"
#include "bind/names.hpp"
#include "prefetch.hpp"

namespace fieldcraft::bind {

#ifdef Py_LIMITED_API
inline const char* utf8(PyObject* string, Py_ssize_t* n) { return PyUnicode_AsUTF8AndSize(string, n); }
#else
inline const char* utf8(PyObject* string, Py_ssize_t* n) {
  if (!PyUnicode_IS_COMPACT_ASCII(string)) return PyUnicode_AsUTF8AndSize(string, n);
  *n = PyUnicode_GET_LENGTH(string);
  return reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(string));
}
#endif

class Collector : public Names {
 public:
  void sequence(PyObject* items, int64_t index) {
    sequence_ = index;
    token_ = -1;
    clear();
    owned_ = seen_ = 0;
    if (PyUnicode_Check(items) || PyDict_Check(items))
      fail("a sequence must be a list of items (tokens), got " + type_name(items) +
           "; wrap it in a list, or X has one level too few");
    nb::object held = nb::borrow(items);
    if (!PyList_Check(items)) {
      held = nb::steal(PySequence_List(items));
      if (!held.is_valid()) {
        PyErr_Clear();
        fail("a sequence must be a list of items (tokens), got " + type_name(items));
      }
      items = held.ptr();
      keep_.push_back(held);
    }
    for (token_ = 0; token_ < list_size(items); ++token_) {
      if (token_ + 2 < list_size(items)) prefetch_items(list_item(items, token_ + 2));
      item(nb::borrow(list_item(items, token_)).ptr());
      end_token();
    }
    finish();
  }
  void done() { keep_.clear(); }

 private:
  static std::string type_name(PyObject* object) {
    return nb::cast<std::string>(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object))).attr("__name__"));
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::invalid_argument("sequence " + std::to_string(sequence_) +
                                (token_ >= 0 ? ", token " + std::to_string(token_) : "") + ": " + what);
  }

  std::string_view text(PyObject* string) {
    Py_ssize_t n = 0;
    const char* p = utf8(string, &n);
    if (p == nullptr) {
      PyErr_Clear();
      fail(
          "a feature name is not valid Unicode (it contains a lone surrogate); decode the text with "
          "errors='replace'");
    }
    return {p, static_cast<size_t>(n)};
  }

  void item(PyObject* object) {
    if (PyList_Check(object)) return list(object);
    if (PyUnicode_Check(object)) return add(text(object), 1.0);
    if (PyDict_Check(object)) return dict(object, {});
    if (PyTuple_Check(object) || PyAnySet_Check(object)) return elements(object, {});
    fail("an item must be a str, a list or set of str, or a dict of features, got " + type_name(object) +
         (PyFloat_Check(object) || PyLong_Check(object) ? "; numbers need a name: {'size': 3.5}" : ""));
  }

  FIELDCRAFT_FETCHES static void prefetch_items(PyObject* object) {
    if (!PyList_Check(object)) return;
    const Py_ssize_t n = list_size(object);
    for (Py_ssize_t i = 0; i < n; ++i) {
      const char* string = reinterpret_cast<const char*>(list_item(object, i));
      __builtin_prefetch(string);
      __builtin_prefetch(string + 64);  // the text begins near the end of the first line
    }
  }

  void list(PyObject* object) {
    const Py_ssize_t n = list_size(object);
    const size_t before = names.size();
    names.resize(before + n);
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* name = list_item(object, i);
      if (!PyUnicode_Check(name)) not_a_name(name);
      names[before + i] = text(name);
    }
    if (!values.empty()) values.resize(names.size(), 1.0);
  }

  // Elements of a list, tuple or set: `prefix:element`, or the element alone. Sets have no order that two
  // runs share, so theirs are sorted.
  void elements(PyObject* object, const std::string& prefix) {
    nb::object held = nb::borrow(object);
    if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object)) {
      own_names();
      const bool unordered = PyAnySet_Check(object);
      held = nb::steal(PySequence_List(object));
      if (!held.is_valid()) nb::raise_python_error();
      for (nb::handle element : held)
        if (!PyUnicode_Check(element.ptr())) not_a_name(element.ptr());
      if (unordered && PyList_Sort(held.ptr()) != 0) nb::raise_python_error();
      keep_.push_back(held);
    }
    for (nb::handle element : held) {
      if (!PyUnicode_Check(element.ptr())) not_a_name(element.ptr());
      if (prefix.empty())
        add(text(element.ptr()), 1.0);
      else
        add_joined(1.0, prefix, text(element.ptr()));
    }
  }

  [[noreturn]] void not_a_name(PyObject* object) const {
    const bool deeper = PyList_Check(object) || PyDict_Check(object);
    fail("a list of features must contain str, got " + type_name(object) +
         (deeper ? "; X has one level too many" : "; use str(value), or a dict for numbers"));
  }

  void dict(PyObject* object, const std::string& prefix, int depth = 0) {
    if (depth > kDeepest)
      fail("feature dicts are nested more than " + std::to_string(kDeepest) +
           " deep; flatten them (does one contain itself?)");
    const nb::object held = nb::borrow(object);
    const Py_ssize_t size = PyDict_Size(object);
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(object, &position, &key, &value)) {
      if (!PyUnicode_Check(key))
        fail("a feature name must be a str, got " + type_name(key) + "; use str(name)");
      entry(text(key), value, prefix, depth);
      if (PyDict_Size(object) != size) fail("a dict of features changed its size while it was read");
    }
  }

  void entry(std::string_view name, PyObject* value, const std::string& prefix, int depth) {
    if (value == Py_True || value == Py_False) return number(name, value == Py_True ? 1.0 : 0.0, prefix);
    if (PyUnicode_Check(value)) return add_joined(1.0, prefix, name, ":", text(value));
    if (PyFloat_Check(value) || PyLong_CheckExact(value)) return number(name, as_double(value, name), prefix);
    const std::string longer = prefix + std::string(name) + ":";
    if (PyDict_Check(value)) return dict(value, longer, depth + 1);
    if (PyList_Check(value) || PyTuple_Check(value) || PyAnySet_Check(value)) return elements(value, longer);
    if (value != Py_None && PyNumber_Check(value)) return foreign_number(prefix + std::string(name), value);
    fail("feature '" + std::string(name) + "' has a value of type " + type_name(value) +
         "; allowed are str, bool, int, float, and lists, sets or dicts of them");
  }

  void foreign_number(const std::string& name, PyObject* value) {
    own_names();
    const nb::object held = nb::borrow(value);
    number({}, as_double(value, name), name);
  }

  double as_double(PyObject* value, std::string_view name) {
    const double x = PyFloat_AsDouble(value);
    if (PyErr_Occurred()) {
      PyErr_Clear();
      fail("feature '" + std::string(name) +
           "' has a value that is not one number; flatten it or give it as str");
    }
    return x;
  }

  void number(std::string_view name, double value, const std::string& prefix) {
    if (!std::isfinite(value))
      fail("feature '" + prefix + std::string(name) + "' has the value " + std::to_string(value) +
           "; values must be finite: drop the feature or give it a number");
    if (value == 0) return;
    if (prefix.empty())
      add(name, value);
    else
      add_joined(value, prefix, name);
  }

  void own_names() {
    const size_t joined = joined_at_.size();
    for (; owned_ < names.size(); ++owned_) {
      if (seen_ < joined && joined_at_[seen_].first == owned_) {
        ++seen_;
        continue;
      }
      own(owned_);
    }
    seen_ = joined_at_.size();
  }

  static constexpr int kDeepest = 50;  // dicts in dicts
  int64_t sequence_ = 0, token_ = -1;
  size_t owned_ = 0, seen_ = 0;  // names before owned_ are all joined, as joined_at_ records before seen_
  std::vector<nb::object> keep_;
};

}  // namespace fieldcraft::bind
