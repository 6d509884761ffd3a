#pragma once

#include <papcoll/algorithms/static/arguments.hpp>
#include <papcoll/arrival/predicted_order.hpp>
#include <papcoll/base/contract.hpp>
#include <papcoll/base/joined.hpp>
#include <papcoll/base/near_names.hpp>
#include <papcoll/error.hpp>
#include <papcoll/names/known_policies.hpp>
#include <papcoll/names/levels.hpp>
#include <papcoll/names/parsed_name.hpp>
#include <papcoll/names/requirements.hpp>
#include <papcoll/names/row.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

/// Reads one name. An object for the sake of the messages, which all quote it.
class NameParser {
 public:
  NameParser(std::string_view text, Catalogue catalogue)
      : text_(without_blanks(text)), catalogue_(catalogue) {}

  ParsedName parse() {
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
  [[noreturn]] void fail(const std::string& what) const {
    throw unknown_algorithm(detail::joined({"papcoll: algorithm '", text_, "': ", what}));
  }

  [[noreturn]] void fail_with(const error& e) const { fail(bare(e.what())); }

  [[noreturn]] void fail_unknown(std::string_view name) const {
    // A stand-in of papcoll-bench's, and all too near to a transport's name.
    const std::string hint =
        name == "mpi" ? "only papcoll-bench knows it, for the MPI library's own collectives"
                      : near_names(name, all_policy_names(catalogue_));
    if (name != text_) fail(detail::joined({"'", name, "' is no policy: ", hint}));
    throw unknown_algorithm(detail::joined({"papcoll: '", name, "' is no policy: ", hint}));
  }

  /// Reads a name of levels, if it is one.
  bool take_levels() {
    const auto row = std::find_if(catalogue_.begin(), catalogue_.end(),
                                  [](const CatalogueRow& r) { return r.is_hierarchical; });
    if (row == catalogue_.end()) return false;
    const auto levels = split_levels(text_, row->name);
    if (!levels) return false;
    for (const std::string_view policy : levels->beside) take_beside(policy, *row);
    parsed_.row = &*row;
    parsed_.schedule = row->name;
    if (levels->is_open) {
      parsed_.parts.resize(2);
    } else {
      take_parts(levels->parts, *row);
    }
    return true;
  }

  void take_beside(std::string_view policy, const CatalogueRow& row) {
    if (!contract_named(policy)) {
      fail(detail::joined({row.name,
                           " is made of whole algorithms, so only a contract stands beside "
                           "it, and '",
                           policy, "' is none: write it in one of its parts, as in ", row.name,
                           ":DynamicLeader+ShmTransport,Rabenseifner+MpiTransport"}));
    }
    take(policy);
  }

  void take_parts(std::string_view arguments, const CatalogueRow& row) {
    std::vector<std::string_view> texts;
    try {
      texts = split_arguments(arguments);
    } catch (const argument_error& e) {
      fail_with(e);
    }
    if (texts.size() < 2) {
      fail(detail::joined({row.name,
                           " needs an algorithm for each level, from the inside out, two at "
                           "least: ",
                           row.name, ":DynamicLeader,Rabenseifner"}));
    }
    for (const std::string_view text : texts) {
      ParsedName part = NameParser{text, catalogue_}.parse();
      if (part.row != nullptr && part.row->is_hierarchical) {
        fail("levels within a level: write them one after the other, from the inside out");
      }
      if (part.by_ticket) {
        fail(
            detail::joined({text, " is for whole communicators: inside a node take ShmTransport"}));
      }
      if (part.contract != NumericalContract::rank_consistent) {
        fail("a numerical contract is that of the whole call: write it at the end");
      }
      parsed_.parts.push_back(std::move(part));
    }
  }

  void take(std::string_view policy) {
    policy = without_blanks(policy);
    const std::string_view name = policy.substr(0, policy.find(':'));
    const bool has_arguments = name.size() < policy.size();
    if (name.empty()) {
      fail("a policy is missing: write one, or several joined by '+', such as Ring+MpiTransport");
    }
    if (is_schedule(name, catalogue_)) {
      set(schedule_, name, "schedules");
      if (has_arguments) arguments_ = policy.substr(name.size() + 1);
      if (has_arguments && arguments_.empty()) {
        fail(detail::joined({"nothing follows the colon of ", name, ": leave the colon out"}));
      }
      return;
    }
    if (name == left_open) {
      set(schedule_, name, "schedules");
    } else if (is_arrival(name, catalogue_)) {
      set(arrival_, name, "arrival policies");
      if (has_arguments && name == predicted_name) {
        return take_predictor(policy.substr(name.size() + 1));
      }
    } else if (is_transport_name(name)) {
      set(transport_, name, "transports");
    } else if (const auto contract = contract_named(name)) {
      set(contract_, name, "numerical contracts");
      parsed_.contract = *contract;
    } else {
      fail_unknown(name);
    }
    if (has_arguments) fail(detail::joined({name, " takes no parameters"}));
  }

  void take_predictor(std::string_view text) {
    try {
      parsed_.predictor = AnyPredictor::parse(text);
    } catch (const error& e) {
      fail_with(e);
    }
  }

  void set(std::string_view& slot, std::string_view name, const char* kind) const {
    if (!slot.empty()) {
      fail(detail::joined({"two ", kind, ", ", slot, " and ", name, ": keep one"}));
    }
    slot = name;
  }

  void find_row() {
    parsed_.transport = transport_;
    if (arrival_ == predicted_name && !parsed_.predictor) {
      parsed_.predictor = PredictedOrder<>::predictor();
    }
    if (schedule_ == left_open) schedule_ = {};
    if (schedule_.empty() && arrival_.empty()) return;
    const CatalogueRow* driven = nullptr;
    for (const CatalogueRow& row : catalogue_) {
      // The first algorithm of an arrival policy of its own is what the policy alone means. Any
      // static schedule runs in a predicted order.
      const bool alone = row.algorithm != nullptr && row.arrival != "StaticOrder";
      const bool fits = (arrival_.empty() || row.arrival == arrival_ ||
                         (arrival_ == predicted_name && row.plan != nullptr)) &&
                        (schedule_.empty() ? alone : row.schedule == schedule_);
      if (!fits) continue;
      // A schedule without an arrival policy is the static one, if there is one of that name.
      if (row.plan != nullptr || !arrival_.empty() || schedule_.empty()) return take_row(row);
      if (driven == nullptr) driven = &row;
    }
    if (driven != nullptr) return take_row(*driven);
    if (!schedule_.empty()) {
      fail(detail::joined({schedule_, " does not run under ", arrival_, ": ", combinations()}));
    }
    parsed_.arrival = arrival_;  // it has no schedule of its own: one is chosen for each call
  }

  std::string combinations() const {
    std::string text;
    for (const CatalogueRow& row : catalogue_) {
      if (row.schedule != schedule_) continue;
      text += detail::joined({(text.empty() ? "take " : " or "), row.arrival});
      if (row.plan != nullptr && row.arrival != predicted_name)
        text += detail::joined({" or ", predicted_name});
    }
    return text;
  }

  void take_row(const CatalogueRow& row) {
    parsed_.row = &row;
    parsed_.arrival = arrival_.empty() ? row.arrival : arrival_;
    if (parsed_.arrival == predicted_name && !parsed_.predictor) {
      parsed_.predictor = PredictedOrder<>::predictor();
    }
    parsed_.schedule = row.schedule;
    if (row.plan == nullptr) {
      if (!arguments_.empty()) fail(detail::joined({row.schedule, " takes no parameters"}));
      return;
    }
    try {
      parsed_.plan = plan_of(row, arguments_, catalogue_);
    } catch (const error& e) {
      fail_with(e);
    }
    parsed_.schedule = parsed_.plan.name();
  }

  void check_transport() {
    for (const TransportName& t : transport_names) {
      if (parsed_.row == nullptr || t.name != transport_) continue;
      parsed_.by_ticket = runs_by_ticket(*parsed_.row, t);
      if (runs_on(*parsed_.row, t)) continue;
      fail(detail::joined(
          {parsed_.row->name, " reads its peers' memory, and ", t.name,
           " only passes messages: take ShmTransport (ThreadTransport in a ThreadTeam)"}));
    }
  }

  void check_contract() const {
    if (parsed_.row == nullptr || parsed_.contract <= parsed_.row->strongest) return;
    fail(detail::joined(
        {parsed_.row->name, " keeps no stronger contract than ", name_of(parsed_.row->strongest)}));
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

/// Reads an algorithm's name. Throws unknown_algorithm, which says what is wrong with it and lists
/// names that are near to one that is not known.
inline ParsedName parse_name(std::string_view text, Catalogue catalogue) {
  return detail::NameParser{text, catalogue}.parse();
}

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
