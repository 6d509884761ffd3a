// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Trace files as a recorder leaves them, made by tests.

#include <papcoll/profile/trace_format.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

/// The trace of one rank.
class TraceWriter {
 public:
  TraceWriter(std::int32_t rank, std::int32_t ranks, std::size_t records = 4096)
      : records_(records) {
    header.magic = papcoll::profile::trace_magic;
    header.version = papcoll::profile::trace_version;
    header.byte_order = papcoll::profile::trace_byte_order;
    header.header_bytes = sizeof header;
    header.run = 4711;
    header.world_rank = rank;
    header.world_size = ranks;
    header.pid = 1000 + rank;
    header.state = static_cast<std::uint32_t>(papcoll::profile::RunState::finished);
    header.began = 1'000'000'000;
    header.began_unix = 1'700'000'000'000'000'000;
    put(header.host, "host");
    put(header.boot, "boot");
    put(header.program, "/opt/solver");
    put(header.library, "Some MPI 1.0");
  }

  template <std::size_t n> static void put(std::array<char, n>& field, std::string_view text) {
    field.fill(0);
    std::copy_n(text.begin(), std::min(text.size(), n - 1), field.begin());
  }

  std::uint32_t module(std::string_view path, std::uint64_t base,
                       const std::vector<unsigned char>& build_id = {}) {
    papcoll::profile::Module m{};
    m.base = base;
    m.path_bytes = static_cast<std::uint32_t>(path.size());
    m.build_id_bytes = static_cast<std::uint32_t>(build_id.size());
    std::copy(build_id.begin(), build_id.end(), m.build_id.begin());
    put(m.path, path);
    modules.push_back(m);
    return static_cast<std::uint32_t>(modules.size() - 1);
  }

  std::uint32_t site(std::uint32_t of_module, std::uint64_t offset) {
    sites.push_back({modules[of_module].base + offset, offset, of_module, 0});
    return static_cast<std::uint32_t>(sites.size() - 1);
  }

  std::uint32_t communicator(std::string_view name, std::int32_t rank, std::int32_t size,
                             std::uint64_t hash, std::uint32_t ordinal = 0) {
    papcoll::profile::CommunicatorEntry e{};
    e.members_hash = hash;
    e.ordinal = ordinal;
    e.rank = rank;
    e.size = size;
    put(e.name, name);
    communicators.push_back(e);
    return static_cast<std::uint32_t>(communicators.size() - 1);
  }

  /// What a call of this rank is.
  struct Call {
    papcoll::profile::MpiCollective collective = papcoll::profile::MpiCollective::allreduce;
    std::uint64_t bytes = 8;
    std::uint32_t site = 0;
    std::uint32_t communicator = 0;
    std::int32_t root = -1;
    std::uint32_t flags = 0;
  };

  /// With exit 0 the rank is inside.
  void call(const Call& c, std::uint64_t arrival, std::uint64_t exit) {
    papcoll::profile::Record r{};
    r.arrival = arrival;
    r.exit = exit;
    r.bytes = c.bytes;
    r.number = communicators[c.communicator].calls++;
    r.index = ++header.records_begun;
    r.site = c.site;
    r.communicator = c.communicator;
    r.root = c.root;
    r.collective = static_cast<std::uint16_t>(c.collective);
    r.type = 13;
    r.op = 2;
    r.flags = c.flags;
    if (ring.size() < records_) ring.emplace_back();
    ring[(r.index - 1) % records_] = r;
    if (exit == 0) return;
    const std::uint64_t key = papcoll::profile::packed(
        {c.site, c.collective, c.flags, papcoll::profile::size_class_of(c.bytes)});
    auto total =
        std::find_if(totals.begin(), totals.end(), [key](const auto& t) { return t.key == key; });
    if (total == totals.end()) {
      totals.emplace_back();
      total = totals.end() - 1;
      total->key = key;
    }
    ++total->calls;
    total->time += exit - arrival;
    total->bytes += c.bytes;
    total->longest = std::max(total->longest, exit - arrival);
  }

