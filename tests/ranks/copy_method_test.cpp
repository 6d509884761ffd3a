// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/papcoll.hpp>
#include <papcoll/shared_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "catch.hpp"
#include "own_comm.hpp"

using papcoll::Communicator;
using papcoll::CopyMethod;
using papcoll::Options;

namespace {

template <class Vector>
std::size_t wrong_sums(Communicator& comm, Vector& in, Vector& out, const std::string& name) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<std::int64_t>(i % 997) * (comm.rank() + 1);
    out[i] = -1;
  }
  papcoll::allreduce(comm, in, out, papcoll::sum, papcoll::algorithm(name));
  papcoll::allreduce(comm, in, papcoll::sum, papcoll::algorithm(name));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto total = static_cast<std::int64_t>(i % 997) * comm.size() * (comm.size() + 1) / 2;
    wrong += in[i] != total || out[i] != total;
  }
  return wrong;
}

}  // namespace

TEST_CASE("however ranks copy for each other, what they compute is the same") {
  for (const CopyMethod method : {CopyMethod::best, CopyMethod::plain, CopyMethod::string,
                                  CopyMethod::streamed, CopyMethod::probed}) {
    const OwnComm own;
    Communicator comm{own.get(), {.copy_method = method}};
    if (!comm.why_no_shared_memory().empty()) {
      WARN("SKIPPED: copies for each other need one node: " << comm.why_no_shared_memory());
      return;
    }
    CAPTURE(papcoll::name_of(method));
    for (const char* name : {"MultiLeader", "PeerSlices", "Exchange", "DynamicLeader",
                             "ArrivalOrder+Accumulator", "Ring+ShmTransport"}) {
      for (const std::size_t count : {7UL, 300UL, 5000UL, 60'001UL}) {
        CAPTURE(name, count);
        std::vector<std::int64_t> in(count);
        std::vector<std::int64_t> out(count);
        CHECK(wrong_sums(comm, in, out, name) == 0);
        const papcoll::shared_allocator<std::int64_t> arena{comm};
        papcoll::shared_vector<std::int64_t> shared_in(count, arena);
        papcoll::shared_vector<std::int64_t> shared_out(count, arena);
        CHECK(wrong_sums(comm, shared_in, shared_out, name) == 0);
      }
    }
    const std::string said = papcoll::explain(comm, papcoll::Collective::allreduce, 65536).text();
    CHECK(said.find("is copied by the method ") != std::string::npos);
    CHECK(said.find("caches") != std::string::npos);
    if (method == CopyMethod::probed) {
      CHECK(said.find("probe") != std::string::npos);
    }
  }
}
