#pragma once

#include <papcoll/choice/policies/algorithm.hpp>

#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// Returns the algorithm of a name, such as "Rabenseifner+MpiTransport", "DynamicLeader" or
/// "KNomial:8"; "auto" leaves the choice to papcoll. The grammar is in name_parser.hpp; `papcoll
/// list` lists the names. Throws unknown_algorithm if there is no such name, argument_error if its
/// parameters are invalid.
PAPCOLL_DECL Algorithm algorithm(std::string_view name);

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/choice/names/algorithm_by_name.hpp>

namespace papcoll::inline PAPCOLL_ABI {

PAPCOLL_DECL Algorithm algorithm(std::string_view name) { return algorithm(name, catalogue()); }

}  // namespace papcoll::inline PAPCOLL_ABI
#endif
