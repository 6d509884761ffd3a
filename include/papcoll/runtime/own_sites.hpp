#pragma once

#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/call_words.hpp>
#include <papcoll/runtime/call_counter.hpp>
#include <papcoll/runtime/call_scope.hpp>
#include <papcoll/runtime/errors/failures.hpp>
#include <papcoll/runtime/in_flight.hpp>
#include <papcoll/runtime/node_calls.hpp>
#include <papcoll/runtime/parts.hpp>
#include <papcoll/runtime/team_context.hpp>
#include <papcoll/transport/transport.hpp>

#include <cstdint>
#include <exception>

namespace papcoll::inline PAPCOLL_ABI {

/// What a call of an arrival-driven algorithm runs on.
struct SiteOfCall {
  void* site;                 ///< of the kind that the algorithm is compiled for
  std::uint32_t compared_by;  ///< 16 bits that stand for the algorithm on that site
};

/// A rank's sites, in one team, of transports that bring a type of their own.
class OwnSites final : public TeamPart {
 public:
  static constexpr PartKind kind = PartKind::own_sites;

  OwnSites(TeamContext& basis, NodeCallTracker& node, InFlight& in_flight, TeamFailures& failures)
      : basis_(basis), node_(node), in_flight_(in_flight), failures_(failures) {}

  /// The site of a transport for the next call; all ranks make theirs at the first of them.
  [[gnu::noinline]] SiteOfCall of(const TransportTable& t, const ArrivalAlgorithm& algorithm,
                                  const Call& call) {
    OwnSite& own = find(t);
    if (own.site == nullptr) make(own, call);
    return {own.site.get(), short_id(own.number + algorithm.id)};
  }

  void close(bool /*broken*/) noexcept override { sites_.clear(); }

 private:
  struct OwnSite {
    const TransportTable* transport;
    std::uint32_t number;       ///< of the transport's name; the lowest 9 bits are 0
    detail::Shared<void> site;  ///< null until this rank has made its own
  };

  static constexpr std::uint32_t no_algorithm = 256;  ///< above the numbers of all algorithms

  OwnSite& find(const TransportTable& t) {
    for (OwnSite& s : sites_) {
      if (s.transport == &t) return s;
    }
    std::uint32_t n = 0;
    for (const char c : t.name) n = n * 31 + static_cast<unsigned char>(c);
    return sites_.emplace_back(OwnSite{&t, n * 512, nullptr});
  }

  /// Makes this rank's site in a frame of its own, which shows that all ranks want it, so that none
  /// is alone in what makes it.
  [[gnu::noinline, gnu::cold]] void make(OwnSite& own, const Call& call) {
    const CallWords words = words_of_long(call, own.number + no_algorithm);
    const CallScope scope{basis_, node_, in_flight_, failures_, words, call};
    node_.announce_only();
    node_.compare();
    try {
      own.site = own.transport->make_site(basis_.surroundings, node_.site());
    } catch (const transport_unavailable&) {
      throw;  // on all ranks
    } catch (const std::exception& problem) {
      failures_.fail_everywhere(problem);
      throw;
    }
  }

  TeamContext& basis_;
  NodeCallTracker& node_;
  InFlight& in_flight_;
  TeamFailures& failures_;
  detail::Vector<OwnSite> sites_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
