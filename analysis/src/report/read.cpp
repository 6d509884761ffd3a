// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/read.hpp>

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/floating_order.hpp>
#include <papcoll/profile/trace_format.hpp>
#include <papcoll/report/run.hpp>
#include <papcoll/report/trace_file.hpp>
#include <papcoll/report/trace_finder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {
namespace {

/// Makes what the ranks share, as places and communicators, and reads the rest of their files.
class RunReader {
 public:
  /// `wanted`: see read_run().
  RunReader(std::string directory, std::string wanted) : finder_(run_, std::move(wanted)) {
    run_.directory = std::move(directory);
  }

  Run read() {
    std::vector<FoundTrace> candidates = finder_.find();
    std::uint64_t calls = 0;
    std::sort(candidates.begin(), candidates.end(), [](const FoundTrace& a, const FoundTrace& b) {
      return a.header.world_rank < b.header.world_rank;
    });
    for (const FoundTrace& c : candidates) {
      if (!run_.ranks.empty() && run_.ranks.back().rank() == c.header.world_rank) {
        note(c.file, "it is of rank " + std::to_string(c.header.world_rank) + ", of which " +
                         run_.ranks.back().file + " is, too");
        continue;
      }
      RankTrace rank;
      if (!read(c, rank)) continue;
      calls += rank.begun;
      run_.ranks.push_back(std::move(rank));
    }
    if (run_.ranks.empty()) {
      throw argument_error("papcoll: none of the trace files in " + run_.directory +
                           " can be read: " + run_.notes.back());
    }
    missing();
    name_communicators();
    if (calls == 0) {
      throw argument_error("papcoll: no rank in " + run_.directory + " has called a collective" +
                           (std::any_of(run_.ranks.begin(), run_.ranks.end(),
                                        [](const RankTrace& r) { return r.alive; })
                                ? " yet"
                                : ": there is nothing to report"));
    }
    return std::move(run_);
  }

 private:
  void note(const std::string& file, const std::string& what) { finder_.note(file, what); }

  void missing() {
    std::vector<RankRange> none;
    std::int32_t next = 0;
    const auto up_to = [&](std::int32_t rank) {
      if (next < rank) none.emplace_back(next, rank - 1);
      next = rank + 1;
    };
    for (const RankTrace& r : run_.ranks) up_to(r.rank());
    up_to(run_.world_size);
    if (none.empty()) return;
    const bool one = none.size() == 1 && none[0].first == none[0].second;
    run_.notes.push_back("There is no trace of " + ranks_text(none) + ": calls with " +
                         (one ? "it" : "them") + " are known in part only.");
    const std::string elsewhere = finder_.elsewhere_text(run_.number);
    if (!elsewhere.empty()) run_.notes.push_back("Of these traces, " + elsewhere + ".");
  }

  /// Sorts the members by rank, and calls communicators without a name by their members.
  void name_communicators() {
    for (Communicator& c : run_.communicators) {
      std::sort(c.members.begin(), c.members.end(),
                [](const auto& a, const auto& b) { return a.rank < b.rank; });
      if (!c.name.empty()) continue;
      std::vector<std::int32_t> ranks;
      for (const Communicator::Member& m : c.members) ranks.push_back(world_rank(run_, m));
      std::sort(ranks.begin(), ranks.end());
      constexpr std::size_t most_text = 60;
      c.name = "communicator of " + ranks_text(ranks);
      const auto size = static_cast<std::uint64_t>(c.size);
      if (c.name.size() > most_text || ranks.size() < size) {
        c.name = "communicator of " + counted(size, "rank");
      }
      if (c.ordinal > 0) c.name += ", number " + std::to_string(c.ordinal + 1);
    }
  }

