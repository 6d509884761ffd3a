// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/buffers.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/call/team_of.hpp>

#include <concepts>
#include <cstddef>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {

/// Moves `count` elements to the arena until what it returns is destroyed; null: nothing was moved,
/// and `why` says why.
[[nodiscard]] PAPCOLL_DECL Shared<const void> register_data(TeamCore& core, void* data,
                                                            std::size_t count,
                                                            std::size_t bytes_of_one,
                                                            std::string& why);
[[noreturn]] PAPCOLL_DECL void refuse_negative_registration(TeamCore& core);

}  // namespace detail

/// Makes an ordinary buffer node-shared, at its address, until it is destroyed.
///
/// The contents of the buffer's whole pages move to the arena and are mapped at the same addresses,
/// so that pointers stay valid, and blocking calls use the buffer in place, as a shared_vector. The
/// bytes before its first and after its last whole page, fewer than two pages, are copied in calls
/// that use them. end() and the destructor move the contents back. Non-blocking calls and static
/// schedules use the buffer as any other. What is chosen for calls adapts after a few of them.
///
/// Local: no rank waits, and ranks need not register alike. While a registration is made or ended,
/// no other thread may use the buffer, and no call, request or other thread the communicator.
///
/// Cost: to make and end one takes as long as ten copies of the buffer, plus 0.1 ms, plus 3 µs for
/// each other registration of the process. One of a large buffer is better than thousands of small
/// ones.
///
/// The registration must end before the memory is freed or resized: otherwise calls take what is
/// later at its addresses for the buffer, and give wrong results. Its end itself leaves alone what
/// was unmapped, or mapped anew. Meanwhile the buffer has no huge pages. A child made by fork()
/// does not have the pages: using them ends it by a signal; ending the registration there replaces
/// them by zeros. Memory that a device has pinned, and other threads' stacks, must not be
/// registered: papcoll cannot detect them.
///
/// Example:
///
///     std::vector<double> x(1 << 20);
///     const papcoll::Registration shared{comm, x};
///     papcoll::allreduce(comm, x);    // in place, without a copy
class [[nodiscard]] Registration {
 public:
  /// Registers no buffer.
  Registration() noexcept = default;

  /// Registers a contiguous range for calls on `comm`. If the ranks of `comm` share no memory, or
  /// the buffer has no whole page, moves nothing: see is_shared().
  ///
  /// Throws argument_error if the memory cannot be moved, with the reason and what to do: it is
  /// that of a file, shared with other processes, locked, read-only, the arena's, on a stack, or
  /// registered already, by any communicator, even in part. Throws system_error if the arena,
  /// shared memory or address space is used up. After an exception nothing has changed.
  template <Team C, ContiguousRange R> Registration(C&& comm, R&& data) {
    constexpr bool may_be_moved = is_writable<R> && OutputRange<R>;
    static_assert(may_be_moved,
                  "papcoll: a registration moves the memory of its data: pass an lvalue or a "
                  "std::span of non-const elements, which outlives it");
    if constexpr (may_be_moved) {
      make(detail::core_of(comm), std::ranges::data(data), std::ranges::size(data),
           sizeof(element_of<R>));
    }
  }

  /// Registers `count` elements at `data`, `count` ≥ 0; otherwise as above.
  template <Team C, class T, std::integral N>
  requires(!std::is_const_v<T>) Registration(C&& comm, T* data, N count) {
    if constexpr (std::is_signed_v<N>) {
      if (count < 0) detail::refuse_negative_registration(detail::core_of(comm));
    }
    make(detail::core_of(comm), data, static_cast<std::size_t>(count), sizeof(T));
  }

  /// Moves. The one moved from registers no buffer.
  Registration(Registration&& other) noexcept
      : moved_(std::move(other.moved_)), why_(std::exchange(other.why_, {})) {}
  /// Ends this registration, then moves. To register the same buffer again, call end() first.
  Registration& operator=(Registration&& other) noexcept {
    if (this != &other) {
      end();
      moved_ = std::move(other.moved_);
      why_ = std::exchange(other.why_, {});
    }
    return *this;
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() = default;

  /// Moves the contents back; no effect if no buffer is registered. May be called when the
  /// communicator has gone or is broken. If there is no private memory left for the contents, they
  /// stay in shared memory, at the same addresses, and calls treat them as private.
  void end() noexcept {
    moved_.reset();
    why_.clear();
  }

  /// Returns true if any page of the buffer is in the arena.
  bool is_shared() const noexcept { return moved_ != nullptr; }
  /// Returns the reason why nothing was moved (ranks that share no memory, a buffer without a whole
  /// page); empty if it was.
  const std::string& no_sharing() const noexcept { return why_; }

 private:
  void make(TeamCore& core, void* data, std::size_t count, std::size_t bytes_of_one) {
    moved_ = detail::register_data(core, data, count, bytes_of_one, why_);
  }

  detail::Shared<const void> moved_;
  std::string why_;
};

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/runtime/memory/registered_buffer.hpp>
#include <papcoll/runtime/memory/registrations.hpp>
#include <papcoll/runtime/team.hpp>

#include <cstdint>

#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

[[gnu::cold]] PAPCOLL_DECL Shared<const void> register_data(TeamCore& core, void* data,
                                                            std::size_t count,
                                                            std::size_t bytes_of_one,
                                                            std::string& why) {
  core.require_no_call();
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  AddressRange range{begin, begin};
  const bool wraps = __builtin_mul_overflow(count, bytes_of_one, &range.end) ||
                     __builtin_add_overflow(begin, range.end, &range.end);
  if (wraps || (data == nullptr && count != 0)) {
    throw_error<argument_error>(
        {"papcoll: rank ", core.rank(), " cannot register ", count, " elements of ", bytes_of_one,
         " bytes at ", hexadecimal(begin),
         wraps ? ": they do not end before the addresses do: pass a smaller count"
               : ", a null pointer: pass a buffer, or a count of 0"});
  }
  why = why_no_registration(core);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const AddressRange pages = range.whole_pages(page);
  if (why.empty() && pages.empty()) why = "the buffer has no whole page";
  if (!why.empty()) return nullptr;
  if (const std::string problem = why_not_registered(core, range, pages); !problem.empty()) {
    throw_error<argument_error>({"papcoll: rank ", core.rank(), " cannot register ", range.bytes(),
                                 " bytes at ", hexadecimal(begin), ": the memory ", problem});
  }
  return detail::make_shared<RegisteredBuffer>(core, range, page);
}

PAPCOLL_DECL void refuse_negative_registration(TeamCore& core) {
  throw_error<argument_error>({"papcoll: rank ", core.rank(),
                               " cannot register a negative number of elements: counts start at "
                               "0"});
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
#endif
