// Transports that offer node memory, and no site for the algorithms that use it.
#include <papcoll/core.hpp>
#include <papcoll/node/forwarding_site.hpp>
#include <papcoll/transport/transport.hpp>

#include <memory>
#include <string_view>
#include <vector>

// EXPECT: papcoll: this transport offers node memory and does not name the site of
// EXPECT: papcoll: the Site of this transport lacks something that arrival-driven
// EXPECT: papcoll: this transport has a Site of its own and nothing that makes it
// ERRORS: 3

using namespace papcoll;

struct Transport {
  using policy_kind = TransportPolicyKind;
  static constexpr std::string_view name = "Transport";
  static constexpr unsigned offers = capability::node_memory;
  static constexpr bool rings = true;
  static std::string unavailable(const TeamEnvironment&) { return ""; }
  static std::unique_ptr<Endpoint> connect(const TeamEnvironment& s) {
    return ThreadTransport::connect(s);
  }
};

struct ChunkBuffersOnly {
  std::byte* chunk_buffer(int rank, std::uint32_t chunk);
};
struct Incomplete : Transport {
  using Site = ChunkBuffersOnly;
  static std::unique_ptr<Site> make_site(const TeamEnvironment&, NodeSite&);
};

class Whole : public ForwardingSite {
 public:
  using ForwardingSite::ForwardingSite;
};
struct Unmade : Transport {
  using Site = Whole;
};
struct Right : Unmade {
  static std::unique_ptr<Site> make_site(const TeamEnvironment&, NodeSite& node) {
    return std::make_unique<Site>(node);
  }
};

void call(ThreadTeam::Rank& comm, std::vector<float>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  allreduce<DynamicLeader, Right>(comm, data);
#else
  allreduce<DynamicLeader, Transport>(comm, data);
  allreduce<Exchange, Incomplete>(comm, data);
  allreduce<MultiLeader, Unmade>(comm, data);
#endif
}
