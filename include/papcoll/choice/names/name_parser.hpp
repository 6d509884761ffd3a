// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/static/schedule_parameters.hpp>
#include <papcoll/arrival/arrival_driven.hpp>
#include <papcoll/arrival/order_source.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/choice/policies/requirements.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// A parsed algorithm name. Without a row the algorithm is chosen for each call.
struct ParsedName {
  std::string arrival;    ///< policy; empty: chosen for each call
  std::string schedule;   ///< policy with its parameters; empty: chosen for each call
  std::string transport;  ///< empty: the team's own choice
  NumericalContract contract = default_contract;

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
    if (contract != default_contract) add(name_of(contract));
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

namespace papcoll::inline PAPCOLL_ABI::detail {

constexpr std::string_view without_blanks(std::string_view text) noexcept {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// The pieces of a name of levels: [policy "+"] levels ["+" policy].
struct LevelsText {
  std::vector<std::string_view> beside;  ///< policies that are no part of a level
  bool is_open = false;                  ///< no parts are written
  std::string_view parts;                ///< else: what follows the colon
};

/// Takes a name apart if it is one of levels, whose schedule is called `levels`.
[[gnu::cold]] inline std::optional<LevelsText> split_levels(std::string_view text,
                                                            std::string_view levels) {
  constexpr auto none = std::string_view::npos;
  LevelsText found;
  for (std::size_t plus = text.find('+'); plus != none; plus = text.find('+')) {
    const std::string_view first = without_blanks(text.substr(0, plus));
    if (first.substr(0, first.find(':')) == levels) break;
    if (text.substr(plus + 1).find(levels) == none || first.find(':') != none) return {};
    found.beside.push_back(first);
    text = without_blanks(text.substr(plus + 1));
  }
  if (text.substr(0, text.find_first_of(":+")) != levels) return {};
  text.remove_prefix(levels.size());
  for (std::size_t plus = text.rfind('+'); plus != none; plus = text.rfind('+')) {
    const std::string_view last = without_blanks(text.substr(plus + 1));
    if (text.front() == ':' && !contract_named(last)) break;  // the last part's
    found.beside.push_back(last);
    text = without_blanks(text.substr(0, plus));
  }
  found.is_open = text.empty();
  if (!found.is_open) found.parts = text.substr(1);
  return found;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail

// Names of algorithms: policies joined by '+', each of another kind, in any order.
//
//     name      =  policy { "+" policy }
//     policy    =  arrival [ ":" predictor ] | schedule [ ":" arguments ] | transport | contract
//               |  levels
//     levels    =  "Hierarchical" [ ":" part "," part { "," part } ]
//     part      =  name | "(" name ")"
//
//     Ring                                 a schedule; StaticOrder is its arrival policy
//     DynamicLeader+ShmTransport           an arrival policy, which has a schedule of its own
//     PredictedOrder:Exponential:0.5+Chain a predictor; MovingAverage is left out
//     OnTopology+Ring                      a schedule whose positions follow the machine
//     ReduceThenBcast:KNomial:8,Chain      schedules as parameters of a schedule
//     MpiTransport+Reproducible            whatever fits the call, on this transport
//     auto                                 whatever fits the call
//     Hierarchical:DynamicLeader+ShmTransport,Rabenseifner+MpiTransport
//                                          the first within nodes, the second among them
//     Hierarchical:Exchange,Ring,Binomial  within nodes, among the nodes of a group, among groups
//     Hierarchical:(ReduceThenBcast:Chain,Chain),Ring+Reproducible
//
// Levels are written from the inside out. They leave only a contract beside them, which is that of
// the whole call; so a '+' in front of a contract ends the last part, and every other one is the
// part's own. A part is put in parentheses if there is a comma in it. Hierarchical alone chooses
// both algorithms for each call.
//
// A canonical name has them in the order above, and leaves out what is the default.

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {

/// Reads one name. An object for the sake of the messages, which all quote it.
class NameParser {
 public:
  [[gnu::cold]] NameParser(std::string_view text, Catalogue catalogue)
      : text_(without_blanks(text)), catalogue_(catalogue) {}

  [[gnu::cold]] ParsedName parse() {
    if (take_levels()) return std::move(parsed_);
    for (std::size_t begin = 0; begin <= text_.size();) {
      const std::size_t end = std::min(text_.find('+', begin), text_.size());
      take(text_.substr(begin, end - begin));
      begin = end + 1;
    }
    find_row();
    check_transport();
    check_contract();
    return std::move(parsed_);
  }

 private:
  [[noreturn, gnu::cold]] void fail(const std::string& what) const {
    throw_error<unknown_algorithm>({"papcoll: algorithm '", text_, "': ", what});
  }

  /// Throws for a requirement that is not met.
  [[noreturn, gnu::cold]] void refuse(unsigned unmet, const RefusalDetails& details = {}) const {
    fail(refusal(*first_requirement(unmet), details));
  }

  [[noreturn, gnu::cold]] void fail_with(const error& e) const { fail(bare(e.what())); }

  [[noreturn, gnu::cold]] void fail_unknown(std::string_view name) const {
    // A stand-in of papcoll-bench's, and all too near to a transport's name.
    const std::string hint =
        name == "mpi" ? "only papcoll-bench knows it, for the MPI library's own collectives"
        : name.find_first_of(",; ") != name.npos
            ? "it looks like several names, which are written apart"
            : similar_names(name, all_policy_names(catalogue_));
    if (name != text_) fail(joined({"'", name, "' is no policy: ", hint}));
    throw_error<unknown_algorithm>({"papcoll: '", name, "' is no policy: ", hint});
  }

  /// Reads a name of levels, if it is one.
  [[gnu::cold]] bool take_levels() {
    const auto row = std::find_if(catalogue_.begin(), catalogue_.end(),
                                  [](const CatalogueRow& r) { return r.is_hierarchical; });
    if (row == catalogue_.end()) return false;
    const auto levels = split_levels(text_, row->name);
    if (!levels) return false;
    for (const std::string_view policy : levels->beside) {
      if (!contract_named(policy))
        refuse(requirement::hierarchical_stands_alone, {.algorithm = std::string(row->name)});
      take(policy);
    }
    parsed_.row = &*row;
    parsed_.schedule = row->name;
    if (levels->is_open) {
      parsed_.parts.resize(2);
    } else {
      take_parts(levels->parts, *row);
    }
    return true;
  }

  [[gnu::cold]] void take_parts(std::string_view arguments, const CatalogueRow& row) {
    std::vector<std::string_view> texts;
    try {
      texts = split_arguments(arguments);
    } catch (const argument_error& e) {
      fail_with(e);
    }
    if (texts.size() < 2) {
      fail(joined({row.name,
                   " needs an algorithm for each level, from the inside out, two at "
                   "least: ",
                   row.name, ":DynamicLeader,Rabenseifner"}));
    }
    for (const std::string_view text : texts) {
      ParsedName part = NameParser{text, catalogue_}.parse();
      if (part.row != nullptr && part.row->is_hierarchical) {
        refuse(requirement::hierarchical_levels_in_order);
      }
      if (part.tickets != nullptr) refuse(requirement::hierarchical_part_draws_no_tickets);
      if (part.contract != default_contract) {
        refuse(requirement::hierarchical_part_has_no_contract);
      }
      parsed_.parts.push_back(std::move(part));
    }
  }

  [[gnu::cold]] void take(std::string_view policy) {
    policy = without_blanks(policy);
    const std::string_view name = policy.substr(0, policy.find(':'));
    const bool has_arguments = name.size() < policy.size();
    if (name.empty()) {
      fail("a policy is missing: write one, or several joined by '+', such as Ring+MpiTransport");
    }
    if (is_schedule(name, catalogue_)) {
      set(schedule_, name, requirement::one_schedule);
      if (has_arguments) arguments_ = policy.substr(name.size() + 1);
      if (has_arguments && arguments_.empty()) {
        fail(joined({"nothing follows the colon of ", name, ": leave the colon out"}));
      }
      return;
    }
    if (name == left_open) {
      set(schedule_, name, requirement::one_schedule);
    } else if (is_arrival(name, catalogue_)) {
      set(arrival_, name, requirement::one_arrival_policy);
      if (has_arguments && name == predicted_name) {
        return take_predictor(policy.substr(name.size() + 1));
      }
    } else if (is_transport_name(name)) {
      set(transport_, name, requirement::one_transport);
    } else if (const auto contract = contract_named(name)) {
      set(contract_, name, requirement::one_contract);
      parsed_.contract = *contract;
    } else {
      fail_unknown(name);
    }
    if (has_arguments) fail(joined({name, " takes no parameters"}));
  }

  [[gnu::cold]] void take_predictor(std::string_view text) {
    try {
      parsed_.order = AnyPredictor::parse(text);
    } catch (const error& e) {
      fail_with(e);
    }
  }

  [[gnu::cold]] void set(std::string_view& slot, std::string_view name, unsigned only_one) const {
    if (!slot.empty()) refuse(only_one, {.both = joined({", ", slot, " and ", name})});
    slot = name;
  }

  /// The order of the positions, if the arrival policy gives one to any static schedule.
  [[gnu::cold]] void name_order(std::string_view arrival) {
    if (arrival == machine_name) parsed_.order = OrderSource::machine();
    if (arrival == predicted_name && !parsed_.order) {
      parsed_.order = PredictedOrder<>::predictor();
    }
  }

  [[gnu::cold]] void find_row() {
    parsed_.transport = transport_;
    name_order(arrival_);
    if (schedule_ == left_open) schedule_ = {};
    if (schedule_.empty() && arrival_.empty()) return;
    const CatalogueRow* driven = nullptr;
    for (const CatalogueRow& row : catalogue_) {
      // The first algorithm of an arrival policy of its own is what the policy alone means. Any
      // static schedule runs in a predicted order, or in one along the machine.
      const bool alone = row.algorithm != nullptr && row.arrival != "StaticOrder";
      const bool fits = (arrival_.empty() || row.arrival == arrival_ ||
                         (gives_order(arrival_) && row.plan != nullptr)) &&
                        (schedule_.empty() ? alone : row.schedule == schedule_);
      if (!fits) continue;
      if (arrival_ == machine_name && row.arrival == predicted_name) {
        refuse(requirement::forecast,
               {.algorithm = std::string(row.schedule), .arrival = std::string(arrival_)});
      }
      // A schedule without an arrival policy is the static one, if there is one of that name.
      if (row.plan != nullptr || !arrival_.empty() || schedule_.empty()) return take_row(row);
      if (driven == nullptr) driven = &row;
    }
    if (driven != nullptr) return take_row(*driven);
    if (!schedule_.empty()) {
      refuse(requirement::fitting_arrival_policy, {.algorithm = std::string(schedule_),
                                                   .arrival = std::string(arrival_),
                                                   .remedy = combinations()});
    }
    parsed_.arrival = arrival_;  // it has no schedule of its own: one is chosen for each call
  }

  [[gnu::cold]] std::string combinations() const {
    std::string text;
    for (const CatalogueRow& row : catalogue_) {
      if (row.schedule != schedule_) continue;
      text += joined({(text.empty() ? "take " : " or "), row.arrival});
      if (row.plan != nullptr && row.arrival != predicted_name)
        text += joined({" or ", predicted_name, " or ", machine_name});
    }
    return text;
  }

  [[gnu::cold]] void take_row(const CatalogueRow& row) {
    parsed_.row = &row;
    parsed_.arrival = arrival_.empty() ? row.arrival : arrival_;
    name_order(parsed_.arrival);
    parsed_.schedule = row.schedule;
    if (row.plan == nullptr) {
      if (!arguments_.empty()) fail(joined({row.schedule, " takes no parameters"}));
      return;
    }
    try {
      parsed_.plan = plan_of(row, arguments_, catalogue_);
    } catch (const error& e) {
      fail_with(e);
    }
    parsed_.schedule = parsed_.plan.name();
  }

  [[gnu::cold]] void check_transport() {
    for (const TransportName& t : transport_names) {
      if (parsed_.row == nullptr || t.name != transport_) continue;
      if (runs_by_ticket(*parsed_.row, t)) parsed_.tickets = parsed_.row->tickets;
      if (const Requirement* const why = why_not_on(*parsed_.row, t)) {
        refuse(why->bit,
               {.algorithm = std::string(parsed_.row->name), .transport = std::string(t.name)});
      }
    }
  }

  [[gnu::cold]] void check_contract() const {
    if (parsed_.row == nullptr) return;
    AlgorithmNeeds needs;
    needs.strongest = parsed_.row->strongest;
    CallFacts call;
    call.contract = parsed_.contract;
    if (const Requirement* const why = why_not(needs, call, {})) {
      refuse(why->bit, {.algorithm = std::string(parsed_.row->name),
                        .contract = traits_of(call.contract).promise});
    }
  }

  std::string_view text_;
  Catalogue catalogue_;
  std::string_view arrival_;
  std::string_view schedule_;
  std::string_view arguments_;
  std::string_view transport_;
  std::string_view contract_;
  ParsedName parsed_;
};

}  // namespace detail

/// Parses an algorithm's name. Throws unknown_algorithm, with what is wrong and names that are
/// similar to an unknown one.
[[gnu::cold]] inline ParsedName parse_name(std::string_view text, Catalogue catalogue) {
  constexpr std::size_t longest = 1024;  // schedules in schedules are read by recursion
  if (text.size() > longest) {
    detail::throw_error<unknown_algorithm>({"papcoll: the name of an algorithm that begins with '",
                                            text.substr(0, 32), "' has ", text.size(),
                                            " characters: at most ", longest});
  }
  return detail::NameParser{text, catalogue}.parse();
}

}  // namespace papcoll::inline PAPCOLL_ABI
