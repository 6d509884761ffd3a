// Every call with arguments that none of its forms takes.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: no allreduce takes these arguments: write allreduce(comm, data
// EXPECT: papcoll: no iallreduce takes these arguments: write iallreduce(comm, data
// EXPECT: papcoll: no reduce takes these arguments: write reduce(comm, data, papcoll::root{0}
// EXPECT: papcoll: no ireduce takes these arguments: write ireduce(comm, data, papcoll::root{0}
// EXPECT: papcoll: no bcast takes these arguments: write bcast(comm, data, papcoll::root{0}
// EXPECT: papcoll: no ibcast takes these arguments: write ibcast(comm, data, papcoll::root{0}
// EXPECT: papcoll: no allgather takes these arguments: write allgather(comm, in, out
// EXPECT: papcoll: no iallgather takes these arguments: write iallgather(comm, in, out
// EXPECT: papcoll: no reduce_scatter takes these arguments: write reduce_scatter(comm, in, out
// EXPECT: papcoll: no ireduce_scatter takes these arguments: write ireduce_scatter(comm, in, out
// EXPECT: papcoll: no gather takes these arguments: write gather(comm, in, out, papcoll::root{0}
// EXPECT: papcoll: no igather takes these arguments: write igather(comm, in, out, papcoll::root{0}
// EXPECT: papcoll: no scatter takes these arguments: write scatter(comm, in, out, papcoll::root{0}
// EXPECT: papcoll: no iscatter takes these arguments: write iscatter(comm, in, out, papcoll::root
// EXPECT: papcoll: no barrier takes these arguments: write barrier(comm
// EXPECT: papcoll: no ibarrier takes these arguments: write ibarrier(comm
// EXPECT: not std::vector<bool>
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
