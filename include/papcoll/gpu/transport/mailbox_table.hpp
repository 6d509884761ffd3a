#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/transport/device_control_block.hpp>
#include <papcoll/gpu/transport/ipc_probe.hpp>
#include <papcoll/gpu/transport/mailbox.hpp>
#include <papcoll/gpu/transport/pulled_messages.hpp>
#include <papcoll/node/node.hpp>

#include <cstddef>
#include <new>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Where in a node's memory its ranks have what they tell each other of their devices: a mailbox
/// for each pair, and where a rank's mailbox with itself would be, what it tells all others.
class MailboxTable {
 public:
  /// What a rank tells all others.
  struct OfRank {
    RankNotice notice;
    DeviceControlBlock board;
  };
  static_assert(sizeof(OfRank) <= device_mailbox_bytes);

  /// Makes sure that all of it has pages. Throws system_error.
  explicit MailboxTable(const Node& node) : node_(node) {
    for (int p = 0; p < node.size; ++p) {
      reserve(p, p);
      if (p == node.rank) continue;
      reserve(node.rank, p);
      reserve(p, node.rank);
    }
  }

  /// The mailboxes of this rank by rank of the team, in which those of the node are ranks `here`.
  std::vector<MailboxPair> peers(int size, const std::vector<int>& here) const {
    std::vector<MailboxPair> peers(static_cast<std::size_t>(size));
    for (int p = 0; p < node_.size; ++p) {
      if (p == node_.rank) continue;
      peers[static_cast<std::size_t>(here[static_cast<std::size_t>(p)])] = {&box(node_.rank, p),
                                                                            &box(p, node_.rank), p};
    }
    return peers;
  }

  /// What a rank of the node tells.
  RankNotice& notice(int rank) const { return of_rank(rank).notice; }
  /// Of all.
  std::vector<RankNotice*> notices() const {
    std::vector<RankNotice*> all;
    all.reserve(static_cast<std::size_t>(node_.size));
    for (int p = 0; p < node_.size; ++p) all.push_back(&notice(p));
    return all;
  }
  /// What they show in calls that depend on arrivals.
  std::vector<DeviceControlBlock*> boards() const {
    std::vector<DeviceControlBlock*> all;
    all.reserve(static_cast<std::size_t>(node_.size));
    for (int p = 0; p < node_.size; ++p) all.push_back(&of_rank(p).board);
    return all;
  }

 private:
  std::byte* place(int from, int to) const {
    const auto ranks = static_cast<std::size_t>(node_.size);
    const std::size_t pair = static_cast<std::size_t>(from) * ranks + static_cast<std::size_t>(to);
    return node_.device_mailboxes + pair * device_mailbox_bytes;
  }
  Mailbox& box(int from, int to) const {
    return *std::launder(reinterpret_cast<Mailbox*>(place(from, to)));
  }
  OfRank& of_rank(int rank) const {
    return *std::launder(reinterpret_cast<OfRank*>(place(rank, rank)));
  }
  void reserve(int from, int to) const { node_.reserve(place(from, to), device_mailbox_bytes); }

  Node node_;  ///< keeps the memory mapped
};

}  // namespace papcoll::inline PAPCOLL_ABI