  /// The bytes of the file.
  std::string bytes() {
    constexpr std::size_t spare = 2;
    std::uint64_t at = sizeof header;
    const auto table = [&at](std::uint64_t& begin, std::uint64_t& entries, std::uint64_t n,
                             std::uint64_t bytes_each) {
      begin = at;
      entries = n;
      at += n * bytes_each;
      at = (at + 63) / 64 * 64;
    };
    std::uint64_t slots = 16;
    while (slots < totals.size() * 2) slots *= 2;
    table(header.modules_at, header.modules, modules.size() + spare, sizeof modules[0]);
    table(header.sites_at, header.sites, sites.size() + spare, sizeof sites[0]);
    table(header.communicators_at, header.communicators, communicators.size() + spare,
          sizeof communicators[0]);
    table(header.totals_at, header.totals, slots, sizeof totals[0]);
    table(header.records_at, header.records, records_, sizeof ring[0]);
    header.file_bytes = at;
    header.modules_used = modules.size();
    header.sites_used = sites.size();
    header.communicators_used = communicators.size();
    std::string all(at, '\0');
    std::memcpy(all.data(), &header, sizeof header);
    const auto place = [&all](std::uint64_t begin, const auto& entries) {
      if (!entries.empty()) {
        std::memcpy(all.data() + begin, entries.data(), entries.size() * sizeof entries[0]);
      }
    };
    place(header.modules_at, modules);
    place(header.sites_at, sites);
    place(header.communicators_at, communicators);
    place(header.totals_at, totals);
    place(header.records_at, ring);
    return all;
  }

  static std::string name(std::int32_t rank) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "rank-%05d.trace", rank);
    return text.data();
  }

  /// Writes the file under its usual name.
  void write(const std::filesystem::path& directory) {
    std::ofstream{directory / name(header.world_rank), std::ios::binary} << bytes();
  }

  papcoll::profile::FileHeader header{};
  std::vector<papcoll::profile::Module> modules;
  std::vector<papcoll::profile::Site> sites;
  std::vector<papcoll::profile::CommunicatorEntry> communicators;
  std::vector<papcoll::profile::Total> totals;
  std::vector<papcoll::profile::Record> ring;

 private:
  std::size_t records_;
};

/// The traces of all ranks of a run, with MPI_COMM_WORLD and a few sites in one program.
class RunWriter {
 public:
  explicit RunWriter(int ranks, std::size_t sites = 3, std::size_t records = 4096) {
    for (int r = 0; r < ranks; ++r) {
      TraceWriter t{r, ranks, records};
      constexpr std::uint64_t base = 0x10000;
      const auto program = t.module("/opt/solver", base * static_cast<std::uint64_t>(r + 1));
      for (std::size_t s = 0; s < sites; ++s) t.site(program, site_offset(s));
      t.communicator("MPI_COMM_WORLD", r, ranks, 77);
      traces.push_back(t);
    }
  }

  static std::uint64_t site_offset(std::size_t site) { return 0x100 + 0x20 * site; }

  /// One call of all ranks, `arrivals` in nanoseconds after `at`; all leave `tail` after the last.
  void call(const TraceWriter::Call& c, std::uint64_t at, const std::vector<double>& arrivals,
            std::uint64_t tail = 1000) {
    const double last = *std::max_element(arrivals.begin(), arrivals.end());
    for (std::size_t r = 0; r < traces.size(); ++r) {
      traces[r].call(c, at + static_cast<std::uint64_t>(arrivals[r]),
                     at + static_cast<std::uint64_t>(last) + tail);
    }
  }

  void write(const std::filesystem::path& directory) {
    for (TraceWriter& t : traces) t.write(directory);
  }

  std::vector<TraceWriter> traces;
};
