// Threads that wait for work between calls of the core: those of one training, or of one prediction.
//
// A crew belongs to the thread that made it; while it is at hand (enter .. leave), for_each_task of that
// thread shares its tasks with it. A thread starts with the first call that has work for it. A call does
// not wait for a worker that has not begun: on a machine whose cores are busy elsewhere it costs no more than
// it would without the crew. Workers look for the next call for some ten microseconds, then sleep.
//
// A worker that has begun may be put aside by the system for some milliseconds, and the call must wait for
// it. Where calls are much shorter than that, a busy core would make two threads slower than one: after such
// a call the workers rest for a while, the longer the sooner it happens again, and the caller works alone.
// Brief calls and long ones rest apart: what a millisecond of work must not wait for is well worth it to
// fifty of them.
//
// Where all cores are busy the system wakes a worker on the core of its caller and leaves it there: the two
// would take turns on one core, and other programs have the rest of the machine. Workers keep off that core.
//
// A process that forks does not take its threads along: in the child there is no crew.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace fieldcraft {

inline void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

class Crew {
 public:
  explicit Crew(int n_threads);  // with the caller; fewer where the system does not give so many
  ~Crew();
  Crew(const Crew&) = delete;

  void enter();  // it is at hand for the calling thread until it leaves, unless that has one already
  void leave();
  // Of the calling thread, if it is not at work already; null without.
  static Crew* current();
  // Threads that the calling thread has at hand, itself included.
  static int at_hand();
  // Would a brief call be the calling thread's alone.
  static bool resting();
  // work(0) here and work(thread) on those of the workers 1 .. n_threads-1 that come before it ends; it must
  // be complete when work(0) and all that have begun are done. Meanwhile `waiting` is called now and then.
  // Neither may throw.
  enum Length { kBrief, kLong };
  template <class Work, class Waiting>
  void run(int n_threads, Length length, const Work& work, const Waiting& waiting) {
    length_ = length;
    begin(n_threads, [](const void* of, int thread) { (*static_cast<const Work*>(of))(thread); }, &work);
    work(0);
    end([](const void* of) { (*static_cast<const Waiting*>(of))(); }, &waiting);
  }

 private:
  using Job = void (*)(const void*, int);
  static constexpr int kClosed = 1 << 30;

  using Clock = std::chrono::steady_clock;

  struct Rest {
    Clock::time_point until{};
    Clock::duration length{0};  // the last time
  };

  void start(int n);  // threads, until there are n with the caller, or as many as it may have
  void make_way();
  void begin(int n_threads, Job job, const void* work);
  void end(void (*waiting)(const void*), const void* of);
  void serve(int thread);
  void wait(void (*waiting)(const void*), const void* of);
  void rest(Clock::time_point now);
  bool join();
  bool of_this_process() const;

  int most_;  // threads, with the caller
  std::vector<std::thread> threads_;
  int64_t process_;
  std::atomic<uint32_t> calls_{0};    // so far; workers sleep on it
  std::atomic<int> inside_{kClosed};  // workers in the call; may no more begin
  std::atomic<bool> over_{false};
  bool at_work_ = false;
  int n_threads_ = 0;  // of the call
  Job job_ = nullptr;
  const void* work_ = nullptr;
  Length length_ = kBrief;
  Clock::time_point began_;       // the call
  Rest rests_[2];                 // of brief calls, of long ones
  int core_ = -1;                 // that the workers keep off
  Clock::time_point made_way_{};  // when they were told
};

}  // namespace fieldcraft
