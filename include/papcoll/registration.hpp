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

/// Makes an ordinary buffer node-shared, where it lies: `papcoll::Registration r{comm, data};`. The
/// contents of its whole pages move to the arena and are mapped over the same addresses, so that
/// pointers stay valid and blocking calls on it run as on a shared_vector, in place and without a
/// copy. The bytes before its first and after its last whole page, fewer than two pages, are copied
/// in calls that use them. It ends by moving the contents back.
///
/// Making and ending one is local and waits for nobody; ranks need not do alike. While it is made
/// or ended nothing else may use the buffer, and no call, request or other thread the communicator.
/// The two together take as long as ten copies of the buffer, 0.4 ms, and 3 µs for each other
/// registration that the process holds: one of a large buffer is better than thousands of small
/// ones. Non-blocking calls, and static schedules, use the buffer as any other. What is chosen for
/// calls follows after a few of them.
///
/// End it before the memory is freed or resized: calls would still take what comes to lie at its
/// addresses for the buffer, and give wrong results. The end itself leaves alone what has been
/// unmapped, or mapped anew. The buffer has no huge pages meanwhile. A child made by fork() has
/// nothing where the pages were: it is ended by a signal if it uses them. Ending the registration
/// there puts zeros in their place. Neither what a device has pinned nor other threads' stacks may
/// be registered: papcoll cannot see what they are.
class [[nodiscard]] Registration {
 public:
  /// Of nothing.
  Registration() noexcept = default;

  /// Of a contiguous range. `comm`: whose calls will use it; one without shared memory moves
  /// nothing, see is_shared().
  ///
  /// Throws argument_error if the memory cannot be moved: what says why, and what to do. It is that
  /// of a file, shared with other processes, locked, read-only, the arena's, on a stack, or
  /// registered already, by any communicator, even in part. Throws system_error if the arena,
  /// shared memory or address space is used up. Nothing has changed then.
  template <Team C, ContiguousRange R>
  Registration(C&& comm, R&& data) {
    constexpr bool may_be_moved = is_writable<R> && OutputRange<R>;
    static_assert(may_be_moved,
                  "papcoll: a registration moves the memory of its data: pass an lvalue or a "
                  "std::span of non-const elements, which outlives it");
    if constexpr (may_be_moved) {
      make(detail::core_of(comm), std::ranges::data(data), std::ranges::size(data),
           sizeof(element_of<R>));
    }
  }

  /// Of `count` elements.
  template <Team C, class T, std::integral N>
  requires(!std::is_const_v<T>) Registration(C&& comm, T* data, N count) {
    if constexpr (std::is_signed_v<N>) {
      if (count < 0) detail::refuse_negative_registration(detail::core_of(comm));
    }
    make(detail::core_of(comm), data, static_cast<std::size_t>(count), sizeof(T));
  }

  /// The one moved from is of nothing.
  Registration(Registration&& other) noexcept
      : moved_(std::move(other.moved_)), why_(std::exchange(other.why_, {})) {}
  /// Ends what this was before; end() it first to register the same buffer again.
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

  /// Moves the contents back; then it is of nothing. Also when the communicator has gone or is
  /// broken. Where there is no private memory left for them, they stay in shared memory for good,
  /// at the same addresses; calls take them for private then.
  void end() noexcept {
    moved_.reset();
    why_.clear();
  }

  /// Does anything of the buffer lie in the arena?
  bool is_shared() const noexcept { return moved_ != nullptr; }
  /// Why nothing was moved (ranks that share no memory, a buffer without a whole page), or nothing.
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
