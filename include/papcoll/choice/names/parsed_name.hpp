#pragma once

#include <papcoll/arrival/arrival_driven.hpp>
#include <papcoll/arrival/order_source.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// What an algorithm's name says. Without a row the algorithm is chosen for each call.
struct ParsedName {
  std::string arrival;    ///< policy; empty: chosen for each call
  std::string schedule;   ///< policy with its parameters; empty: chosen for each call
  std::string transport;  ///< empty: the team's own choice
  NumericalContract contract = NumericalContract::rank_consistent;

  OrderSource order;  ///< of PredictedOrder or OnTopology

  const CatalogueRow* row = nullptr;
  AnySchedule plan;                            ///< if the row is a static schedule
  const TicketedAlgorithm* tickets = nullptr;  ///< the row's, if the transport has tickets for it
  detail::Vector<ParsedName> parts;            ///< of levels, from the inside out

  /// The canonical name.
  [[gnu::cold]] std::string text() const {
    std::string name;
    auto add = [&name](std::string_view policy) {
      if (!policy.empty()) name.append(name.empty() ? "" : "+").append(policy);
    };
    const bool is_default = row != nullptr && row->arrival == PredictedOrder<>::name &&
                            order.predictor() == PredictedOrder<>::predictor();
    if (order && !is_default) add(order.name());
    if (!parts.empty()) {
      add(detail::joined({row->name, parts_text()}));
    } else if (row != nullptr) {
      add(plan ? plan.name() : std::string(row->name));
    }
    add(transport);
    if (contract != NumericalContract::rank_consistent) add(name_of(contract));
    return name;
  }

 private:
  [[gnu::cold]] std::string parts_text() const {
    std::string text;
    bool all_open = true;
    for (const ParsedName& part : parts) {
      std::string one = part.text();
      all_open = all_open && one.empty();
      if (one.empty()) one = "auto";
      const bool is_list = one.find(',') != std::string::npos;
      text.append(text.empty() ? ":" : ",").append(is_list ? "(" : "").append(one);
      if (is_list) text += ")";
    }
    return all_open && parts.size() == 2 ? "" : text;
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI
