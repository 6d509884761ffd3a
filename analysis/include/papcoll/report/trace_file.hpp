// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/profile/trace_format.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {

/// Times, offsets and bounds are below; what is not is damaged.
inline constexpr std::uint64_t most_time = std::uint64_t{1} << 60U;

/// A trace file that is read at any place.
class TraceFile : Pinned {
 public:
  /// `home`: where the file is if it was brought there meanwhile.
  TraceFile(std::string name, const std::string& home);
  ~TraceFile();

  const std::string& name() const noexcept { return name_; }
  /// Returns the reason why the file is not open; empty if it is.
  const std::string& why() const noexcept { return why_; }
  bool is_open() const noexcept { return fd_ >= 0; }

  std::uint64_t bytes() const;

  /// Returns true if all of it was there.
  bool read(std::uint64_t at, void* to, std::size_t bytes) const;

  template <class T> bool read(std::uint64_t at, std::vector<T>& table) const {
    return table.empty() || read(at, table.data(), table.size() * sizeof(T));
  }

  /// Returns true if the process that writes the file lives: it holds a lock on the first byte.
  bool has_writer() const;

 private:
  std::string name_;
  std::string why_;
  int fd_ = -1;
};

/// Returns what is wrong with a header; empty if nothing is. `bytes`: of the file.
std::string fault_of(const profile::FileHeader& h, std::uint64_t bytes);

}  // namespace detail
}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
