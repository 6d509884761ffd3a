// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A run as an OTF2 archive, for Vampir and other viewers: needs libotf2 from version 3 on.

#include <papcoll/base/error.hpp>
#include <papcoll/draw/svg.hpp>
#include <papcoll/report/report.hpp>
#include <papcoll/report/run.hpp>
#include <papcoll/report/words.hpp>

#ifdef PAPCOLL_TOOL_WITH_OTF2
#include <otf2/otf2.h>
#endif

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

#ifdef PAPCOLL_TOOL_WITH_OTF2

/// Writes regions for the collectives of all places, and their events, which have the sizes, roots
/// and communicators. Non-blocking collectives are regions only.
class Otf2Files {
 public:
  Otf2Files(const report::Report& r, const std::string& directory) : r_(r), directory_(directory) {
    std::error_code failed;
    const std::filesystem::path to{directory};
    if (std::filesystem::exists(to, failed) && !std::filesystem::is_empty(to, failed)) {
      throw argument_error("papcoll: --otf2: " + directory +
                           " is there and is not empty: name a new directory");
    }
    zero_ = report::first_arrival(r);
    for (std::size_t i = 0; i < r.run.ranks.size(); ++i) {
      for (const profile::Record& record : r.run.ranks[i].records) {
        ++events_of_[{i, record.thread}];
      }
      events_of_.try_emplace({i, std::uint16_t{0}}, 0);
    }
  }

