// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/error.hpp>

namespace papcoll::inline PAPCOLL_ABI {
namespace profile {

/// A profile cannot be recorded. The program that was to be profiled goes on without.
struct profile_error : error {
  using error::error;
};

}  // namespace profile
}  // namespace papcoll::inline PAPCOLL_ABI