  bool read(const FoundTrace& c, RankTrace& rank) {
    const TraceFile file{c.file, finder_.home_of(c.file)};
    rank.file = c.file;
    // First whether it lives: of one that ends meanwhile more is read than it is asked for.
    rank.alive = file.is_open() && file.has_writer();
    if (!file.is_open() || !file.read(0, &rank.header, sizeof rank.header) ||
        !fault_of(rank.header, file.bytes()).empty()) {
      note(c.file, "it changed while it was read");
      return false;
    }
    const profile::FileHeader& h = rank.header;
    rank.begun = h.records_begun;
    if (!records(file, rank)) {
      note(c.file, "its records cannot be read");
      return false;
    }
    // The tables after the records, so that what the records name is in them.
    profile::FileHeader later;
    if (!file.read(0, &later, sizeof later) || !fault_of(later, file.bytes()).empty() ||
        !tables(file, later, rank)) {
      note(c.file, "its tables cannot be read");
      return false;
    }
    rank.header.state = later.state;
    rank.header.ended = later.ended;
    rank.header.abort_code = later.abort_code;
    check(rank);
    if (h.totals_lost > 0) {
      note(c.file, counted(h.totals_lost, "call") + " are in no total: the table was full");
    }
    if (h.sites_lost > 0) {
      note(c.file, counted(h.sites_lost, "call") + " have no place: the table of sites was full");
    }
    if (h.communicators_lost > 0) {
      note(c.file, counted(h.communicators_lost, "communicator") +
                       " found no room in the table: their calls are in the totals only");
    }
    return true;
  }

  /// The ring. A record counts if its index is the expected one before and after it is copied.
  static bool records(const TraceFile& file, RankTrace& rank) {
    const std::uint64_t room = rank.header.records;
    const std::uint64_t begun = rank.begun;
    if (room == 0 || begun == 0) return true;
    const std::uint64_t first = begun > room ? begun - room + 1 : 1;
    rank.records.reserve(static_cast<std::size_t>(std::min(begun, room)));
    constexpr std::uint64_t at_once = std::uint64_t{1} << 15U;
    std::vector<profile::Record> before;
    std::vector<profile::Record> copy;
    std::vector<profile::Record> after;
    for (std::uint64_t index = first; index <= begun && index != 0;) {
      const std::uint64_t slot = (index - 1) % room;
      const std::uint64_t n = std::min({at_once, room - slot, begun - index + 1});
      const std::uint64_t at = rank.header.records_at + slot * sizeof(profile::Record);
      copy.resize(static_cast<std::size_t>(n));
      if (rank.alive) {
        before.resize(copy.size());
        after.resize(copy.size());
        if (!file.read(at, before) || !file.read(at, copy) || !file.read(at, after)) return false;
      } else if (!file.read(at, copy)) {
        return false;
      }
      for (std::size_t i = 0; i < copy.size(); ++i, ++index) {
        const bool is_whole =
            copy[i].index == index &&
            (!rank.alive || (before[i].index == index && after[i].index == index));
        if (is_whole) rank.records.push_back(copy[i]);
      }
    }
    return true;
  }

  bool tables(const TraceFile& file, const profile::FileHeader& h, RankTrace& rank) {
    std::vector<profile::Module> modules(
        static_cast<std::size_t>(std::min(h.modules_used, h.modules)));
    std::vector<profile::Site> sites(static_cast<std::size_t>(std::min(h.sites_used, h.sites)));
    rank.communicators.resize(
        static_cast<std::size_t>(std::min(h.communicators_used, h.communicators)));
    rank.totals.resize(static_cast<std::size_t>(h.totals));
    if (!file.read(h.modules_at, modules) || !file.read(h.sites_at, sites) ||
        !file.read(h.communicators_at, rank.communicators) ||
        !file.read(h.totals_at, rank.totals)) {
      return false;
    }
    std::erase_if(rank.totals, [](const profile::Total& t) {
      return t.key == 0 || static_cast<std::size_t>(profile::unpacked(t.key).collective) >=
                               profile::collective_names.size();
    });
    rank.totals.shrink_to_fit();
    for (const profile::Site& s : sites) rank.places.push_back(place(s, modules));
    const auto trace = static_cast<std::uint32_t>(run_.ranks.size());
    for (std::size_t i = 0; i < rank.communicators.size(); ++i) {
      rank.communicator_of.push_back(
          communicator(rank.communicators[i], trace, static_cast<std::uint32_t>(i)));
    }
    return true;
  }

