// SPDX-License-Identifier: BSD-3-Clause
// Transports that offer node memory, and no call context for the algorithms that use it.
#include <papcoll/core.hpp>
#include <papcoll/node/forwarding_context.hpp>
#include <papcoll/transport/transport.hpp>

#include <memory>
#include <string_view>
#include <vector>

// EXPECT: papcoll: this transport offers node memory and does not name the call context of
// EXPECT: papcoll: the Context of this transport lacks something that arrival-driven
// EXPECT: papcoll: this transport has a Context of its own and nothing that makes it
// ERRORS: 3

using namespace papcoll;

struct Transport {
  using policy_kind = TransportPolicyKind;
  static constexpr std::string_view name = "Transport";
  static constexpr unsigned offers = capability::node_memory;
  static constexpr bool wakes_receivers = true;
  static std::string unavailable(const TeamEnvironment&) { return ""; }
  static std::unique_ptr<Endpoint> connect(const TeamEnvironment& s) {
    return ThreadTransport::connect(s);
  }
};

struct ChunkBuffersOnly {
  std::byte* chunk_buffer(int rank, std::uint32_t chunk);
};
struct Incomplete : Transport {
  using Context = ChunkBuffersOnly;
  static std::unique_ptr<Context> make_context(const TeamEnvironment&, NodeContext&);
};

class Whole : public ForwardingContext {
 public:
  using ForwardingContext::ForwardingContext;
};
struct Unmade : Transport {
  using Context = Whole;
};
struct Right : Unmade {
  static std::unique_ptr<Context> make_context(const TeamEnvironment&, NodeContext& node) {
    return std::make_unique<Context>(node);
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
