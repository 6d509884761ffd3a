// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/gpu/transport/device_node_context.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// An arrival-driven algorithm on memory of devices, as a policy of papcoll::gpu's collectives.
///
/// Required: `policy_kind = SchedulePolicyKind`; `name`; `sentence`, about it; `needs`, with
/// capability::device_memory and what it asks of arrival policies; `contract`, the strongest it
/// keeps where Call::rank_order asks for it; `serves(collective)`; `Run`, one call of it:
/// default-constructible, `bool step(DeviceCallContext&, const Call&)` moves the call and says
/// whether all of it is in streams. It never waits, and is called again and again.
template <class A>
concept DeviceAlgorithm = PolicyOfKind<A, SchedulePolicyKind> &&
    requires(typename A::Run run, DeviceNodeContext& context, const Call& call) {
  requires((needs_of<A> & capability::device_memory) != 0);
  requires std::default_initializable<typename A::Run>;
  { A::name } -> std::convertible_to<std::string_view>;
  { A::sentence } -> std::convertible_to<std::string_view>;
  { A::contract } -> std::convertible_to<NumericalContract>;
  { &A::serves } -> std::convertible_to<bool (*)(Collective) noexcept>;
  { run.step(context, call) } -> std::same_as<bool>;
};

/// A number that identifies an algorithm.
template <class A> inline constexpr std::uint32_t device_algorithm_id = hash_of_name(A::name);

}  // namespace papcoll::inline PAPCOLL_ABI
