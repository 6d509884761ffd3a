// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace preload {

/// An object that is never destroyed: programs may call MPI until their process is gone. It is
/// constructed before anything runs, so its users need not check.
template <class T> union NeverDestroyed {
  constexpr NeverDestroyed() noexcept : value{} {}
  ~NeverDestroyed() {}  // NOLINT(modernize-use-equals-default): that of a union would be deleted

  T value;
};

}  // namespace preload
