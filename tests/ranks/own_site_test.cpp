// A transport's own site among processes: when it ends.

#include <papcoll/algorithms/arrival/leader_fan.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/communicator.hpp>
#include <papcoll/node/forwarding_site.hpp>
#include <papcoll/transport/memory_transports.hpp>

#include <memory>
#include <string_view>
#include <vector>

#include "catch.hpp"

using papcoll::Communicator;
using papcoll::NodeSite;
using papcoll::TeamEnvironment;

namespace {

int ended = 0;
bool saw_the_control_block = false;

class OwnSite final : public papcoll::ForwardingSite {
 public:
  explicit OwnSite(NodeSite& node) : ForwardingSite(node) {}
  OwnSite(const OwnSite&) = delete;
  OwnSite& operator=(const OwnSite&) = delete;
  ~OwnSite() {
    ++ended;
    saw_the_control_block = arrived(rank(), 0);
  }
};

struct OwnTransport : papcoll::ShmTransport {
  static constexpr std::string_view name = "OwnTransport";
  using Site = OwnSite;
  static std::unique_ptr<Site> make_site(const TeamEnvironment&, NodeSite& node) {
    return std::make_unique<Site>(node);
  }
};

}  // namespace

TEST_CASE("a transport's site ends with its MPI communicator, before the memory of the node does") {
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
