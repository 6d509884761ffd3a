#pragma once

#include <papcoll/config.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// Erases the elements for which `drop` is true, and keeps the order of the others: std::erase_if()
/// for code in which it is not worth what the standard algorithms take to compile.
template <class T, class Drop>
void drop_if(std::vector<T>& all, const Drop& drop) {
  std::size_t kept = 0;
  for (T& t : all) {
    if (drop(t)) continue;
    if (&t != &all[kept]) all[kept] = std::move(t);
    ++kept;
  }
  while (all.size() > kept) all.pop_back();
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
