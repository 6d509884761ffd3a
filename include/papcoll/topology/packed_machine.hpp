#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/topology/machine.hpp>

#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// A machine in bytes, for messages between ranks of one program: they have no version, and the
/// byte order of this processor. Equal machines of one source have the same bytes.
PAPCOLL_DECL std::string packed(const Machine& machine);

/// The machine that was packed(). Throws argument_error where bytes are missing or too many.
PAPCOLL_DECL Machine unpacked(std::string_view bytes);

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/topology/packed_machine.ipp>
#endif
