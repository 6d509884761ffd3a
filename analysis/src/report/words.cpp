// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/words.hpp>

#include <papcoll/report/call_text.hpp>
#include <papcoll/report/one_way.hpp>
#include <papcoll/report/report.hpp>
#include <papcoll/report/run.hpp>
#include <papcoll/report/time_words.hpp>
#include <papcoll/simulate/quantity_text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {
namespace {

/// "12 % of the 3.87 s recorded": of the time that lateness has costs of.
std::string part_text(const Report& r, double cost) {
  const std::string time = time_text(r.lateness.span);
  return percent_text(cost) + " of the " + time +
         (r.is_whole ? " recorded" : " that there are records of");
}
}  // namespace

std::string sentence(const Report& r, const Straggler& s) {
  const Lateness& at = s.at;
  const Call& c = r.calls.calls[s.example];
  std::string text = "Rank " + std::to_string(at.rank) + " is " +
                     (s.kind == Straggler::Kind::often         ? "often late at "
                      : s.kind == Straggler::Kind::for_a_while ? "late for a while at "
                                                               : "late at ") +
                     place_text(r.run, at.own_place) + ", " +
                     call_text(c.collective, c.flags, c.bytes) + ": ";
  const std::string calls = std::to_string(at.calls) + " calls";
  if (s.kind == Straggler::Kind::always) {
    const auto parts = static_cast<std::size_t>(std::count_if(
        at.lasts_of_part.begin(), at.lasts_of_part.end(), [](std::uint64_t n) { return n > 0; }));
    text += "it came last in " + std::to_string(at.lasts) + " of " + calls + " (" +
            percent_text(at.share()) + "; by chance it would be " +
            percent_text(at.by_chance / static_cast<double>(at.calls)) + "), typically by " +
            time_text(s.typical) +
            (parts == time_parts ? ", all through the run." : ", in most parts of the run.");
  } else if (s.kind == Straggler::Kind::for_a_while) {
    const auto since = [&r](std::uint32_t call) {
      return time_text(static_cast<double>(r.calls.calls[call].begin - r.calls.calls[0].begin));
    };
    text += "from " + since(s.from) + " to " + since(s.to) +
            " after the first call of the records it came last in " + std::to_string(s.times) +
            " of its " + calls + ", typically by " + time_text(s.typical) + ".";
  } else {
    text += "in " + std::to_string(s.times) + " of " + calls + " (" +
            percent_text(static_cast<double>(s.times) / static_cast<double>(at.calls)) + ") by " +
            time_text(s.typical) + " typically and " + time_text(s.worst) +
            " at most, and hardly another rank is ever as late.";
  }
  return text + " Each other rank waited " + time_text(s.cost * r.lateness.span) + " for it, " +
         part_text(r, s.cost) + ".";
}

static std::string sentence(const Report& r, const LateGroup& g) {
  const Call& c = r.calls.calls[g.example];
  return capital(ranks_text(g.ranks)) + " are late together at " + place_text(r.run, g.place) +
         ", " + call_text(c.collective, c.flags, c.bytes) + ": in " + std::to_string(g.times) +
         " of " + std::to_string(g.calls) +
         " calls or more each of them came after all others, typically by " + time_text(g.typical) +
         ". Each other rank waited " + time_text(g.cost * r.lateness.span) + " for them, " +
         part_text(r, g.cost) + ".";
}

static std::string sentence(const Report& r, const SingleDelay& d) {
  const Call& c = r.calls.calls[d.call];
  const double at = static_cast<double>(c.begin - r.calls.calls.front().begin);
  return "Rank " + std::to_string(d.rank) + " was late once, by " + time_text(d.gap) +
         ": in call " + std::to_string(c.number) + " on " +
         r.run.communicators[c.communicator].name + ", " +
         call_text(c.collective, c.flags, c.bytes) + " at " + place_text(r.run, c.place) + ", " +
         time_text(at) + " after the first call of the records.";
}

