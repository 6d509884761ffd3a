#pragma once

#include <papcoll/base/buffer_view.hpp>
#include <papcoll/base/config.hpp>

#include <cstddef>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// The numbers of a call whose blocks differ, to which Call::counts, Call::places and its views
/// point. A rank has one that its blocking calls use again and again, so that they allocate
/// nothing.
struct CallBlocks {
  std::vector<std::size_t> numbers;
  BufferView in;   ///< where the blocks are not one after the other
  BufferView out;  ///< the same of the output
};

}  // namespace papcoll::inline PAPCOLL_ABI
