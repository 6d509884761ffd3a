// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <unistd.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace papcoll::inline PAPCOLL_ABI {
namespace profile {

/// Nanoseconds of CLOCK_MONOTONIC: 23 ns to read, the same for all processes of a machine that
/// share a time namespace, never set back.
inline std::uint64_t now() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(t.tv_nsec);
}

/// Nanoseconds since 1970, for people.
inline std::int64_t unix_now() noexcept {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

/// Returns what identifies a clock: the boot of the machine and the time namespace, as text.
/// Processes with the same text read the same clock; empty if it cannot be known, and then no two
/// do.
inline std::array<char, 64> clock_identity() noexcept {
  std::array<char, 64> text{};
  std::FILE* const file = std::fopen("/proc/sys/kernel/random/boot_id", "re");
  if (file == nullptr) return {};
  std::array<char, 37> boot{};
  const std::size_t got = std::fread(boot.data(), 1, boot.size() - 1, file);
  std::fclose(file);
  std::array<char, 24> space{};
  // Linux before 5.6 has one clock.
  if (readlink("/proc/self/ns/time", space.data(), space.size() - 1) < 0) space = {"one"};
  if (got != boot.size() - 1) return {};
  std::snprintf(text.data(), text.size(), "%s %s", boot.data(), space.data());
  return text;
}

/// FNV-1a, of texts that are compared between ranks.
inline std::uint64_t hash_of(const void* data, std::size_t bytes,
                             std::uint64_t from = 0xcbf29ce484222325U) noexcept {
  const auto* const p = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) from = (from ^ p[i]) * 0x100000001b3U;
  return from;
}

}  // namespace profile
}  // namespace papcoll::inline PAPCOLL_ABI
