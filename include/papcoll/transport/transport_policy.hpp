#pragma once

#include <papcoll/base/policy.hpp>

#include <type_traits>

// What policies are asked of a transport. What one does is in transport.hpp.

namespace papcoll::inline PAPCOLL_ABI {

class Endpoint;
class NodeSite;
class RemoteAtomics;
struct TeamEnvironment;
struct TransportTable;
enum class RemoteTickets : unsigned char;

namespace detail {

template <class T>
inline constexpr bool offers_node_memory = (offers_of<T> & capability::node_memory) != 0;

/// The site of arrival-driven algorithms over a transport: NodeSite where it names none.
template <class T> struct SiteOver : std::type_identity<NodeSite> {};
template <class T>
requires(offers_node_memory<T>&& requires { typename T::Site; }) struct SiteOver<T>
    : std::type_identity<typename T::Site> {
};

/// The transport without its type. In transport.hpp, which authors of transports include.
template <class T> const TransportTable& table_of_transport() noexcept;

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
