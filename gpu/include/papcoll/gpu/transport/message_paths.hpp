#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/multi_path.hpp>
#include <papcoll/gpu/paths.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// The paths by which a rank receives the messages of one peer, and what goes by which.
class MessagePaths {
 public:
  /// Shorter messages go directly.
  static constexpr std::size_t least_shared_out = std::size_t{128} << 10U;

  /// From one device to another of this process. No paths: everything goes directly.
  MessagePaths(gpu::Api& api, int from, int to, std::vector<gpu::Path> paths,
               const gpu::ShareLimits& limits = {})
      : api_(&api), from_(from), to_(to), paths_(std::move(paths)), limits_(limits) {
    const bool has_direct = std::any_of(paths_.begin(), paths_.end(), [](const gpu::Path& p) {
      return p.via == gpu::Path::direct;
    });
    if (!has_direct || paths_.size() == 1) paths_.clear();
    for (const gpu::Path& p : paths_) {
      if (p.via != gpu::Path::host) pulled_.push_back(p);
    }
  }

  /// Is a message of so many bytes shared out?
  bool shares_out(std::size_t bytes) const noexcept {
    return !paths_.empty() && bytes >= least_shared_out;
  }
  /// Does a third device carry a part? Then the peer's memory is mapped for its device, too.
  bool uses_others() const noexcept { return pulled_.size() > 1; }
  /// The device that messages come from.
  int from() const noexcept { return from_; }

  /// Shares out a message, more than least_shared_out; what goes through the host, or no bytes.
  const gpu::PathShare& share_out(std::size_t bytes) {
    if (bytes == bytes_) return by_host_;
    bytes_ = bytes;
    by_host_ = {};
    shares_.clear();
    for (const gpu::PathShare& s : gpu::share_out(paths_, bytes, limits_)) {
      if (s.path.via == gpu::Path::host) by_host_ = s;
      if (s.path.via != gpu::Path::host) shares_.push_back(s);
    }
    return by_host_;
  }

  /// Copies what share_out() left, in the order of the stream. `near` is where streams of the
  /// peer's device see the message, if uses_others().
  void copy(std::byte* to, const std::byte* from, const std::byte* near, gpu::Stream stream) {
    const bool staged = std::any_of(shares_.begin(), shares_.end(),
                                    [](const gpu::PathShare& s) { return s.path.is_staged(); });
    if (staged) {
      if (!copies_) copies_ = detail::make_owned<gpu::MultiPath>(*api_, from_, to_, pulled_);
      copies_->copy(to, {from, near}, shares_, stream);
      return;
    }
    for (const gpu::PathShare& s : shares_) {
      api_->copy(to + s.offset, from + s.offset, s.bytes, stream);
    }
  }

  /// Never gives back staging memory: something may still use it.
  void abandon() noexcept {
    if (copies_) copies_->leak();
  }

 private:
  gpu::Api* api_;
  int from_;
  int to_;
  std::vector<gpu::Path> paths_;
  gpu::ShareLimits limits_;
  std::vector<gpu::Path> pulled_;  ///< those that the receiver drives alone
  detail::Owned<gpu::MultiPath> copies_;
  std::size_t bytes_ = 0;     ///< of the message that was shared out last
  gpu::PathShare by_host_{};  ///< and how
  std::vector<gpu::PathShare> shares_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
