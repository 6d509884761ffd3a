#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/call/persistent.hpp>
#include <papcoll/call/request.hpp>

#include <type_traits>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

[[noreturn, gnu::cold]] inline void refuse_no_call(const char* what) {
  throw argument_error(joined({"papcoll: ", what,
                               " of a call that is none: it was moved from, or is not what a "
                               "collective returned"}));
}

/// No buffer: this one stays its caller's.
struct NotOwned {};

}  // namespace detail

/// A Request whose call owns a buffer, or two, that its caller moved into it: wait() gives them
/// back. In, Out: their types; NotOwned where the caller kept one.
///
///     v = papcoll::iallreduce(comm, std::move(v)).wait();
template <class In, class Out>
class OwningRequest : public Request {
 public:
  static constexpr bool owns_output = !std::is_same_v<Out, detail::NotOwned>;

  OwningRequest() = default;
  /// For the library: i-collectives make one.
  OwningRequest(Request request, detail::Shared<In> in, detail::Shared<Out> out) noexcept
      : Request(std::move(request)), in_(std::move(in)), out_(std::move(out)) {}

  /// Waits until the call is complete, and gives back the buffer: the one that was moved in, or a
  /// std::pair of input and output. Once; then they are as moved from. Throws argument_error where
  /// this is no request, and what Request::wait() throws.
  auto wait() {
    if (in_ == nullptr && out_ == nullptr) detail::refuse_no_call("wait()");
    Request::wait();
    if constexpr (!owns_output) {
      return In{std::move(*in_)};
    } else if constexpr (std::is_same_v<In, detail::NotOwned>) {
      return Out{std::move(*out_)};
    } else {
      return std::pair<In, Out>{std::move(*in_), std::move(*out_)};
    }
  }

 private:
  detail::Shared<In> in_;
  detail::Shared<Out> out_;
};

/// A Persistent whose call owns a buffer, or two, that its caller moved into it. Between calls they
/// may be read and written where they are. input() and output() throw argument_error where this is
/// no call.
template <class In, class Out>
class OwningPersistent : public Persistent {
 public:
  static constexpr bool owns_output = !std::is_same_v<Out, detail::NotOwned>;

  OwningPersistent() = default;
  /// For the library: X_init() makes one.
  OwningPersistent(Persistent call, detail::Shared<In> in, detail::Shared<Out> out) noexcept
      : Persistent(std::move(call)), in_(std::move(in)), out_(std::move(out)) {}

  /// The input that was moved in; its elements may change, its length not.
  In& input() { return found(in_); }
  /// The output that was moved in, or the one buffer of a call in place.
  Out& output() { return found(out_); }

 private:
  template <class Buffer>
  static Buffer& found(const detail::Shared<Buffer>& buffer) {
    if (buffer == nullptr) detail::refuse_no_call("a buffer");
    return *buffer;
  }

  detail::Shared<In> in_;
  detail::Shared<Out> out_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
