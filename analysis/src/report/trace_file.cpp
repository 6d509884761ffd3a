// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/trace_file.hpp>

#include <papcoll/base/config.hpp>
#include <papcoll/profile/trace_format.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {

TraceFile::TraceFile(std::string name, const std::string& home) : name_(std::move(name)) {
  // Opening a pipe would wait for who writes it.
  constexpr int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;
  fd_ = ::open(name_.c_str(), flags);
  if (fd_ < 0) fd_ = ::open(home.c_str(), flags);
  if (fd_ < 0) why_ = std::strerror(errno);
  struct stat s {};
  if (fd_ >= 0 && (::fstat(fd_, &s) != 0 || !S_ISREG(s.st_mode))) {
    why_ = "it is no regular file";
    ::close(std::exchange(fd_, -1));
  }
}

TraceFile::~TraceFile() {
  if (fd_ >= 0) ::close(fd_);
}

std::uint64_t TraceFile::bytes() const {
  struct stat s {};
  return ::fstat(fd_, &s) == 0 && s.st_size > 0 ? static_cast<std::uint64_t>(s.st_size) : 0;
}

bool TraceFile::read(std::uint64_t at, void* to, std::size_t bytes) const {
  auto* out = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = ::pread(fd_, out, bytes, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    out += n;
    at += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

bool TraceFile::has_writer() const {
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  return ::fcntl(fd_, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

namespace {

bool is_sound(const profile::ClockPoint& p) {
  const auto fits = [](std::int64_t x) {
    return x < static_cast<std::int64_t>(most_time) && x > -static_cast<std::int64_t>(most_time);
  };
  return p.measured == 0 || (fits(p.at) && fits(p.offset) && fits(p.bound) && p.bound >= 0);
}

}  // namespace

std::string fault_of(const profile::FileHeader& h, std::uint64_t bytes) {
  if (h.magic != profile::trace_magic) return "it is no trace file of papcoll";
  if (h.byte_order != profile::trace_byte_order) {
    return "it was written by a machine of another byte order";
  }
  if (h.version != profile::trace_version) {
    return "it is of version " + std::to_string(h.version) +
           " of the format, and this papcoll reads " + std::to_string(profile::trace_version) +
           ": use the papcoll that recorded it";
  }
  if (h.header_bytes != sizeof(profile::FileHeader)) return "its header is damaged";
  if (h.file_bytes < sizeof(profile::FileHeader)) return "its header is damaged";
  if (bytes < h.file_bytes) {
    return "it has " + std::to_string(bytes) + " of " + std::to_string(h.file_bytes) +
           " bytes: it was cut off";
  }
  const auto is_within = [&h](std::uint64_t at, std::uint64_t entries, std::uint64_t entry_bytes) {
    return at % 8 == 0 && at >= sizeof(profile::FileHeader) && at <= h.file_bytes &&
           entries <= (h.file_bytes - at) / entry_bytes;
  };
  constexpr auto most_entries = std::numeric_limits<std::uint32_t>::max() - 1;
  const bool tables =
      is_within(h.modules_at, h.modules, sizeof(profile::Module)) &&
      is_within(h.sites_at, h.sites, sizeof(profile::Site)) &&
      is_within(h.communicators_at, h.communicators, sizeof(profile::CommunicatorEntry)) &&
      is_within(h.totals_at, h.totals, sizeof(profile::Total)) &&
      is_within(h.records_at, h.records, sizeof(profile::Record)) && h.records <= most_entries &&
      h.sites <= most_entries && h.communicators <= most_entries;
  constexpr std::int32_t most_ranks = 1 << 24;
  const auto is_rank = [&h](std::int32_t r) { return r >= 0 && r < h.world_size; };
  const bool numbers = h.world_size > 0 && h.world_size <= most_ranks && is_rank(h.world_rank) &&
                       is_rank(h.node) && is_rank(h.clock) &&
                       h.state <= static_cast<std::uint32_t>(profile::RunState::aborted) &&
                       h.began < most_time && h.ended < most_time;
  if (tables && h.world_size == 0 && h.began == 0) {
    return "its process is in MPI_Init, or has ended there";
  }
  if (!tables || !numbers || !is_sound(h.clock_begin) || !is_sound(h.clock_end)) {
    return "its header is damaged";
  }
  return {};
}

}  // namespace detail
}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