namespace {

/// Returns what a rank does that has not come, as the end of a sentence.
std::string whereabouts_text(const Run& run, const Whereabouts& w) {
  using Kind = Whereabouts::Kind;
  const std::string last =
      w.call ? "its last call was " + call_text(run, *w.call) : "it has called no collective";
  const std::string since = w.since ? " for " + papcoll::detail::duration_text(*w.since) : "";
  switch (w.kind) {
    case Kind::inside: return "it is inside " + call_text(run, *w.call) + since;
    case Kind::outside: return "it is at work outside of collectives" + since + "; " + last;
    case Kind::finalizing: return "it is in MPI_Finalize; " + last;
    case Kind::finished: return "it has finished; " + last;
    case Kind::exited: return "it left without MPI_Finalize; " + last;
    case Kind::aborted:
      return "it called MPI_Abort with code " + std::to_string(w.abort_code) + "; " + last;
    case Kind::gone: break;
  }
  return w.in_call ? "its process ended inside " + call_text(run, *w.call)
                   : "its process has ended; " + last;
}

std::string skipped_text(const Run& run, const Skipped& s) {
  return " Rank " + std::to_string(s.rank) + " left out " + call_text(run, s.call) +
         ", which the others made.";
}
}  // namespace

static std::string sentence(const Report& r, const Unfinished& u) {
  const bool one = u.inside.size() == 1;
  std::string text = capital(call_text(r.run, u.call)) + ": " + ranks_text(u.inside) +
                     (r.ending.alive ? one ? " is inside" : " are inside"
                      : one          ? " was inside"
                                     : " were inside");
  if (u.since) text += " for " + papcoll::detail::duration_text(*u.since);
  if (u.missing.empty() && u.untraced == 0) return text + " when the run ended.";
  // Ranks with the same text are reported together, once.
  std::vector<std::pair<std::string, std::vector<std::int32_t>>> groups;
  for (const Whereabouts& w : u.missing) {
    std::string what = whereabouts_text(r.run, w);
    const bool is_here = w.call && w.call->communicator == u.call.communicator;
    if (!is_here) {
      what += "; on " + r.run.communicators[u.call.communicator].name + " it has made " +
              counted(w.calls, "call");
    }
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&what](const auto& g) { return g.first == what; });
    if (same == groups.end()) {
      groups.push_back({what, {w.rank}});
    } else {
      same->second.push_back(w.rank);
    }
  }
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < groups.size() && i < most; ++i) {
    const bool single = groups[i].second.size() == 1;
    text += "; " + ranks_text(groups[i].second) + (single ? " has" : " have") +
            " not come: " + (single ? "" : "of each: ") + groups[i].first;
  }
  if (groups.size() > most) text += "; and more";
  if (u.untraced > 0) {
    text += "; of " + counted(u.untraced, "member") + " there is no trace";
  }
  text += ".";
  return u.skipped ? text + skipped_text(r.run, *u.skipped) : text;
}

static std::string sentence(const Report& r, const Mismatch& m) {
  std::string text = capital(call_text(r.run, m.call)) + ": ";
  for (std::size_t i = 0; i < m.others.size(); ++i) {
    CallOf other = m.others[i].second;
    other.communicator = profile::no_entry;  // the same
    text += (i == 0 ? "" : ", ") + ("rank " + std::to_string(m.others[i].first)) + " called " +
            call_text(r.run, other);
  }
  text += " instead.";
  if (m.calls > 1) {
    text += " This is the first of " + std::to_string(m.calls) +
            " calls on this communicator in which ranks differ.";
  }
  return m.skipped ? text + skipped_text(r.run, *m.skipped) : text;
}

namespace {

std::string nobody(const Report& r) {
  if (r.all.calls == 0) {
    return "Nothing can be said of who is late: there is no call of several ranks of which the "
           "records of all are there.";
  }
  const auto& ranks = r.lateness.ranks;
  const auto most =
      std::max_element(ranks.begin(), ranks.end(),
                       [](const Lateness& a, const Lateness& b) { return a.share() < b.share(); });
  std::string text = "No rank stands out";
  if (most == ranks.end() || most->lasts == 0) return text + ".";
  return text + ": most often last is rank " + std::to_string(most->rank) + ", in " +
         percent_text(most->share()) + " of its calls, where chance gives " +
         percent_text(most->by_chance / static_cast<double>(most->calls)) +
         ", and this is not by so much, or does not cost so much, that it would be named.";
}
}  // namespace
}  // namespace detail

/// Returns true if papcoll, compiled into the program, called MPI.
static bool calls_papcoll(const Run& run) {
  return std::any_of(run.places.begin(), run.places.end(), [](const Place& p) {
    return p.function.find("papcoll::") != std::string::npos &&
           file_name(p.module).compare(0, 10, "libpapcoll") != 0;
  });
}

