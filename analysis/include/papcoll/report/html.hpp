// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A report as one page that needs no network and no library: the answer, a timeline of all calls
// that zooms, pictures and tables.

#include <papcoll/report/report.hpp>

#include <cstdint>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {

/// A place in few letters: first its module goes, then the middle of what is left, so that the
/// function and where in it stay.
std::string place_label(const Run& run, std::uint32_t place);

}  // namespace detail

/// The page, in HTML.
std::string html_page(const Report& r);

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
