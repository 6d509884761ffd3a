#pragma once

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/choice/names/algorithm_by_name.hpp>

#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

PAPCOLL_DECL Algorithm algorithm(std::string_view name) { return algorithm(name, catalogue()); }

}  // namespace papcoll::inline PAPCOLL_ABI
