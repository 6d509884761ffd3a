#pragma once

#include <papcoll/choice/policies/algorithm.hpp>

#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// One of the library's algorithms by its name, for calls to run: "Rabenseifner+MpiTransport",
/// "DynamicLeader", "KNomial:8"; "auto": chosen for each call. The grammar is in
/// name_parser.hpp. Throws unknown_algorithm, argument_error.
PAPCOLL_DECL Algorithm algorithm(std::string_view name);

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/choice/names/algorithm_by_name.hpp>

namespace papcoll::inline PAPCOLL_ABI {

PAPCOLL_DECL Algorithm algorithm(std::string_view name) { return algorithm(name, catalogue()); }

}  // namespace papcoll::inline PAPCOLL_ABI
#endif
