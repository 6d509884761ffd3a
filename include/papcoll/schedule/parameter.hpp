#pragma once

#include <papcoll/base/config.hpp>

#include <cstddef>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// A parameter of a schedule, as messages and listings show it.
struct Parameter {
  std::string_view name;      ///< with its unit: "radix", "bytes of a segment"
  std::string_view standard;  ///< the default as it is written; empty: chosen for each call
  std::size_t least = 0;      ///< of a whole number
  std::string_view values{};  ///< what may be written, if it is no whole number
};

}  // namespace papcoll::inline PAPCOLL_ABI
