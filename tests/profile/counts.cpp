// SPDX-License-Identifier: BSD-3-Clause
// counts DIR: what the sums of a profile's traces hold, in the words of all_collectives.cpp, and
// what the traces say of each rank: "RANK state N", "RANK module PATH" and so on.

#include <papcoll/profile/trace_format.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

using namespace papcoll::profile;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    if (entry.path().extension() == ".trace") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    FileHeader h{};
    if (bytes.size() < sizeof h) return 1;
    std::memcpy(&h, bytes.data(), sizeof h);
    if (h.file_bytes != bytes.size()) return 1;
    std::map<std::string, unsigned long> counts, message_bytes;
    for (std::uint64_t i = 0; i < h.totals; ++i) {
      Total t{};
      std::memcpy(&t, bytes.data() + h.totals_at + i * sizeof t, sizeof t);
      if (t.key == 0) continue;
      const TotalKey key = unpacked(t.key);
      std::string name(collective_names[static_cast<std::size_t>(key.collective)]);
      if ((key.flags & record_nonblocking) != 0) name += "(I)";
      if ((key.flags & record_persistent) != 0) name += "(P)";
      counts[name] += t.calls;
      message_bytes[name] += t.bytes;
    }
    for (const auto& [name, n] : counts) std::printf("%d %s %lu\n", h.world_rank, name.c_str(), n);
    for (const auto& [name, n] : message_bytes) {
      std::printf("%d bytes.%s %lu\n", h.world_rank, name.c_str(), n);
    }
    std::printf("%d state %u\n", h.world_rank, h.state);
    std::printf("%d communicators %lu\n", h.world_rank, h.communicators_used);
    std::printf("%d processors %d\n", h.world_rank, h.processors);
    std::printf("%d threads %lu\n", h.world_rank, h.threads_used);
    std::printf("%d records %lu of %lu\n", h.world_rank, h.records, h.records_begun);
    std::printf("%d lost %lu\n", h.world_rank, h.sites_lost + h.communicators_lost + h.totals_lost);
    std::printf(
        "%d clocks %d %lld %lld %lld %lld\n", h.world_rank, h.clock,
        static_cast<long long>(h.clock_begin.offset), static_cast<long long>(h.clock_begin.bound),
        static_cast<long long>(h.clock_end.offset), static_cast<long long>(h.clock_end.bound));
    for (std::uint64_t i = 0; i < h.communicators_used; ++i) {
      CommunicatorEntry c{};
      std::memcpy(&c, bytes.data() + h.communicators_at + i * sizeof c, sizeof c);
      std::printf("%d communicator.%016llx.%u size %d calls %llu\n", h.world_rank,
                  static_cast<unsigned long long>(c.members_hash), c.ordinal, c.size,
                  static_cast<unsigned long long>(c.calls));
    }
    for (std::uint64_t i = 0; i < h.modules_used; ++i) {
      Module m{};
      std::memcpy(&m, bytes.data() + h.modules_at + i * sizeof m, sizeof m);
      std::printf("%d module %.*s\n", h.world_rank, static_cast<int>(m.path_bytes), m.path.data());
    }
  }
  return 0;
}
