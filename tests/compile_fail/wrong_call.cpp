// SPDX-License-Identifier: BSD-3-Clause
// Every call with arguments that none of its forms takes.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: write allreduce(comm, data) or allreduce(comm, in, out)
// EXPECT: papcoll: write reduce(comm, data or in, out, papcoll::root{0})
// EXPECT: papcoll: write bcast(comm, data, papcoll::root{0} [, algorithm])
// EXPECT: papcoll: write allgather(comm, in, out) or allgather(comm, data)
// EXPECT: papcoll: write reduce_scatter(comm, in, out [, counts{n}])
// EXPECT: papcoll: write gather(comm, data or in, out, papcoll::root{0})
// EXPECT: papcoll: write scatter(comm, data or in, out, papcoll::root{0})
// EXPECT: papcoll: write barrier(comm [, algorithm])
// EXPECT: Mistake::the_first_argument_is_a_Communicator_or_a_ThreadTeam_Rank_or_an_MPI_Comm
// EXPECT: Mistake::a_root_goes_right_after_the_buffers_as_in_papcoll_root_0
// EXPECT: Mistake::an_algorithm_is_no_text_so_include_algorithm_hpp_and_write_papcoll_algorithm
// ERRORS: 16

void calls(papcoll::ThreadTeam::Rank& comm, std::vector<int>& in, std::vector<int>& out) {
#ifdef PAPCOLL_TEST_CONTROL
  const papcoll::root root{0};
  const papcoll::Algorithm algorithm;
  auto& team = comm;
#else
  const int root = 0;
  const char* const algorithm = "Ring";
  auto& team = in;
#endif
  papcoll::allreduce(team, in);
  papcoll::Request request = papcoll::iallreduce(comm, in, papcoll::sum, algorithm);
  papcoll::reduce(comm, in, root);
  papcoll::ireduce(comm, in.data(), out.data(), 1, root, papcoll::max).wait();
  papcoll::bcast(comm, in, root);
  papcoll::ibcast(comm, in, root).wait();
  papcoll::allgather(comm, in, out, algorithm);
  papcoll::iallgather(comm, in.data(), 1, algorithm).wait();
  papcoll::reduce_scatter(comm, in, out, papcoll::sum, algorithm);
  papcoll::ireduce_scatter(team, in.data(), 1).wait();
  papcoll::gather(comm, in, out, root);
  papcoll::igather(comm, in, out, root).wait();
  papcoll::scatter(comm, in, out, root, algorithm);
  papcoll::iscatter(comm, in, root).wait();
  papcoll::barrier(comm, algorithm);
  papcoll::ibarrier(comm, algorithm).wait();
}
