// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/policy.hpp>

#include <type_traits>

// What policies are asked of a transport. What one does is in transport.hpp.

namespace papcoll::inline PAPCOLL_ABI {

class Endpoint;
class NodeContext;
class RemoteAtomics;
struct TeamEnvironment;
struct TransportTable;
enum class RemoteTickets : unsigned char;

namespace detail {

template <class T>
inline constexpr bool offers_node_memory = (offers_of<T> & capability::node_memory) != 0;

/// The call context of arrival-driven algorithms over a transport: NodeContext where it names none.
template <class T> struct ContextOver : std::type_identity<NodeContext> {};
template <class T>
requires(offers_node_memory<T>&& requires { typename T::Context; }) struct ContextOver<T>
    : std::type_identity<typename T::Context> {
};

/// The transport without its type. In transport.hpp, which authors of transports include.
template <class T> const TransportTable& table_of_transport() noexcept;

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
