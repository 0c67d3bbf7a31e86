// Turns with other Python threads, in calls that keep the interpreter lock for long.
#pragma once

#include <chrono>

#include "bind/arrays.hpp"

namespace fieldcraft::bind {

// Hands the interpreter lock over from time to time. A thread that waits for it asks for it after 5 ms, and a
// request is granted as soon as the lock is free; whoever lets go earlier may have it back before another one
// wakes, and that one begins to wait anew.
class Turns {
 public:
  // Calls work(), without the lock if it is another thread's turn. Then handlers of signals run; what they
  // raise is raised here.
  template <class Work>
  void between(const Work& work) {
    if (Clock::now() - since_ < kHeld) return work();
    unlocked(work);
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    since_ = Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kHeld{8};
  Clock::time_point since_ = Clock::now();
};

}  // namespace fieldcraft::bind
