#pragma once

#include <papcoll/algorithm.hpp>
#include <papcoll/names/by_name.hpp>

#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

PAPCOLL_DECL Algorithm algorithm(std::string_view name) { return algorithm(name, catalogue()); }

}  // namespace papcoll::inline PAPCOLL_ABI
