// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/runtime/memory/arena.hpp>
#include <papcoll/runtime/memory/mapped_memory.hpp>
#include <papcoll/runtime/memory/registrations.hpp>
#include <papcoll/runtime/team.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

inline std::byte* address_of(std::uintptr_t address) noexcept {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// Returns true if any of the range is on the stack of the calling thread, or on the one in use now
/// if that is another (a fiber's). /proc names the main thread's stack only.
inline bool is_on_own_stack(const AddressRange& range) noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (range.contains({here, here + 1})) return true;
  if (syscall(SYS_gettid) == getpid()) return false;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
  void* lowest = nullptr;
  std::size_t bytes = 0;
  pthread_attr_getstack(&attributes, &lowest, &bytes);
  pthread_attr_destroy(&attributes);
  const auto begin = reinterpret_cast<std::uintptr_t>(lowest);
  return range.meets({begin, begin + bytes});
}

/// Why pages of this process cannot be moved: see why_not_moved().
[[gnu::cold]] inline std::string why_pages_stay(const AddressRange& pages) {
  if (is_on_own_stack(pages)) {
    return "is on a stack, which is in use: allocate it, as a std::vector does";
  }
  try {
    const std::string maps = maps_below(pages.end);
    std::string why = why_not_moved(parse_mappings(maps), pages);
    if (!why.empty()) return why;
    if (any_locked(read_proc("/proc/self/status")) &&
        is_locked(read_proc("/proc/self/smaps"), pages)) {
      return "is locked in memory (mlock), and would not be where it moves to: unlock it first";
    }
    return {};
  } catch (const system_error& problem) {
    return joined({"is of a kind that cannot be told (", bare(problem.what()),
                   "): mount /proc, or take a papcoll::shared_vector"});
  }
}

/// Maps zeros where nothing is mapped. What is there stays.
inline void fill_hole(const AddressRange& pages) noexcept {
  constexpr int no_replace = 0x100000;  // MAP_FIXED_NOREPLACE; only a hint before Linux 4.17
  void* const wanted = address_of(pages.begin);
  void* const got = mmap(wanted, pages.bytes(), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | no_replace, -1, 0);
  if (got != MAP_FAILED && got != wanted) munmap(got, pages.bytes());
}

/// Puts a mapping, with what it maps, in the place of `where`, which was mapped, too: 0, or errno,
/// and then the mapping stays where it was, and what is private in `where` is lost. The kernel
/// looks for most of what could fail before it takes away what was there, as mmap(MAP_FIXED) does
/// not; if it lacks memory after that, the hole is filled.
///
/// MPI libraries that remember where memory is (pinned, or of a peer) replace functions of the C
/// library to hear of what goes. UCX 1.13 loses the last argument of mremap() that way, so the
/// kernel itself is called; and they hear by madvise() that the pages go.
[[gnu::cold]] inline int replace_mapping(std::byte* mapping, const AddressRange& where) noexcept {
  const std::size_t n = where.bytes();
  madvise(address_of(where.begin), n, MADV_DONTNEED);
  const long got = syscall(SYS_mremap, mapping, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, where.begin);
  if (got != -1) return 0;
  const int problem = errno;
  fill_hole(where);
  return problem;
}

/// Gives the pages' contents to `twin`, a mapping of as many bytes of shared memory, which then
/// lies in their place: 0, or errno, and nothing has changed. A child made by fork() has nothing
/// there, so that it cannot write to its parent's data.
inline int exchange_for(std::byte* twin, const AddressRange& pages) noexcept {
  const std::size_t n = pages.bytes();
  std::memcpy(twin, address_of(pages.begin), n);
  if (madvise(twin, n, MADV_DONTFORK) != 0) return errno;
  const int problem = replace_mapping(twin, pages);
  if (problem != 0) std::memcpy(address_of(pages.begin), twin, n);
  return problem;
}

/// What move_back() found where pages had been moved away.
enum class RestoreResult : unsigned char {
  all,   ///< nothing of the process is in the shared memory any more, but its own view
  some,  ///< something is still there, and must be let alone
};

/// Returns where a mapping has what exchange_for() put in place of `pages`: the bytes from `first`
/// on of the file that `own` maps.
inline AddressRange in_place(const Mapping& m, const AddressRange& pages, const Mapping& own,
                             std::uint64_t first) noexcept {
  const AddressRange here = m.range.common_with(pages);
  const bool is_there = !here.empty() && m.is_same_file(own) &&
                        m.place_of(here.begin) == first + (here.begin - pages.begin);
  return is_there ? here : AddressRange{};
}

