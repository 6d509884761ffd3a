#pragma once

// The command papcoll, for any catalogue: `list` shows its algorithms, `verify` proves its static
// schedules; `explain` says what the library would run (explain_command.hpp). It needs CLI11 and
// nlohmann-json, and no MPI. A program with algorithms of its own passes its rows:
//
//     #include <papcoll/catalogue/rows.hpp>
//     #include <papcoll/tools/papcoll_tool.hpp>
//     constexpr std::array mine{papcoll::static_row<Mine>(), papcoll::static_row<papcoll::Ring>()};
//     int main(int argc, char** argv) { return papcoll::tool_main(argc, argv, mine); }
//
// Exit status: 0 all is well, 1 a fault was found, 2 bad input (with a message on stderr).

#include <papcoll/analysis/verify_sweep.hpp>
#include <papcoll/catalogue/grammar.hpp>
#include <papcoll/catalogue/near_names.hpp>
#include <papcoll/catalogue/row.hpp>
#include <papcoll/tools/explain_command.hpp>
#include <papcoll/version.hpp>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

namespace tool {

using Json = nlohmann::ordered_json;

inline constexpr int all_well = 0;
inline constexpr int found_fault = 1;
inline constexpr int bad_input = 2;

inline std::string version() {
  return std::to_string(PAPCOLL_VERSION_MAJOR) + "." + std::to_string(PAPCOLL_VERSION_MINOR) + "." +
         std::to_string(PAPCOLL_VERSION_PATCH);
}

inline void print(const std::string& text) { std::fputs(text.c_str(), stdout); }

inline std::vector<Collective> collectives_of(const CatalogueRow& row) {
  std::vector<Collective> served;
  for (std::size_t i = 0; i < collective_count; ++i) {
    const auto c = static_cast<Collective>(i);
    if (row.serves(c)) served.push_back(c);
  }
  return served;
}

inline std::vector<std::string_view> transports_of(const CatalogueRow& row) {
  std::vector<std::string_view> names;
  for (const TransportName& t : transport_names) {
    if (runs_on(row, t)) names.push_back(t.name);
  }
  return names;
}

template <class Names>
std::string joined(const Names& names) {
  std::string text;
  for (const auto& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

// -- papcoll list

inline std::vector<std::string_view> ticket_transports_of(const CatalogueRow& row) {
  std::vector<std::string_view> names;
  for (const TransportName& t : transport_names) {
    if (runs_by_ticket(row, t)) names.push_back(t.name);
  }
  return names;
}

inline Json listed(const Parameter& p) {
  Json one{{"name", p.name}};
  if (p.values.empty()) {
    one["least"] = p.least;
  } else {
    one["values"] = p.values;
  }
  one["default"] = p.standard.empty() ? Json{} : Json(p.standard);
  return one;
}

inline std::string described(const Parameter& p) {
  return std::string(p.name) + ": " +
         (p.values.empty() ? "at least " + std::to_string(p.least) : std::string(p.values)) +
         (p.standard.empty() ? " (left out: chosen for each call)"
                             : " (left out: " + std::string(p.standard) + ")");
}

inline Json listed(const CatalogueRow& row, Collective c) {
  Json parameters = Json::array();
  for (const Parameter& p : row.parameters) parameters.push_back(listed(p));
  Json needs = Json::array();
  for (const Requirement& r : requirements) {
    if ((needs_of_call(row, c) & r.bit) != 0) needs.push_back(r.name);
  }
  return {
      {"collective", name_of(c)},
      {"name", row.name},
      {"policies",
       {{"arrival", row.arrival}, {"schedule", row.schedule}, {"transports", transports_of(row)}}},
      {"parameters", std::move(parameters)},
      {"requirements", std::move(needs)},
      {"without_node_memory", ticket_transports_of(row)},
      {"contract", name_of(contract_of(row, c))},
      {"strongest_contract",
       name_of(is_reduction(c) ? row.strongest : NumericalContract::reproducible)},
      {"sentence", row.sentence}};
}

inline std::string described(const CatalogueRow& row) {
  std::vector<std::string_view> served;
  for (const Collective c : collectives_of(row)) served.push_back(name_of(c));
  std::string text = std::string(row.name) + "\n  " + std::string(row.sentence) + "\n";
  auto line = [&text](std::string_view title, std::string_view value) {
    text.append("  ").append(title).append(14 - title.size(), ' ').append(value).append("\n");
  };
  line("serves", joined(served));
  if (!row.is_composite) {
    line("policies", std::string(row.arrival) + ", " + std::string(row.schedule));
  }
  for (const Parameter& p : row.parameters) line("parameter", described(p));
  line("runs on", joined(transports_of(row)));
  for (const Requirement& r : requirements) {
    if ((row.needs & r.bit) == 0) continue;
    std::string sentence{r.sentence};
    if (r.bit == requirement::node_memory && row.by_ticket != nullptr) {
      sentence += "; but over " + joined(ticket_transports_of(row)) +
                  ": any nodes, by tickets that ranks draw";
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
/// that of a policy, and serve one of the collectives; all where none is named.
class Wanted {
 public:
  Wanted(const std::vector<std::string>& names, Catalogue catalogue) {
    std::vector<std::string_view> known;
    for (std::size_t i = 0; i < collective_count; ++i) {
      known.push_back(name_of(static_cast<Collective>(i)));
    }
    for (const CatalogueRow& row : catalogue) {
      for (const std::string_view name : {row.name, row.arrival, row.schedule}) {
        if (!name.empty()) known.push_back(name);
      }
    }
    for (const std::string& name : names) {
      const auto at = std::find(known.begin(), known.end(), name);
      if (at == known.end()) {
        throw argument_error("papcoll: '" + name + "' is no algorithm, policy or collective: " +
                             detail::near_names(name, std::move(known)));
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
    const auto named = [&row](std::string_view n) {
      return n == row.name || n == row.arrival || n == row.schedule;
    };
    const std::vector<Collective> served = collectives_of(row);
    return (names_.empty() || std::any_of(names_.begin(), names_.end(), named)) &&
           std::any_of(served.begin(), served.end(), [this](Collective c) { return has(c); });
  }

 private:
  std::vector<std::string> names_;
  std::vector<Collective> collectives_;
};

inline int list(Catalogue catalogue, const std::vector<std::string>& names, bool as_json) {
  const Wanted wanted{names, catalogue};
  Json all = Json::array();
  std::string text;
  for (const CatalogueRow& row : catalogue) {
    if (!wanted.has(row)) continue;
    text += (text.empty() ? "" : "\n") + described(row);
    for (const Collective c : collectives_of(row)) {
      if (wanted.has(c)) all.push_back(listed(row, c));
    }
  }
  if (all.empty()) {
    throw argument_error("papcoll: none of these serves what is named: " + joined(names));
  }
  print(as_json ? all.dump(2) + "\n" : text);
  return all_well;
}

// -- papcoll verify

/// A schedule to prove, and what its row claims.
struct Claim {
  AnySchedule schedule;
  const CatalogueRow* row;
};

/// All static schedules of the catalogue, with all parameters that their rows want proven.
inline std::vector<Claim> all_claims(Catalogue catalogue) {
  std::vector<Claim> claims;
  for (const CatalogueRow& row : catalogue) {
    if (row.plan == nullptr) continue;
    claims.push_back({row.plan(), &row});
    for (std::string_view rest = row.proven_with; !rest.empty();) {
      const std::string_view arguments = rest.substr(0, rest.find(' '));
      claims.push_back({plan_of(row, arguments, catalogue), &row});
      rest.remove_prefix(std::min(rest.size(), arguments.size() + 1));
    }
  }
  return claims;
}

inline Claim claim_named(const std::string& name, Catalogue catalogue) {
  ParsedName parsed = parse_name(name, catalogue);
  if (parsed.row == nullptr) {
    throw argument_error("papcoll: '" + name +
                         "' names no schedule: name one, such as Ring, or leave --algorithm out "
                         "to verify all");
  }
  if (parsed.row->is_composite) {
    throw argument_error("papcoll: " + std::string(parsed.row->name) +
                         " is made of other algorithms: verify those of them that are schedules");
  }
  if (!parsed.plan) {
    throw argument_error("papcoll: " + std::string(parsed.row->name) +
                         " decides by who arrives when, so it has no plan to verify: only static "
                         "schedules have");
  }
  return {std::move(parsed.plan), parsed.row};
}

/// One line that is written over, on a terminal.
class ProgressLine {
 public:
  void show(const std::string& text) const {
    if (terminal_) std::fprintf(stderr, "\r\033[K%s", text.c_str());
  }
  void clear() const { show(""); }

 private:
  bool terminal_ = isatty(STDERR_FILENO) == 1;
};

inline Json index_or_null(std::size_t i) { return i == Verdict::nowhere ? Json{} : Json(i); }

inline Json reported(const std::string& name, Collective c, int max_ranks, const Proof& proof) {
  Json fault;
  if (!proof) {
    const Verdict& v = proof.verdict;
    fault = {{"kind", name_of(v.fault)},
             {"call", describe(proof.shape)},
             {"rank", v.rank},
             {"step", index_or_null(v.step)},
             {"element", index_or_null(v.element)},
             {"sentence", v.sentence}};
  }
  return {{"collective", name_of(c)},         {"name", name},
          {"max_ranks", max_ranks},           {"cases", proof.cases},
          {"proven", proof.verdict.proven()}, {"fault", std::move(fault)}};
}

inline int verify(Catalogue catalogue, const std::vector<std::string>& names, int max_ranks,
                  bool as_json) {
  std::vector<Claim> claims;
  for (const std::string& name : names) claims.push_back(claim_named(name, catalogue));
  if (names.empty()) claims = all_claims(catalogue);

  const ProgressLine progress;
  const std::string ranks = "1 to " + std::to_string(max_ranks) + " ranks";
  Json report = Json::array();
  std::size_t proven = 0;
  std::size_t faults = 0;
  for (const Claim& claim : claims) {
    for (const Collective c : collectives_of(*claim.row)) {
      const std::string what = claim.schedule.name() + " " + std::string(name_of(c));
      const Proof proof = verify_up_to(
          claim.schedule, c, max_ranks,
          [&](int size) { progress.show(what + ": " + std::to_string(size) + " of " + ranks); },
          {.contract = claim.row->contract});
      ++(proof ? proven : faults);
      progress.clear();
      if (as_json) {
        report.push_back(reported(claim.schedule.name(), c, max_ranks, proof));
      } else if (proof) {
        print("proven  " + what + ", " + ranks + ", " + std::to_string(proof.cases) + " cases\n");
      } else {
        print("FAULT   " + what + ": " + std::string(name_of(proof.verdict.fault)) + "\n        " +
              proof.verdict.sentence + "\n        in " + describe(proof.shape) + "\n");
      }
      std::fflush(stdout);
    }
  }
  if (as_json) {
    print(report.dump(2) + "\n");
  } else {
    print(std::to_string(proven) + " proven, " + std::to_string(faults) + " at fault\n");
  }
  return faults == 0 ? all_well : found_fault;
}

}  // namespace tool

/// The main of the command papcoll, over the algorithms of a catalogue.
inline int tool_main(int argc, const char* const* argv, Catalogue catalogue) {
  CLI::App app{"papcoll " + tool::version() + ": collectives, listed, proven and explained",
               "papcoll"};
  app.set_version_flag("--version", tool::version());
  app.require_subcommand(0, 1);
  bool as_json = false;
  int max_ranks = 32;
  std::vector<std::string> listed;
  std::vector<std::string> names;

  CLI::App* const list = app.add_subcommand("list", "Every algorithm: what it serves and requires");
  list->add_option("NAME", listed, "Only these: algorithms, policies or collectives");
  list->add_flag("--json", as_json, "A JSON array, an object for each algorithm and collective");
  CLI::App* const verify = app.add_subcommand(
      "verify", "Prove static schedules right for all ranks, roots and kinds of call");
  constexpr int most_ranks = 1024;
  verify->add_option("--max-ranks", max_ranks, "Prove 1 to this many ranks")
      ->check(CLI::Range(1, most_ranks))
      ->capture_default_str();
  verify->add_option("--algorithm", names, "Only this one, such as KNomial:5; repeatable")
      ->allow_extra_args(false);
  verify->add_flag("--json", as_json, "A JSON array, an object for each schedule and collective");
  tool::ExplainCommand explain;
  explain.add_to(app);

  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) throw CLI::RequiredError("A subcommand");
    if (explain.is_given()) {
      explain.run();
      return tool::all_well;
    }
    return *list ? tool::list(catalogue, listed, as_json)
                 : tool::verify(catalogue, names, max_ranks, as_json);
  } catch (const CLI::Success& e) {
    return app.exit(e);  // help, version
  } catch (const CLI::Error& e) {
    std::string command = "papcoll";
    for (const CLI::App* given : app.get_subcommands()) command += " " + given->get_name();
    std::fprintf(stderr, "papcoll: %s; see %s --help\n", e.what(), command.c_str());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  return tool::bad_input;
}

}  // namespace papcoll::inline PAPCOLL_ABI
