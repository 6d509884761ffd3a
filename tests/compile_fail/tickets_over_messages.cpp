// SPDX-License-Identifier: BSD-3-Clause
// ArrivalOrder over transports whose ranks share no memory.
#include <papcoll/core.hpp>
#include <papcoll/hierarchical.hpp>
#include <papcoll/transport/transport.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

// EXPECT: papcoll: this schedule reads its peers' memory, and this transport only passes messages
// EXPECT: unmet::node_memory<
// EXPECT: papcoll: this schedule keeps only weaker contracts, and the call asks for
// EXPECT: papcoll: here this schedule goes by the order in which ranks arrive that share no memory
// EXPECT: papcoll: this algorithm moves only while its rank waits in the call
// EXPECT: papcoll: this schedule combines contributions out of rank order
// EXPECT: papcoll: this schedule does not serve this collective
// EXPECT: papcoll: ArrivalOrder over messages is for whole communicators
// ERRORS: 7

using namespace papcoll;

/// As RmaTransport, without MPI.
struct Tickets {
  using policy_kind = TransportPolicyKind;
  static constexpr std::string_view name = "Tickets";
  static constexpr unsigned offers = capability::remote_tickets;
  static constexpr bool wakes_receivers = false;
  static std::string unavailable(const TeamEnvironment&);
  static std::unique_ptr<Endpoint> connect(const TeamEnvironment&);
  static std::unique_ptr<RemoteAtomics> open_atomics(const TeamEnvironment&, std::size_t,
                                                     RemoteTickets);
};

/// As MpiTransport.
struct Messages : Tickets {
  static constexpr unsigned offers = 0;
};

void call(ThreadTeam::Rank& comm, std::vector<double>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  allreduce<ArrivalOrder, Chain, Tickets>(comm, data);
  reduce<Tickets, Chain, ArrivalOrder>(comm, data, root{0});
  allreduce<Ring, Tickets>(comm, data);
  reduce<PredictedOrder<>, Chain, Tickets>(comm, data, root{0});
  allreduce<Hierarchical<DynamicLeader, Policies<Ring, Tickets>>>(comm, data);
#else
  allreduce<ArrivalOrder, SplitTail, Tickets>(comm, data);
  allreduce<ArrivalOrder, Chain, Tickets, Reproducible>(comm, data);
  allreduce<ArrivalOrder, Chain, Messages>(comm, data);
  iallreduce<ArrivalOrder, Chain, Tickets>(comm, data).wait();
  allreduce<ArrivalOrder, Chain, Tickets>(comm, data, [](double a, double b) { return a - b; });
  bcast<ArrivalOrder, Chain, Tickets>(comm, data, root{0});
  allreduce<Hierarchical<DynamicLeader, Policies<ArrivalOrder, Chain, Tickets>>>(comm, data);
#endif
}