  void write() {
    // Some calls succeed though their buffers were not written; this reports it, in place of
    // stderr.
    OTF2_Error_RegisterCallback(
        [](void* files, const char*, std::uint64_t, const char*, OTF2_ErrorCode code, const char*,
           va_list) {
          OTF2_ErrorCode& first = static_cast<Otf2Files*>(files)->first_error_;
          if (first == OTF2_SUCCESS && code > OTF2_SUCCESS) first = code;
          return code;
        },
        this);
    constexpr std::uint64_t event_chunk = std::uint64_t{1} << 20U;
    constexpr std::uint64_t definition_chunk = std::uint64_t{4} << 20U;
    archive_ = OTF2_Archive_Open(directory_.c_str(), "traces", OTF2_FILEMODE_WRITE, event_chunk,
                                 definition_chunk, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (archive_ == nullptr) fail("cannot be made");
    static const OTF2_FlushCallbacks flush{
        [](void*, OTF2_FileType, OTF2_LocationRef, void*, bool) -> OTF2_FlushType {
          return OTF2_FLUSH;
        },
        [](void*, OTF2_FileType, OTF2_LocationRef) { return OTF2_TimeStamp{0}; }};
    require(OTF2_Archive_SetFlushCallbacks(archive_, &flush, nullptr));
    require(OTF2_Archive_SetSerialCollectiveCallbacks(archive_));
    require(OTF2_Archive_SetCreator(archive_, "papcoll report"));
    require(OTF2_Archive_OpenEvtFiles(archive_));
    std::uint64_t location = 0;
    for (auto& [where, events] : events_of_) {
      locations_[where] = location;
      events = write_events(where.first, where.second, location);
      ++location;
    }
    require(OTF2_Archive_CloseEvtFiles(archive_));
    require(OTF2_Archive_OpenDefFiles(archive_));
    for (std::uint64_t l = 0; l < location; ++l) {
      OTF2_DefWriter* const writer = OTF2_Archive_GetDefWriter(archive_, l);
      if (writer == nullptr) fail("cannot be written");
      require(OTF2_Archive_CloseDefWriter(archive_, writer));
    }
    require(OTF2_Archive_CloseDefFiles(archive_));
    write_definitions();
    require(OTF2_Archive_Close(std::exchange(archive_, nullptr)));
    require(first_error_);
    is_whole_ = true;
  }

  Otf2Files(const Otf2Files&) = delete;
  Otf2Files& operator=(const Otf2Files&) = delete;
  ~Otf2Files() {
    if (archive_ != nullptr) OTF2_Archive_Close(archive_);
    OTF2_Error_RegisterCallback(nullptr, nullptr);
    if (is_whole_) return;
    // A piece of an archive is not left behind.
    std::error_code ignored;
    for (const char* const part : {"traces", "traces.def", "traces.otf2"}) {
      std::filesystem::remove_all(std::filesystem::path(directory_) / part, ignored);
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw error("papcoll: --otf2: the archive in " + directory_ + " " + what);
  }
  void require(OTF2_ErrorCode code) const {
    if (code != OTF2_SUCCESS) {
      const OTF2_ErrorCode why = first_error_ != OTF2_SUCCESS ? first_error_ : code;
      fail("cannot be written: " + std::string(OTF2_Error_GetDescription(why)));
    }
  }

  std::uint64_t write_events(std::size_t trace, std::uint16_t thread, std::uint64_t location) {
    OTF2_EvtWriter* const writer = OTF2_Archive_GetEvtWriter(archive_, location);
    if (writer == nullptr) fail("cannot be written");
    const report::RankTrace& rank = r_.run.ranks[trace];
    std::uint64_t events = 0;
    std::uint64_t now = 0;
    for (const profile::Record& record : rank.records) {
      if (record.thread != thread) continue;
      // Times of a thread never go back, whatever clocks and damaged files say.
      const auto at = [&](std::uint64_t time) {
        const std::int64_t since = r_.clocks.global(trace, time) - zero_;
        now = std::max(now, static_cast<std::uint64_t>(std::max<std::int64_t>(0, since)));
        return now;
      };
      const std::uint32_t on = rank.communicator(record);
      const OTF2_RegionRef region = region_of(rank, record);
      const bool collective = on != profile::no_entry && report::detail::kind_flags(record) == 0;
      const std::uint64_t arrival = at(record.arrival);
      require(OTF2_EvtWriter_Enter(writer, nullptr, arrival, region));
      ++events;
      if (collective) {
        require(OTF2_EvtWriter_MpiCollectiveBegin(writer, nullptr, arrival));
        ++events;
      }
      end_ = std::max(end_, arrival);
      if (record.exit == 0) continue;
      const std::uint64_t exit = at(record.exit);
      if (collective) {
        require(OTF2_EvtWriter_MpiCollectiveEnd(
            writer, nullptr, exit, operation(record.collective), on,
            record.root < 0 ? OTF2_UNDEFINED_UINT32 : static_cast<std::uint32_t>(record.root),
            record.bytes, record.bytes));
        ++events;
      }
      require(OTF2_EvtWriter_Leave(writer, nullptr, exit, region));
      ++events;
      end_ = std::max(end_, exit);
    }
    require(OTF2_Archive_CloseEvtWriter(archive_, writer));
    return events;
  }

  static OTF2_CollectiveOp operation(std::uint16_t collective) {
    // In the order of profile::MpiCollective; neighbourhoods' are told as those of all ranks.
    static constexpr std::array<OTF2_CollectiveOp, profile::collective_names.size()> all{
        OTF2_COLLECTIVE_OP_BARRIER,
        OTF2_COLLECTIVE_OP_BCAST,
        OTF2_COLLECTIVE_OP_GATHER,
        OTF2_COLLECTIVE_OP_GATHERV,
        OTF2_COLLECTIVE_OP_SCATTER,
        OTF2_COLLECTIVE_OP_SCATTERV,
        OTF2_COLLECTIVE_OP_ALLGATHER,
        OTF2_COLLECTIVE_OP_ALLGATHERV,
        OTF2_COLLECTIVE_OP_ALLTOALL,
        OTF2_COLLECTIVE_OP_ALLTOALLV,
        OTF2_COLLECTIVE_OP_ALLTOALLW,
        OTF2_COLLECTIVE_OP_REDUCE,
        OTF2_COLLECTIVE_OP_ALLREDUCE,
        OTF2_COLLECTIVE_OP_REDUCE_SCATTER,
        OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK,
        OTF2_COLLECTIVE_OP_SCAN,
        OTF2_COLLECTIVE_OP_EXSCAN,
        OTF2_COLLECTIVE_OP_ALLGATHER,
        OTF2_COLLECTIVE_OP_ALLGATHERV,
        OTF2_COLLECTIVE_OP_ALLTOALL,
        OTF2_COLLECTIVE_OP_ALLTOALLV,
        OTF2_COLLECTIVE_OP_ALLTOALLW};
    return all.at(collective);
  }

  /// A region for each collective and place.
  OTF2_RegionRef region_of(const report::RankTrace& rank, const profile::Record& record) {
    const auto next = static_cast<OTF2_RegionRef>(regions_.size());
    return regions_
        .try_emplace(
            std::tuple{record.collective, report::detail::kind_flags(record), rank.place(record)},
            next)
        .first->second;
  }

  OTF2_StringRef text(OTF2_GlobalDefWriter* writer, const std::string& any_words) {
    const std::string words = papcoll::detail::utf8_text(any_words);
    const auto [found, is_new] =
        texts_.try_emplace(words, static_cast<OTF2_StringRef>(texts_.size()));
    if (is_new) require(OTF2_GlobalDefWriter_WriteString(writer, found->second, words.c_str()));
    return found->second;
  }

  void write_definitions() {
    OTF2_GlobalDefWriter* const w = OTF2_Archive_GetGlobalDefWriter(archive_);
    if (w == nullptr) fail("cannot be written");
    constexpr std::uint64_t nanoseconds = 1'000'000'000;
    require(OTF2_GlobalDefWriter_WriteClockProperties(w, nanoseconds, 0, end_ + 1,
                                                      OTF2_UNDEFINED_TIMESTAMP));
    const OTF2_StringRef empty = text(w, "");
    std::map<std::int32_t, OTF2_SystemTreeNodeRef> nodes;
    for (const report::RankTrace& rank : r_.run.ranks) {
      const auto next = static_cast<OTF2_SystemTreeNodeRef>(nodes.size());
      if (!nodes.try_emplace(rank.header.node, next).second) continue;
      require(OTF2_GlobalDefWriter_WriteSystemTreeNode(
          w, next, text(w, report::detail::text_in(rank.header.host)), text(w, "node"),
          OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    }
    std::vector<std::uint64_t> masters;
    for (std::size_t i = 0; i < r_.run.ranks.size(); ++i) {
      const report::RankTrace& rank = r_.run.ranks[i];
      require(OTF2_GlobalDefWriter_WriteLocationGroup(
          w, static_cast<OTF2_LocationGroupRef>(i), text(w, "rank " + std::to_string(rank.rank())),
          OTF2_LOCATION_GROUP_TYPE_PROCESS, nodes.at(rank.header.node),
          OTF2_UNDEFINED_LOCATION_GROUP));
      masters.push_back(locations_.at({i, std::uint16_t{0}}));
    }
    for (const auto& [where, events] : events_of_) {
      require(OTF2_GlobalDefWriter_WriteLocation(
          w, locations_.at(where), text(w, "thread " + std::to_string(where.second)),
          OTF2_LOCATION_TYPE_CPU_THREAD, events, static_cast<OTF2_LocationGroupRef>(where.first)));
    }
    for (const auto& [what, region] : regions_) {
      write_region(w, what, region, empty);
    }
    const auto processes = static_cast<std::uint32_t>(masters.size());
    require(OTF2_GlobalDefWriter_WriteGroup(w, 0, text(w, "MPI"), OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                            OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, processes,
                                            masters.data()));
    for (std::uint32_t c = 0; c < r_.run.communicators.size(); ++c) {
      std::vector<std::uint64_t> members;
      for (const report::Communicator::Member& m : r_.run.communicators[c].members) {
        members.push_back(m.trace);
      }
      require(OTF2_GlobalDefWriter_WriteGroup(
          w, c + 1, empty, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
          static_cast<std::uint32_t>(members.size()), members.data()));
      require(OTF2_GlobalDefWriter_WriteComm(w, c, text(w, r_.run.communicators[c].name), c + 1,
                                             OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
    }
  }

  using What = std::tuple<std::uint16_t, std::uint32_t, std::uint32_t>;

  void write_region(OTF2_GlobalDefWriter* w, const What& what, OTF2_RegionRef region,
                    OTF2_StringRef empty) {
    const auto [collective, flags, place] = what;
    const auto c = static_cast<profile::MpiCollective>(collective);
    const OTF2_StringRef name = text(w, report::name_of(c, flags));
    const bool known = place < r_.run.places.size();
    const OTF2_StringRef file = known ? text(w, r_.run.places[place].file) : empty;
    const std::uint32_t line = known ? r_.run.places[place].line : 0;
    require(OTF2_GlobalDefWriter_WriteRegion(
        w, region, name, name, text(w, report::place_text(r_.run, place)),
        c == profile::MpiCollective::barrier ? OTF2_REGION_ROLE_BARRIER
                                             : OTF2_REGION_ROLE_COLL_OTHER,
        OTF2_PARADIGM_MPI, OTF2_REGION_FLAG_NONE, file, line, line));
  }

  const report::Report& r_;
  std::string directory_;
  OTF2_Archive* archive_ = nullptr;
  OTF2_ErrorCode first_error_ = OTF2_SUCCESS;
  bool is_whole_ = false;
  std::int64_t zero_ = 0;
  std::uint64_t end_ = 0;
  std::map<std::pair<std::size_t, std::uint16_t>, std::uint64_t> events_of_;
  std::map<std::pair<std::size_t, std::uint16_t>, std::uint64_t> locations_;
  std::map<What, OTF2_RegionRef> regions_;
  std::map<std::string, OTF2_StringRef> texts_;
};

/// Writes the archive; throws argument_error and error.
inline void write_otf2(const report::Report& r, const std::string& directory) {
  Otf2Files{r, directory}.write();
}

#else

/// Says how to get it.
[[noreturn]] inline void write_otf2(const report::Report&, const std::string&) {
  throw argument_error(
      "papcoll: --otf2: this papcoll was built without OTF2: install it (Debian's package "
      "libopen-trace-format2-dev, version 3 or later) and build papcoll again");
}

#endif

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