std::vector<Finding> findings(const Report& r) {
  std::vector<Finding> all;
  const auto add = [&all](Finding::Kind kind, std::string text) {
    all.push_back({kind, std::move(text)});
  };
  if (!r.run.hint.empty()) add(Finding::Kind::fault, r.run.hint);
  for (const Unfinished& u : r.ending.unfinished) {
    if (u.hopeless) add(Finding::Kind::fault, detail::sentence(r, u));
  }
  for (const Mismatch& m : r.ending.mismatches) {
    const bool told = std::any_of(
        r.ending.unfinished.begin(), r.ending.unfinished.end(), [&m](const Unfinished& u) {
          return u.hopeless && u.call.communicator == m.call.communicator && m.calls == 1 &&
                 u.call.number == m.call.number;
        });
    if (!told) add(Finding::Kind::fault, detail::sentence(r, m));
  }
  if (r.ending.early) {
    std::map<std::string, std::vector<std::int32_t>> how;
    for (const Whereabouts& w : r.ending.not_finished) {
      using Kind = Whereabouts::Kind;
      how[w.kind == Kind::aborted  ? "called MPI_Abort with code " + std::to_string(w.abort_code)
          : w.kind == Kind::exited ? "left without MPI_Finalize"
                                   : "ended without a word, as a killed process does"]
          .push_back(w.rank);
    }
    std::string text = "The run ended early:";
    for (const auto& [what, ranks] : how) {
      text += (text.back() == ':' ? " " : "; ") + detail::ranks_text(ranks) + " " + what;
    }
    add(Finding::Kind::fault, text + ".");
  }
  if (calls_papcoll(r.run)) {
    add(Finding::Kind::unseen,
        "The program calls papcoll. Its calls of papcoll's collectives are not recorded; what "
        "follows is of its calls of MPI's, and of those by which papcoll makes its communicators.");
  }
  for (const CrowdedNodes& n : r.time_use.crowded) {
    add(Finding::Kind::crowded, detail::sentence(n));
  }
  const std::vector<ClockFault>& wrong = r.clocks.faults();
  constexpr std::size_t most = 4;
  std::vector<std::int32_t> more;  // ranks with further ones
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    if (i < most) {
      add(Finding::Kind::clock, detail::sentence(r, wrong[i]));
    } else {
      more.insert(more.end(), wrong[i].ranks.begin(), wrong[i].ranks.end());
    }
  }
  if (!more.empty()) {
    add(Finding::Kind::clock, "So it is with " +
                                  detail::counted(wrong.size() - most, "more clock") + ", of " +
                                  detail::ranks_text(more) + ".");
  }
  for (const Straggler& s : r.lateness.stragglers) {
    add(Finding::Kind::straggler, detail::sentence(r, s));
  }
  for (const LateGroup& g : r.late_groups) {
    add(Finding::Kind::straggler, detail::sentence(r, g));
  }
  const bool late = !r.lateness.stragglers.empty() || !r.late_groups.empty();
  if (r.rank_seconds > 0 && r.time_use.top.calls > 0) {
    add(Finding::Kind::time, detail::time_sentence(r, late));
  }
  if (!late) add(Finding::Kind::nothing, detail::nobody(r));
  for (const SingleDelay& d : r.lateness.single_delays) {
    add(Finding::Kind::single_delay, detail::sentence(r, d));
  }
  return all;
}

std::vector<std::string> waiting_now(const Report& r) {
  std::vector<std::string> all;
  for (const Unfinished& u : r.ending.unfinished) {
    if (!u.hopeless) all.push_back(detail::sentence(r, u));
  }
  return all;
}

