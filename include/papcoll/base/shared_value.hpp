#pragma once

#include <papcoll/config.hpp>

#include <memory>
#include <utility>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// Owns a value by a deleter, of one type for values of all types: std::make_shared compiles a
/// class for each.
[[gnu::noinline]] inline std::shared_ptr<const void> owner_of(const void* value,
                                                              void (*destroy)(const void*)) {
  return {value, destroy};
}

/// A copy of a value, shared by who borrows from it.
template <class T>
std::shared_ptr<const void> shared_value(T value) {
  return owner_of(new T(std::move(value)),
                  [](const void* owned) { delete static_cast<const T*>(owned); });
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
