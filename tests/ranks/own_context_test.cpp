// SPDX-License-Identifier: BSD-3-Clause
// A transport's own call context among processes: when it ends.

#include <papcoll/algorithms/arrival/leader_fan.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/communicator.hpp>
#include <papcoll/node/forwarding_context.hpp>
#include <papcoll/transport/memory_transports.hpp>

#include <memory>
#include <string_view>
#include <vector>

#include "catch.hpp"

using papcoll::Communicator;
using papcoll::NodeContext;
using papcoll::TeamEnvironment;

namespace {

int ended = 0;
bool saw_the_control_block = false;

class OwnContext final : public papcoll::ForwardingContext {
 public:
  explicit OwnContext(NodeContext& node) : ForwardingContext(node) {}
  OwnContext(const OwnContext&) = delete;
  OwnContext& operator=(const OwnContext&) = delete;
  ~OwnContext() {
    ++ended;
    saw_the_control_block = arrived(rank(), 0);
  }
};

struct OwnTransport : papcoll::ShmTransport {
  static constexpr std::string_view name = "OwnTransport";
  using Context = OwnContext;
  static std::unique_ptr<Context> make_context(const TeamEnvironment&, NodeContext& node) {
    return std::make_unique<Context>(node);
  }
};

}  // namespace

TEST_CASE(
    "a transport's context ends with its MPI communicator, before the memory of the node does") {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  Communicator comm{copy};
  if (comm.nodes() > 1) {
    WARN("SKIPPED: needs one node");
    MPI_Comm_free(&copy);
    return;
  }
  ended = 0;
  saw_the_control_block = false;
  std::vector<int> data(1, 1);
  papcoll::allreduce<papcoll::DynamicLeader, OwnTransport>(comm, data);
  CHECK(data.front() == comm.size());
  CHECK(ended == 0);
  MPI_Comm_free(&copy);
  CHECK(ended == 1);
  CHECK(saw_the_control_block);
}