  std::uint32_t place(const profile::Site& site, const std::vector<profile::Module>& modules) {
    Place p;
    p.offset = site.offset;
    p.address = site.address;
    if (site.module < modules.size()) {
      const profile::Module& m = modules[site.module];
      p.module = text_in(m.path, m.path_bytes);
      constexpr std::string_view digits = "0123456789abcdef";
      const std::size_t n = std::min<std::size_t>(m.build_id_bytes, m.build_id.size());
      for (std::size_t i = 0; i < n; ++i) {
        p.build_id += digits[m.build_id[i] / 16U];
        p.build_id += digits[m.build_id[i] % 16U];
      }
      if (n == 0) std::memcpy(&p.stamp, m.build_id.data(), sizeof p.stamp);
    } else {
      p.offset = site.address;
    }
    const auto [found, is_new] = places_.emplace(std::tuple{p.module, p.build_id, p.offset},
                                                 static_cast<std::uint32_t>(run_.places.size()));
    if (is_new) run_.places.push_back(std::move(p));
    return found->second;
  }

  std::uint32_t communicator(const profile::CommunicatorEntry& e, std::uint32_t trace,
                             std::uint32_t entry) {
    // Of members outside MPI_COMM_WORLD there is no trace: such calls are in the totals only.
    if ((e.flags & profile::communicator_foreign) != 0 || e.size <= 0 || e.size > run_.world_size ||
        e.rank < 0 || e.rank >= e.size) {
      return profile::no_entry;
    }
    const auto [found, is_new] =
        communicators_.emplace(std::tuple{e.members_hash, e.ordinal, e.size},
                               static_cast<std::uint32_t>(run_.communicators.size()));
    if (is_new) {
      run_.communicators.push_back({e.members_hash, e.ordinal, 0, e.size, text_in(e.name), {}});
    }
    Communicator& c = run_.communicators[found->second];
    c.flags |= e.flags;
    if (!members_.emplace(found->second, e.rank).second) return profile::no_entry;
    c.members.push_back({e.rank, trace, entry});
    return found->second;
  }

  /// Leaves out records that make no sense.
  void check(RankTrace& rank) {
    const std::size_t all = rank.records.size();
    std::erase_if(rank.records, [&rank](const profile::Record& r) {
      return r.arrival >= most_time || r.exit >= most_time || r.arrival == 0 ||
             (r.exit != 0 && r.exit < r.arrival) ||
             r.collective >= profile::collective_names.size() ||
             (r.communicator < rank.communicators.size() &&
              r.number >= rank.communicators[r.communicator].calls);
    });
    for (profile::Record& r : rank.records) {
      if (r.type >= profile::type_names.size()) r.type = 0;
      if (r.op >= profile::op_names.size()) r.op = 0;
    }
    rank.damaged = all - rank.records.size();
    if (rank.damaged > 0) {
      note(rank.file, counted(rank.damaged, "record") +
                          " make no sense and are left out: the file " + "is damaged");
    }
    for (auto* times : {&rank.header.one_way_on_node, &rank.header.one_way_between_nodes}) {
      constexpr double most_one_way = 1e12;
      for (double& t : *times)
        t = papcoll::detail::is_finite(t) && t > 0 && t < most_one_way ? t : 0;
    }
  }

  Run run_;
  TraceFinder finder_;
  std::map<std::tuple<std::string, std::string, std::uint64_t>, std::uint32_t> places_;
  std::map<std::tuple<std::uint64_t, std::uint32_t, std::int32_t>, std::uint32_t> communicators_;
  std::set<std::pair<std::uint32_t, std::int32_t>> members_;  ///< communicators and ranks in them
};
}  // namespace
}  // namespace detail

Run read_run(const std::string& directory, const std::string& run) {
  return detail::RunReader{directory, run}.read();
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
