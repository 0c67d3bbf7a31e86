#include "cores.hpp"

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

namespace fieldcraft {

#ifdef __linux__

int this_core() { return sched_getcpu(); }

// What the system refuses, as sandboxes do, is only slower.
void keep_off(int core, std::vector<std::thread>& threads) {
  cpu_set_t cores;
  if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof cores, &cores) != 0) return;
  CPU_CLR(core, &cores);
  if (CPU_COUNT(&cores) < static_cast<int>(threads.size())) return;
  for (std::thread& thread : threads) pthread_setaffinity_np(thread.native_handle(), sizeof cores, &cores);
}

#else

int this_core() { return -1; }
void keep_off(int, std::vector<std::thread>&) {}

#endif

}  // namespace fieldcraft
