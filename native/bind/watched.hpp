// Calls of the core that Ctrl-C can end.
#pragma once

#include <functional>

#include "bind/arrays.hpp"
#include "interruption.hpp"

namespace fieldcraft::bind {

// Python runs handlers of signals in this thread alone; calls from others need not ask. Set when the module
// is made: to look it up in the middle of a call could take turns with another thread.
inline unsigned long main_thread = 0;

inline void find_main_thread() {
  main_thread =
      nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
}

// Calls work(watch) without Python's lock. Now and then the lock is taken and Python runs the handlers of the
// signals that came; an exception of theirs, such as KeyboardInterrupt, ends the work and is raised.
template <class Work>
auto watched(const Work& work) {
  const auto signalled = [] {
    const nb::gil_scoped_acquire locked;
    return PyErr_CheckSignals() != 0;
  };
  const bool asks = PyThread_get_thread_ident() == main_thread;
  Watch watch(asks ? std::function<bool()>(signalled) : nullptr);
  try {
    return unlocked([&] { return work(watch); });
  } catch (const Interrupted&) {
    throw nb::python_error();
  }
}

}  // namespace fieldcraft::bind
