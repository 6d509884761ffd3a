// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/profile/profile_error.hpp>
#include <papcoll/profile/rank_file.hpp>

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

namespace papcoll::inline PAPCOLL_ABI {
namespace profile {

/// What the environment says.
struct Settings {
  /// PAPCOLL_PROFILE_OUTPUT: where the trace files are in the end; "papcoll-profile" if unset.
  std::string directory = "papcoll-profile";
  /// PAPCOLL_PROFILE_LOCAL_DIR: where they are while the program runs; empty: in `directory`, or if
  /// that lies on another machine, below TMPDIR.
  std::string local_directory;
  /// PAPCOLL_PROFILE_RECORD_MIB: MiB of records for each rank, a power of two up to 65536; the
  /// default is
  /// 16.
  TableSizes sizes;
  /// PAPCOLL_PROFILE_JOB_ID: what papcoll-profile calls the job, so that it finds its own run in a
  /// directory of several; hexadecimal digits. 0: it has no name.
  std::uint64_t job = 0;
};

/// Reads the environment; throws profile_error.
inline Settings settings_of_environment() {
  Settings s;
  const auto text = [](const char* name) -> std::string_view {
    const char* const t = std::getenv(name);
    return t == nullptr ? "" : t;
  };
  if (!text("PAPCOLL_PROFILE_OUTPUT").empty()) s.directory = text("PAPCOLL_PROFILE_OUTPUT");
  s.local_directory = text("PAPCOLL_PROFILE_LOCAL_DIR");
  const std::string_view ring = text("PAPCOLL_PROFILE_RECORD_MIB");
  if (!ring.empty()) {
    constexpr std::uint64_t most = 65536;
    std::uint64_t mib = 0;
    const auto [end, bad] = std::from_chars(ring.data(), ring.data() + ring.size(), mib);
    if (bad != std::errc{} || end != ring.data() + ring.size() || !std::has_single_bit(mib) ||
        mib > most) {
      throw profile_error("PAPCOLL_PROFILE_RECORD_MIB is \"" + std::string(ring) +
                          "\"; give MiB for each rank, a power of two from 1 to 65536");
    }
    s.sizes.records = (mib << 20U) / sizeof(Record);
  }
  const std::string_view job = text("PAPCOLL_PROFILE_JOB_ID");
  constexpr int hexadecimal = 16;
  const auto [end, bad] = std::from_chars(job.data(), job.data() + job.size(), s.job, hexadecimal);
  if (bad != std::errc{} || end != job.data() + job.size()) s.job = 0;
  return s;
}

/// Returns the directory in which the files are while the program runs.
inline std::string directory_of_run(const Settings& s, std::uint64_t run) {
  if (!s.local_directory.empty()) return s.local_directory;
  if (!is_remote(s.directory)) return s.directory;
  const char* const temporary = std::getenv("TMPDIR");
  constexpr int hexadecimal = 16;
  std::array<char, 17> digits{};
  std::to_chars(digits.data(), digits.data() + digits.size() - 1, run, hexadecimal);
  const bool is_set = temporary != nullptr && temporary[0] != '\0';
  return std::string(is_set ? temporary : "/tmp") + "/papcoll-profile-" + digits.data();
}

}  // namespace profile
}  // namespace papcoll::inline PAPCOLL_ABI
