// SPDX-License-Identifier: BSD-3-Clause
// `papcoll list`: every algorithm of a catalogue, what it serves and what it requires.

#include <papcoll/arrival/policies.hpp>
#include <papcoll/arrival/predictor.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/choice/policies/requirements.hpp>
#include <papcoll/tools/command.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/device_rows.hpp>
#include <papcoll/tools/options/json_option.hpp>
#include <papcoll/tools/options/written.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {
namespace {

std::vector<std::string_view> transports_of(const CatalogueRow& row) {
  std::vector<std::string_view> names;
  for (const TransportName& t : transport_names) {
    if (runs_on(row, t)) names.push_back(t.name);
  }
  return names;
}

std::vector<std::string_view> ticket_transports_of(const CatalogueRow& row) {
  std::vector<std::string_view> names;
  for (const TransportName& t : transport_names) {
    if (runs_by_ticket(row, t)) names.push_back(t.name);
  }
  return names;
}

/// The arrival policies that it may have instead of its own.
std::vector<std::string_view> other_arrivals_of(const CatalogueRow& row) {
  const bool follows_arrivals = row.arrival == PredictedOrder<>::name;  // of itself
  if (row.plan == nullptr || follows_arrivals) return {};
  return {OnTopology::name, PredictedOrder<>::name};
}

Json listed(const Parameter& p) {
  Json one{{"name", p.name}};
  if (p.values.empty()) {
    one["least"] = p.least;
  } else {
    one["values"] = p.values;
  }
  one["default"] = p.standard.empty() ? Json{} : Json(p.standard);
  return one;
}

std::string described(const Parameter& p) {
  return std::string(p.name) + ": " +
         (p.values.empty() ? "at least " + std::to_string(p.least) : std::string(p.values)) +
         (p.standard.empty() ? " (left out: chosen for each call)"
                             : " (left out: " + std::string(p.standard) + ")");
}

Json listed(const CatalogueRow& row, Collective c) {
  Json parameters = Json::array();
  for (const Parameter& p : row.parameters) parameters.push_back(listed(p));
  Json needs = Json::array();
  for (const Requirement& r : requirements) {
    if (r.asks != nullptr && (needs_of_call(row, c) & r.bit) != 0) needs.push_back(r.name);
  }
  return {{"collective", name_of(c)},
          {"name", row.name},
          {"policies",
           {{"arrival", row.arrival},
            {"other_arrivals", other_arrivals_of(row)},
            {"schedule", row.schedule},
            {"transports", transports_of(row)}}},
          {"parameters", std::move(parameters)},
          {"requirements", std::move(needs)},
          {"without_node_memory", ticket_transports_of(row)},
          {"contract", name_of(contract_of(row, c))},
          {"strongest_contract", name_of(is_reduction(c) ? row.strongest : strongest_contract)},
          {"sentence", row.sentence}};
}

/// Where only some of what is served combines anything: which.
std::string for_reductions_among(const std::vector<Collective>& served) {
  std::vector<std::string_view> reductions;
  for (const Collective c : served) {
    if (is_reduction(c)) reductions.push_back(name_of(c));
  }
  return reductions.size() == served.size() ? "" : " (" + joined(reductions) + ")";
}

std::string described(const CatalogueRow& row) {
  std::vector<std::string_view> served;
  for (const Collective c : collectives_of(row)) served.push_back(name_of(c));
  std::string text = std::string(row.name) + "\n  " + std::string(row.sentence) + "\n";
  auto line = [&text](std::string_view title, std::string_view value) {
    text.append("  ").append(title).append(14 - title.size(), ' ').append(value).append("\n");
  };
  line("serves", joined(served));
  if (!row.is_hierarchical) {
    const std::vector<std::string_view> others = other_arrivals_of(row);
    line("policies", std::string(row.arrival) +
                         (others.empty() ? "" : " (or " + joined(others) + ")") + ", " +
                         std::string(row.schedule));
  }
  for (const Parameter& p : row.parameters) line("parameter", described(p));
  if (!row.in_source.empty()) line("in C++", row.in_source);
  line("runs on", joined(transports_of(row)));
  for (const Requirement& r : requirements) {
    if (r.asks == nullptr || (row.needs & r.bit) == 0) continue;
    std::string sentence{r.asks};
    if (r.bit == requirement::node_memory && row.tickets != nullptr) {
      sentence += "; but over " + joined(ticket_transports_of(row)) +
                  ": any nodes, by tickets that ranks draw";
    }
    if (r.bit == requirement::commutative_operator) {
      sentence += for_reductions_among(collectives_of(row));
    }
    line("requires", sentence);
  }
  std::string contract{name_of(row.contract)};
  if (row.strongest != row.contract) {
    contract += ", on request " + std::string(name_of(row.strongest));
  }
  line("contract", contract);
  return text;
}

/// What `papcoll list NAME…` asks for: the algorithms that have one of the names as their own or as
/// that of a policy they may have, and serve one of the collectives; all where none is named.
class Wanted {
 public:
  Wanted(const std::vector<std::string>& names, const std::vector<CatalogueRow>& catalogue) {
    std::vector<std::string_view> known;
    for (std::size_t i = 0; i < collective_count; ++i) {
      known.push_back(name_of(static_cast<Collective>(i)));
    }
    for (const CatalogueRow& row : catalogue) {
      for (const std::string_view name : {row.name, row.arrival, row.schedule}) {
        if (!name.empty()) known.push_back(name);
      }
      for (const std::string_view name : other_arrivals_of(row)) known.push_back(name);
    }
    for (const std::string& name : names) {
      if (plain_name(name) == "allgatherv") {
        throw argument_error("papcoll: an allgatherv is an allgather with counts: list allgather");
      }
      auto at = std::find(known.begin(), known.end(), name);
      if (at == known.end()) at = std::find(known.begin(), known.end(), plain_name(name));
      if (at == known.end()) {
        throw argument_error("papcoll: '" + name + "' is no algorithm, policy or collective: " +
                             detail::similar_names(name, std::move(known)));
      }
      const auto i = static_cast<std::size_t>(at - known.begin());
      if (i < collective_count) {
        collectives_.push_back(static_cast<Collective>(i));
      } else {
        names_.push_back(name);
      }
    }
  }

