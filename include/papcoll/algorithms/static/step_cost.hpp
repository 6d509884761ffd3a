#pragma once

#include <papcoll/algorithms/static/schedule_parameters.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/schedule/parameter.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// What a schedule takes a message and its combination to cost, α + (β + γ)m, where it weighs that
/// against how late ranks are. Whole numbers, so that all ranks weigh alike; half or twice the
/// truth does little harm.
struct StepCost {
  static constexpr std::array parameters{Parameter{"nanoseconds a message", "500"},
                                         Parameter{"nanoseconds a KB", "200"}};

  std::uint32_t alpha_ns = 500;   ///< 2 pinned ranks, Open MPI, exchange of 8 bytes: 440 ns
  std::uint32_t ns_per_kb = 200;  ///< the same, allreduce of 512 KB: 112 µs

  constexpr std::uint64_t of(std::uint64_t bytes) const noexcept {
    return alpha_ns + bytes / 1024 * ns_per_kb + bytes % 1024 * ns_per_kb / 1024;
  }

  /// "500,200"; nothing for the default.
  std::string arguments() const {
    if (*this == StepCost{}) return {};
    return detail::joined({alpha_ns, ",", ns_per_kb});
  }
  static StepCost parse(std::string_view schedule, std::string_view text) {
    const auto numbers = split_arguments(text);
    if (numbers.size() != 2) {
      detail::throw_error<argument_error>(
          {"papcoll: ", schedule,
           " needs two numbers, nanoseconds a message and nanoseconds a KB, but "
           "was given '",
           text, "': write ", schedule, ":500,200"});
    }
    return {parse_number<std::uint32_t>(schedule, parameters[0], numbers[0]),
            parse_number<std::uint32_t>(schedule, parameters[1], numbers[1])};
  }

  friend bool operator==(const StepCost&, const StepCost&) = default;
};

}  // namespace papcoll::inline PAPCOLL_ABI
