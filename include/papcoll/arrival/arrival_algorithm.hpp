#pragma once

#include <papcoll/arrival/board_site.hpp>
#include <papcoll/call.hpp>
#include <papcoll/contract.hpp>
#include <papcoll/waiting/waiter.hpp>

#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// An algorithm of the arrival floor without its type: an arrival policy with its schedule.
struct ArrivalAlgorithm {
  std::string_view name;  ///< as in the catalogue: "DynamicLeader", "Exchange"
  std::uint8_t id;        ///< algorithm_id(name)
  std::string_view sentence;
  NumericalContract contract;   ///< the strongest it keeps by itself
  bool keeps_order_on_request;  ///< Call::rank_order makes it reproducible
  bool (*serves)(Collective) noexcept;
  void (*run)(BoardSite&, Waiter&, const Call&);
};

namespace detail {

template <class Run>
void run_arrival(BoardSite& site, Waiter& waiter, const Call& call) {
  Run run;
  waiter.until([&] { return run.step(site, call); });
}

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
