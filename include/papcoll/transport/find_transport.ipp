#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/transport/find_transport.hpp>
#include <papcoll/transport/shm_transport.hpp>
#include <papcoll/transport/transport.hpp>

namespace papcoll::inline PAPCOLL_ABI {

PAPCOLL_DECL const TransportTable& default_transport(const TeamEnvironment& s) noexcept {
  const bool by_memory = s.processes && s.node != nullptr;
  return by_memory ? detail::table_of_transport<ShmTransport>() : *s.transports.front();
}

PAPCOLL_DECL const TransportTable& find_transport(const TeamEnvironment& s, std::string_view name) {
  if (name.empty()) return default_transport(s);
  if (s.processes && name == ShmTransport::name) return detail::table_of_transport<ShmTransport>();
  for (const TransportTable* t : s.transports) {
    if (t->name == name) return *t;
  }
  detail::throw_error<transport_unavailable>(
      {"papcoll: ", name, " does not serve this kind of team (rank ", s.rank, "): take ",
       s.processes ? ShmTransport::name : s.transports.front()->name});
}

}  // namespace papcoll::inline PAPCOLL_ABI
