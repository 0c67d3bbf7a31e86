// Whether a call of the core shall end before its work is done: the user pressed Ctrl-C.
//
// A call that may take long has one Watch. Whoever works for the call looks at it now and then (check); the
// thread that made it asks the outside world at most once per kPeriod, the others see what it learnt. The
// core does not know whom it asks: bind/watched.hpp asks Python.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>

namespace fieldcraft {

struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

class Watch {
 public:
  static constexpr std::chrono::milliseconds kPeriod{200};

  // `ask` tells whether to end; only the thread that makes the watch calls it. Without one no call ends
  // early.
  explicit Watch(std::function<bool()> ask)
      : ask_(std::move(ask)), owner_(std::this_thread::get_id()), asked_(Clock::now()) {}

  // Throws Interrupted if the call shall end.
  void check() {
    if (!ask_) return;
    if (std::this_thread::get_id() == owner_ && !ended_.load(std::memory_order_relaxed)) ask_in_time();
    if (ended_.load(std::memory_order_relaxed)) throw Interrupted();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void ask_in_time() {
    const Clock::time_point now = Clock::now();
    if (now - asked_ < kPeriod) return;
    asked_ = now;
    if (ask_()) ended_ = true;
  }

  const std::function<bool()> ask_;
  const std::thread::id owner_;
  Clock::time_point asked_;
  std::atomic<bool> ended_{false};
};

// Counts the work done since the last look, so that looking costs nothing beside it.
class Breath {
 public:
  static constexpr int64_t kWork = 1 << 16;  // multiplications: far below a millisecond

  explicit Breath(Watch* watch = nullptr) : watch_(watch) {}

  bool watched() const { return watch_ != nullptr; }
  void after(int64_t work) {
    if (watch_ == nullptr || (done_ += work) < kWork) return;
    done_ = 0;
    watch_->check();
  }

 private:
  Watch* watch_;
  int64_t done_ = 0;
};

}  // namespace fieldcraft
