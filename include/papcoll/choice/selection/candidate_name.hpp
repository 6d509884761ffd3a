#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/selection/on_node.hpp>

#include <string>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Behind the name of an algorithm.
inline const char* way_of(PeerReach reach) noexcept {
  switch (reach) {
    case PeerReach::pulled:
      return " by the kernel";
    case PeerReach::chunked:
      return " in pieces";
    default:
      return "";
  }
}

/// "PeerSlices by the kernel"
[[gnu::cold]] inline std::string name_of(const NodeCandidate& c) {
  return joined({c.algorithm->name, way_of(c.reach)});
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