std::vector<std::string> remarks(const Report& r) {
  std::vector<std::string> all = r.run.notes;
  if (r.ranges.front().name == "small") {
    std::string sizes = "Sizes of messages: ";
    for (std::size_t i = 0; i + 1 < r.ranges.size(); ++i) {
      sizes += r.ranges[i].name + " up to " + papcoll::detail::bytes_text(r.ranges[i].most) + ", ";
    }
    all.push_back(sizes + r.ranges.back().name + " beyond.");
  }
  const Coverage& c = r.coverage;
  if (c.kept < c.begun) {
    all.push_back("Of " + std::to_string(c.begun) + " calls of the ranks the latest " +
                  std::to_string(c.kept) +
                  " have records: imbalance is that of these. Calls and time are of all.");
  }
  if (!r.has_alpha) {
    all.push_back(
        "There are no imbalance factors: the time of a message was not measured in this run.");
  }
  if (std::any_of(r.totals.begin(), r.totals.end(),
                  [](const TotalRow& t) { return t.flags != 0; })) {
    all.push_back(
        "Of non-blocking and persistent calls the start counts: how long ranks wait for them "
        "to end is not recorded.");
  }
  std::vector<std::int32_t> unknown;
  for (std::size_t i = 0; i < r.run.ranks.size(); ++i) {
    if (!r.clocks.is_known(i)) unknown.push_back(r.run.ranks[i].rank());
  }
  std::vector<double> bounds;
  for (const Imbalance& i : r.imbalances) {
    if (i.known && i.bound > 0 && i.bound < Clocks::never) bounds.push_back(i.bound);
  }
  constexpr double most = 0.9;
  const double bound = percentile(bounds, most);
  const double worst = percentile(bounds, 1);
  if (!unknown.empty()) {
    all.push_back("The clocks of " + detail::ranks_text(unknown) +
                  " were not compared with that of rank 0: between them and others nothing is "
                  "told.");
  }
  if (worst > 0) {
    all.push_back(
        "Clocks of different machines are compared up to " + time_text(bound) +
        (worst > 2 * bound ? " in most calls, " + time_text(worst) + " in the worst" : "") +
        ": imbalance is what is beyond that.");
  }
  if (r.ending.more_unfinished > 0) {
    all.push_back("Of " + detail::counted(r.ending.more_unfinished, "more call") +
                  " that ranks are inside nothing is told.");
  }
  if (r.ending.alive) all.push_back("The program is still running: this is the state of now.");
  return all;
}

namespace {

/// "16 ranks on 2 nodes (n0, n1)".
std::string ranks_and_nodes(const Run& run) {
  std::map<std::int32_t, std::string> nodes;
  for (const RankTrace& r : run.ranks) {
    nodes.emplace(r.header.node, detail::text_in(r.header.host));
  }
  std::vector<std::string> hosts;
  hosts.reserve(nodes.size());
  for (const auto& [node, host] : nodes) hosts.push_back(host);
  return detail::counted(static_cast<std::uint64_t>(run.world_size), "rank") + " on " +
         detail::nodes_text(hosts);
}
}  // namespace

namespace detail {
namespace {

/// Returns true if a program runs others, which its arguments name.
bool is_interpreter(const std::string& name) {
  for (const std::string_view known : {"python", "pypy", "perl", "ruby", "julia", "Rscript", "R",
                                       "octave", "lua", "tclsh", "node", "java"}) {
    if (!name.starts_with(known)) continue;
    // Digits and dots may follow: python3.11.
    if (name.find_first_not_of("0123456789.", known.size()) == std::string::npos) return true;
  }
  return false;
}

/// Returns an interpreter's arguments up to what it runs.
std::string script_in(const std::string& arguments) {
  std::string text;
  bool is_value = false;
  for (std::size_t i = 0; i < arguments.size();) {
    const std::size_t end = std::min(arguments.find(' ', i), arguments.size());
    const std::string word = arguments.substr(i, end - i);
    i = end + 1;
    if (word.empty()) continue;
    text += " " + word;
    if (word == "-c" || word == "-e") return text + " …";
    if (word[0] != '-' && !is_value) break;
    is_value = word == "-m" || word == "-W" || word == "-X";
    if (word == "-m" && !arguments.substr(i).starts_with("mpi4py")) {
      return text + " " + arguments.substr(i, arguments.find(' ', i) - i);
    }
  }
  return text;
}
}  // namespace
}  // namespace detail

std::string program_of(const Run& run) {
  const profile::FileHeader& h = run.ranks.front().header;
  const std::string program = detail::text_in(h.program);
  if (program.empty()) return "a program";
  return detail::is_interpreter(file_name(program))
             ? program + detail::script_in(detail::text_in(h.arguments))
             : program;
}

std::string about(const Report& r) {
  return ranks_and_nodes(r.run) + (r.run.spawned ? ", started by MPI_Comm_spawn" : "") +
         ", recorded for " +
         papcoll::detail::duration_text(r.rank_seconds / static_cast<double>(r.run.ranks.size()));
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