  bool has(Collective c) const {
    return collectives_.empty() ||
           std::find(collectives_.begin(), collectives_.end(), c) != collectives_.end();
  }

  bool has(const CatalogueRow& row) const {
    const std::vector<std::string_view> others = other_arrivals_of(row);
    const auto named = [&](std::string_view n) {
      return n == row.name || n == row.arrival || n == row.schedule ||
             std::find(others.begin(), others.end(), n) != others.end();
    };
    const std::vector<Collective> served = collectives_of(row);
    return (names_.empty() || std::any_of(names_.begin(), names_.end(), named)) &&
           std::any_of(served.begin(), served.end(), [this](Collective c) { return has(c); });
  }

 private:
  std::vector<std::string> names_;
  std::vector<Collective> collectives_;
};

class ListCommand final : public Command {
 public:
  explicit ListCommand(Catalogue catalogue) : rows_(catalogue.begin(), catalogue.end()) {
    rows_.insert(rows_.end(), device_rows.begin(), device_rows.end());
  }

  void add_to(CLI::App& app) {
    command_ = app.add_subcommand("list", "Every algorithm: what it serves and requires");
    command_->add_option("NAME", names_, "Only these: algorithms, policies or collectives")
        ->check(one_name());
    json_.add_to(*command_, "an array, an object for each algorithm and collective");
    command_->footer(examples({"list gather", "list Ring --json"}));
  }

  /// The exit status; throws argument_error.
  int run() override {
    const Wanted wanted{names_, rows_};
    Json all = Json::array();
    std::string text;
    for (const CatalogueRow& row : rows_) {
      if (!wanted.has(row)) continue;
      text += (text.empty() ? "" : "\n") + described(row);
      for (const Collective c : collectives_of(row)) {
        if (wanted.has(c)) all.push_back(listed(row, c));
      }
    }
    if (all.empty()) {
      throw argument_error("papcoll: none of these serves what is named: " + joined(names_));
    }
    if (!json_.write([&] { return all; })) print(text);
    return all_well;
  }

 private:
  std::vector<CatalogueRow> rows_;  ///< of the catalogue, and those for devices
  std::vector<std::string> names_;
  JsonOption json_;
};

}  // namespace

std::unique_ptr<Command> make_list(CLI::App& app, Catalogue catalogue) {
  return made<ListCommand>(app, catalogue);
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
