// Items of lists, with Python's macros where the build has them, in place where it has not.
#pragma once

#include "bind/plain_text.hpp"

namespace fieldcraft::bind {

#ifdef Py_LIMITED_API
inline PyObject* list_item(PyObject* list, Py_ssize_t i) {
  return list_layout.known ? list_items(list)[i] : PyList_GetItem(list, i);
}
inline Py_ssize_t list_size(PyObject* list) {
  return list_layout.known ? look<Py_ssize_t>(list, ListLayout::kSize) : PyList_Size(list);
}
inline void set_new_item(PyObject* list, Py_ssize_t i, PyObject* own) {
  if (list_layout.known)
    list_items(list)[i] = own;
  else
    PyList_SetItem(list, i, own);
}
// Where the items of an exact list are; null if that is not known.
inline PyObject** items_of(PyObject* list) { return list_layout.known ? list_items(list) : nullptr; }
#else
inline PyObject* list_item(PyObject* list, Py_ssize_t i) { return PyList_GET_ITEM(list, i); }
inline Py_ssize_t list_size(PyObject* list) { return PyList_GET_SIZE(list); }
inline void set_new_item(PyObject* list, Py_ssize_t i, PyObject* own) { PyList_SET_ITEM(list, i, own); }
inline PyObject** items_of(PyObject* list) { return reinterpret_cast<PyListObject*>(list)->ob_item; }
#endif

}  // namespace fieldcraft::bind
