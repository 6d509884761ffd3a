#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/node_site.hpp>
#include <papcoll/options.hpp>
#include <papcoll/runtime/tuning_text.hpp>
#include <papcoll/transport/transport.hpp>
#include <papcoll/waiting/doorbells.hpp>
#include <papcoll/waiting/waiter.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// What a rank's side of a team stands on: who and where the ranks are, what they share, how this
/// one waits, and how many calls it has made.
class TeamBasis {
 public:
  /// What differs between teams of processes and of threads. Any function may be null.
  struct Hooks {
    void (*progress)(void*) = nullptr;  ///< moves MPI and this rank's requests on other teams
    void (*watch)(void*) = nullptr;     ///< throws peer_lost if a peer is dead
    /// Tells peers that share no memory with this rank of its call number n, or of itself.
    void (*refused)(void*, std::uint32_t n, PeerNotice what, const std::string& text) = nullptr;
    /// Runs a blocking call by MPI's own collectives, where no endpoint could be had.
    void (*native)(void*, const Call&) = nullptr;
    /// The first request of this rank on this team begins, or the last one ends.
    void (*outstanding)(void*, bool any) = nullptr;
    /// Has this rank requests under way on other teams? Null: never wait in an endpoint.
    bool (*busy_elsewhere)(void*) = nullptr;
    /// Has the process of a rank ended?
    bool (*is_gone)(void*, int rank) = nullptr;
    void* context = nullptr;
  };

  TeamBasis(const TeamBasis&) = delete;
  TeamBasis& operator=(const TeamBasis&) = delete;

  int rank() const noexcept { return surroundings_.rank; }
  int size() const noexcept { return surroundings_.size; }
  const Options& options() const noexcept { return options_; }
  const Surroundings& surroundings() const noexcept { return surroundings_; }
  bool on_one_node() const noexcept { return site_.has_value(); }
  /// What this rank allocates node-shared memory from, once arena_of() has made it.
  std::shared_ptr<void>& arena() noexcept { return arena_; }

  Hooks hooks{};
  void set_tuning(TuningText tuning) { tuning_ = std::move(tuning); }
  const TuningText& tuning() const noexcept { return tuning_; }

  /// What calls that name no algorithm keep from call to call: of select/state.hpp, which makes it
  /// at the first of them.
  std::shared_ptr<void>& selection() noexcept { return selection_; }
  void* selection_or_null() const noexcept { return selection_.get(); }

  /// More ranks than processors on the node?
  void set_oversubscribed(bool yes) noexcept {
    waiter_.oversubscribed = yes;
    ++looks_from_;
  }
  Waiter& waiter() noexcept { return waiter_; }

  /// The number of the next call, whichever it is.
  std::uint32_t calls() const noexcept { return blocking_calls_ + requests_; }

 protected:
  TeamBasis(Surroundings surroundings, const Options& options)
      : surroundings_(std::move(surroundings)),
        options_(options),
        blocking_calls_(options.first_epoch),
        requests_(options.first_epoch) {
    waiter_.rank = surroundings_.rank;
    waiter_.deadline = std::chrono::duration_cast<Waiter::Clock::duration>(options.deadline);
    if (const Node* node = surroundings_.node) {
      bells_.emplace(node->bells, node->size);
      site_.emplace(NodeBoard{node->board, node->size, options.chunk_bytes}, *bells_, node->rank,
                    options.first_epoch, node);
      waiter_.bells = &*bells_;
    }
  }
  ~TeamBasis() = default;

  /// The outermost team's number of a rank, for messages.
  int shown(int r) const noexcept {
    return names_.empty() ? r : names_[static_cast<std::size_t>(r)];
  }
  void call_ranks(std::vector<int> names) {
    if (site_) site_->call_ranks(names);
    names_ = std::move(names);
  }

  Surroundings surroundings_;
  Options options_;
  std::optional<Doorbells> bells_;
  std::optional<NodeSite> site_;
  Waiter waiter_;
  TuningText tuning_;
  std::shared_ptr<void> selection_;
  std::uint32_t looks_from_ = 0;  ///< see TeamFrames::looks()
  std::shared_ptr<void> arena_;
  std::vector<int> names_;  ///< the ranks', in the outermost team, if this is not it
  // A message is known by the number of its call: twice that of a blocking call, or one more than
  // twice that of a non-blocking one. All ranks count alike.
  std::uint32_t blocking_calls_;
  std::uint32_t requests_;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
