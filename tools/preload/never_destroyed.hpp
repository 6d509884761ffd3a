#pragma once

namespace preload {

/// An object without an end: programs may call MPI until their process is gone. It is there before
/// anything runs, so that whoever uses it need not ask.
template <class T>
union NeverDestroyed {
  constexpr NeverDestroyed() noexcept : value{} {}
  ~NeverDestroyed() {}  // NOLINT(modernize-use-equals-default): that of a union would be deleted

  T value;
};

}  // namespace preload
