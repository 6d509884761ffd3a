#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/registration.hpp>
#include <papcoll/runtime/memory/registered_buffer.hpp>
#include <papcoll/runtime/memory/registrations.hpp>
#include <papcoll/runtime/team.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

[[gnu::cold]] PAPCOLL_DECL detail::Shared<const void> register_data(TeamCore& core, void* data,
                                                                    std::size_t count,
                                                                    std::size_t bytes_of_one,
                                                                    std::string& why) {
  core.require_no_call();
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  AddressRange range{begin, begin};
  const bool wraps = __builtin_mul_overflow(count, bytes_of_one, &range.end) ||
                     __builtin_add_overflow(begin, range.end, &range.end);
  if (wraps || (data == nullptr && count != 0)) {
    detail::throw_error<argument_error>(
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
    detail::throw_error<argument_error>({"papcoll: rank ", core.rank(), " cannot register ",
                                         range.bytes(), " bytes at ", hexadecimal(begin),
                                         ": the memory ", problem});
  }
  return detail::make_shared<RegisteredBuffer>(core, range, page);
}

PAPCOLL_DECL void refuse_negative_registration(TeamCore& core) {
  detail::throw_error<argument_error>(
      {"papcoll: rank ", core.rank(),
       " cannot register a negative number of elements: counts start at "
       "0"});
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