/// Brings pages back to private memory that exchange_for() had moved. `seen`: where this process
/// sees the shared memory besides. Where its user has unmapped them since, or mapped something
/// else, they are left as they are. Lets all stay as it was if there is no memory. Where all pages
/// are in place, no second mapping of them is looked for: mremap() makes none of private memory.
[[gnu::cold]] inline RestoreResult move_back(const AddressRange& pages,
                                             const std::byte* seen) noexcept {
  const auto view = reinterpret_cast<std::uintptr_t>(seen);
  const AddressRange all_seen{view, view + pages.bytes()};
  std::string maps;
  Vector<Mapping> mappings;
  const Mapping* own = nullptr;
  std::uint64_t first = 0;
  std::size_t bytes_in_place = 0;
  const auto look = [&] {
    mappings = parse_mappings(maps);
    const auto found = std::find_if(mappings.begin(), mappings.end(),
                                    [&](const Mapping& m) { return m.range.contains(all_seen); });
    if (found == mappings.end()) return false;
    own = &*found;
    first = own->place_of(view);
    bytes_in_place = 0;
    for (const Mapping& m : mappings) bytes_in_place += in_place(m, pages, *own, first).bytes();
    return true;
  };
  try {
    maps = maps_below(std::max(all_seen.end, pages.end));
    if (!look()) return RestoreResult::some;
    if (bytes_in_place != pages.bytes()) {  // what is missing may be anywhere
      maps = read_proc("/proc/self/maps");
      if (!look()) return RestoreResult::some;
    }
  } catch (const std::exception&) {
    return RestoreResult::some;
  }
  RestoreResult result = RestoreResult::all;
  for (const Mapping& m : mappings) {
    if (&m == own || !m.is_same_file(*own)) continue;
    const AddressRange here = in_place(m, pages, *own, first);
    if (here.empty()) {
      const AddressRange in_file{m.offset, m.offset + m.range.bytes()};
      if (in_file.meets({first, first + pages.bytes()})) result = RestoreResult::some;
      continue;
    }
    void* const fresh =
        mmap(nullptr, here.bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED) {
      result = RestoreResult::some;
      continue;
    }
    // Moved before it is touched: so the kernel can join it to its new neighbours. Where it was not
    // moved, the copy fills what replaced a hole, or changes nothing.
    if (replace_mapping(static_cast<std::byte*>(fresh), here) != 0) {
      munmap(fresh, here.bytes());
      result = RestoreResult::some;
    }
    std::memcpy(address_of(here.begin), seen + (here.begin - pages.begin), here.bytes());
  }
  return result;
}

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
    bool is_exchanged = false;
    const OnExit give_back{[&] {
      if (!is_exchanged) arena_->deallocate(start_);
    }};
    memory_.seen = start_ + (data.begin - all.begin);
    const std::size_t n = memory_.pages.bytes();
    std::byte* const twin = arena_->map_again(seen_pages(), n);
    if (const int problem = exchange_for(twin, memory_.pages); problem != 0) {
      munmap(twin, n);
      refuse(core, problem);
    }
    is_exchanged = true;
    known_->add(memory_);
  }

  [[gnu::cold]] ~RegisteredBuffer() {
    known_->remove(memory_);
    if (getpid() != process_) {
      fill_hole(memory_.pages);
      // The arena is the parent's. Its destructor would announce to the peers that this rank has
      // left.
      static_cast<void>(new (std::nothrow) Shared<Arena>(std::move(arena_)));
      return;
    }
    if (move_back(memory_.pages, seen_pages()) == RestoreResult::all) arena_->deallocate(start_);
  }

 private:
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

  static const Shared<Registrations>& registrations_of(TeamCore& core) {
    if (core.registrations() == nullptr)
      core.set_registrations(detail::make_shared<Registrations>());
    return core.registrations();
  }

  std::byte* seen_pages() const noexcept { return memory_.seen_at(memory_.pages.begin); }

  Shared<Arena> arena_;
  Shared<Registrations> known_;
  RegisteredMemory memory_;
  std::byte* start_ = nullptr;  ///< what it has of the arena
  pid_t process_;
};

/// Why a rank's memory cannot be moved to an arena, or empty.
inline std::string why_no_registration(const TeamCore& core) {
  const TeamEnvironment& environment = core.environment();
  if (!environment.processes) return "its ranks are threads, which see all memory anyway";
  const Node* const node =
      environment.node != nullptr ? environment.node : environment.partial_node;
  if (node == nullptr) {
    return environment.why_no_shared_memory.empty() ? "its ranks share no memory"
                                                    : environment.why_no_shared_memory;
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
  const TeamEnvironment& environment = core.environment();
  const PeerMemory& peers =
      (environment.node != nullptr ? environment.node : environment.partial_node)->peers;
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
