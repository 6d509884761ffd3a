// SPDX-License-Identifier: BSD-3-Clause
// Every collective, with and without policies, in a unit whose shared parts are compiled elsewhere.

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/papcoll.hpp>

#include <cstddef>
#include <vector>

int collectives_that_fail(papcoll::Communicator& comm) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const int sum = comm.size() * (comm.size() - 1) / 2;
  const std::vector<int> one(1, comm.rank());
  std::vector<int> result(1);
  std::vector<int> all(ranks);
  int failed = 0;

  papcoll::allreduce(comm, one, result);
  failed += result[0] != sum;
  papcoll::allreduce<papcoll::Ring, papcoll::MpiTransport>(comm, one, result);
  failed += result[0] != sum;
  papcoll::allreduce(comm, one, result, papcoll::sum, papcoll::algorithm("KNomial:3"));
  failed += result[0] != sum;
  papcoll::reduce(comm, one, result, papcoll::root{0});
  failed += result[0] != sum;
  if (comm.rank() != 0) result[0] = -1;
  papcoll::bcast<papcoll::ShmTransport>(comm, result, papcoll::root{0});
  failed += result[0] != sum;
  papcoll::allgather(comm, one, all);
  failed += all.back() != comm.size() - 1;
  papcoll::reduce_scatter(comm, all, result);
  failed += result[0] != comm.rank() * comm.size();
  papcoll::gather(comm, one, all, papcoll::root{0});
  papcoll::scatter(comm, all, result, papcoll::root{0});
  failed += result[0] != comm.rank();
  papcoll::Request request = papcoll::iallreduce(comm, result);
  while (!request.test()) continue;
  failed += result[0] != sum;
  papcoll::barrier(comm);
  return failed;
}
