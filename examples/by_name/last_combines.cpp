// SPDX-License-Identifier: BSD-3-Clause
// An arrival-driven algorithm of one's own that has a name: that of example 09. One line registers
// it for all commands, also for `papcoll simulate`, which runs it in virtual time:
//
//     papcoll_add_bench(mine last_combines.cpp)                # in a CMakeLists.txt
//
//     mine-papcoll simulate LastCombines DynamicLeader --ranks 4 --bytes 64
//     mpirun -n 4 mine-bench allreduce --algorithm LastCombines DynamicLeader --bytes 8:64k

#include "../09_write_your_own_arrival_algorithm/last_combines.hpp"

#include <papcoll/simulate/virtual_node.hpp>

namespace {
const papcoll::RegisteredArrival<papcoll::ArrivalOrder, LastCombines> registered;
}  // namespace
