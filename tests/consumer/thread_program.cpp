// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/core.hpp>

#include <atomic>

int main() {
  std::atomic<int> right = 0;
  papcoll::ThreadTeam team{3};
  team.run([&](papcoll::ThreadTeam::Rank& comm) {
    if (papcoll::allreduce(comm, comm.rank()) == 3) ++right;
  });
  return right == 3 ? 0 : 1;
}
