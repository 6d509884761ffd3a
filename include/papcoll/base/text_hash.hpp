#pragma once

#include <papcoll/base/config.hpp>

#include <cstdint>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// FNV-1a of the bytes: the same number in every process, of whatever build.
inline std::uint64_t hash_of_text(std::string_view text) noexcept {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return h;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
