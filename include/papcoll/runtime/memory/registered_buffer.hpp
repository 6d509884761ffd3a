#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/runtime/memory/arena.hpp>
#include <papcoll/runtime/memory/page_migration.hpp>
#include <papcoll/runtime/memory/registrations.hpp>
#include <papcoll/runtime/team.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// A buffer whose whole pages lie in the arena, for as long as this lives. Without its
/// communicator, too.
class RegisteredBuffer : Pinned {
 public:
  /// `data` has whole pages. Throws argument_error, system_error; then nothing has changed.
  [[gnu::cold]] RegisteredBuffer(TeamCore& core, const AddressRange& data, std::size_t page)
      : arena_(arena_of(core)), known_(registrations_of(core)), process_(getpid()) {
    memory_.data = data;
    memory_.pages = data.whole_pages(page);
    const AddressRange all = data.all_pages(page);
    known_->prepare();
    start_ = arena_->allocate_pages(all.bytes(), page);
    Pages taken{*arena_, start_};
    memory_.seen = start_ + (data.begin - all.begin);
    const std::size_t n = memory_.pages.bytes();
    std::byte* const twin = arena_->map_again(seen_pages(), n);
    if (const int problem = exchange_for(twin, memory_.pages); problem != 0) {
      munmap(twin, n);
      refuse(core, problem);
    }
    taken.at = nullptr;
    known_->add(memory_);
  }

  [[gnu::cold]] ~RegisteredBuffer() {
    known_->remove(memory_);
    if (getpid() != process_) {
      fill_hole(memory_.pages);
      // The arena is the parent's. It would tell the peers that this rank has left.
      static_cast<void>(new (std::nothrow) detail::Shared<Arena>(std::move(arena_)));
      return;
    }
    if (move_back(memory_.pages, seen_pages()) == RestoreResult::all) arena_->deallocate(start_);
  }

 private:
  /// Given back where something is thrown.
  struct Pages : Pinned {
    Arena& arena;
    std::byte* at;
    Pages(Arena& arena_, std::byte* at_) : arena(arena_), at(at_) {}
    ~Pages() {
      if (at != nullptr) arena.deallocate(at);
    }
  };

  [[noreturn, gnu::cold]] void refuse(const TeamCore& core, int problem) const {
    const std::string what =
        joined({"papcoll: rank ", core.rank(), " cannot register ", memory_.data.bytes(),
                " bytes at ", hexadecimal(memory_.data.begin),
                ": the kernel says of moving them: ", std::generic_category().message(problem)});
    if (problem == ENOMEM) {
      throw system_error(joined({what,
                                 ": end other registrations, or raise the limits of this "
                                 "process (ulimit -v, vm.max_map_count)"}),
                         problem);
    }
    throw argument_error(joined({what, ": register memory that malloc or new gives"}));
  }

  static const detail::Shared<Registrations>& registrations_of(TeamCore& core) {
    if (core.registrations() == nullptr)
      core.set_registrations(detail::make_shared<Registrations>());
    return core.registrations();
  }

  std::byte* seen_pages() const noexcept { return memory_.seen_at(memory_.pages.begin); }

  detail::Shared<Arena> arena_;
  detail::Shared<Registrations> known_;
  RegisteredMemory memory_;
  std::byte* start_ = nullptr;  ///< what it has of the arena
  pid_t process_;
};

/// Why a rank's memory cannot be moved to an arena, or empty.
inline std::string why_no_registration(const TeamCore& core) {
  const TeamEnvironment& s = core.surroundings();
  if (!s.processes) return "its ranks are threads, which see all memory anyway";
  const Node* const node = s.node != nullptr ? s.node : s.partial_node;
  if (node == nullptr) {
    return s.why_no_shared_memory.empty() ? "its ranks share no memory" : s.why_no_shared_memory;
  }
  if (node->arena == nullptr) {
    return "the communicator has no arena: Options::arena_bytes is 0, or there was no address "
           "space "
           "for it, or a limit on the size of files (ulimit -f) is below it";
  }
  if (!node->peers.maps()) return "Options::peer_access is PeerAccess::staged";
  return {};
}

/// Why the buffer cannot be moved, as the end of a sentence that begins "it"; empty if it can.
[[gnu::cold]] inline std::string why_not_registered(const TeamCore& core, const AddressRange& data,
                                                    const AddressRange& pages) {
  const TeamEnvironment& s = core.surroundings();
  const PeerMemory& peers = (s.node != nullptr ? s.node : s.partial_node)->peers;
  if (peers.place(address_of(data.begin), data.bytes()).mapped != 0) {
    return "is in the arena of this communicator already: call with it as it is";
  }
  if (core.registrations() != nullptr && core.registrations()->any_meets(data)) {
    return "is registered on this communicator already, at least in part, perhaps as a buffer that "
           "was freed or resized since: end that registration first";
  }
  return why_pages_stay(pages);
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
