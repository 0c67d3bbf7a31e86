// Cores of the machine that threads run on, where the system tells (Linux); elsewhere nothing happens.
#pragma once

#include <thread>
#include <vector>

namespace fieldcraft {

int this_core();  // of the calling thread; -1 where that is unknown
// From now on the threads may run on the cores of the calling thread but for `core`; as before where these
// would be fewer than the threads.
void keep_off(int core, std::vector<std::thread>& threads);

}  // namespace fieldcraft
