#pragma once

#include <papcoll/base/buffer_view.hpp>
#include <papcoll/base/buffers.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/call/argument_checks.hpp>
#include <papcoll/call/call_arguments.hpp>

#include <array>
#include <cstddef>
#include <iterator>
#include <type_traits>

// The buffers of a call as its caller passed them: ranges, pointers and counts, or elements that
// lie apart. What is said of the last is not templates, and is reached only where one of the
// buffers is of a type that may lie apart.

namespace papcoll::inline PAPCOLL_ABI::detail {

/// LayoutArguments::count and ::lay of a PassedLayouts.
PAPCOLL_DECL void count_passed(const Caller& caller, LayoutArguments& layouts, CallArguments& a);
PAPCOLL_DECL void lay_passed(const Caller& caller, LayoutArguments& layouts, Call& call,
                             std::size_t in_count, std::size_t out_count, bool in_place);

/// How the elements of both buffers of a typed call lie.
struct PassedLayouts : LayoutArguments {
  PassedLayouts() noexcept {
    count = count_passed;
    lay = lay_passed;
  }
  /// There is one buffer, `in`.
  void set_in_place() noexcept {
    in_place = true;
    out = in;
  }

  BufferLayout in;
  BufferLayout out;
  bool in_place = false;

  // Found out by count_passed().
  const BufferView* in_view = nullptr;  ///< null: the elements are contiguous
  const BufferView* out_view = nullptr;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/call/layouts.ipp>
#endif
