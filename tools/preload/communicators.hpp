// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Which communicators papcoll serves. One is taken over in its k-th collective call, or in the
// first of the 32nd, 64th, 128th … in which the calls so far would have gained what that costs.
// Whether, is decided by what all of its ranks know alike or agree on then, and is kept as an
// attribute of it.

#include "call_outcomes.hpp"
#include "generation.hpp"
#include "never_destroyed.hpp"
#include "resource_limits.hpp"
#include "settings.hpp"

#include <papcoll/choice/selection/selection_state.hpp>
#include <papcoll/communicator.hpp>
#include <papcoll/erased.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/transport/mpi/mpi.hpp>

#include <link.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace preload {

namespace erased = papcoll::erased;

/// A pair of type and operator that papcoll has a kernel for. Both are MPI's own, so that what
/// handles stand for does not change.
struct KnownReduction {
  MPI_Datatype type{};
  MPI_Op op{};
  const erased::Operator* kernel = nullptr;
  std::size_t size = 0;  ///< bytes of an element

  bool is(MPI_Datatype t, MPI_Op o) const noexcept {
    return kernel != nullptr && type == t && op == o;
  }
};

struct Communicator {
  MPI_Comm handle{};
  int rank = 0;
  int size = 1;
  Outcome left = Outcome::first_calls;  ///< taken_over, or why its calls are MPI's
  std::uint64_t calls = 0;              ///< that MPI has done before it is taken over
  std::uint64_t bytes = 0;              ///< and what they moved, as far as it is known
  std::uint64_t due_in = 0;             ///< the call in which it is, or may be, taken over
  std::unique_ptr<papcoll::Communicator> team;
  /// What runs all calls, or null where rules say more.
  const Algorithm* only_algorithm = nullptr;
  KnownReduction last_reduction;  ///< none where rules say more
  bool has_called = false;        ///< papcoll, in the call that is being made
  std::uint64_t unfit_rules = 0;  ///< those whose algorithm has refused a call here

  bool is_taken_over() const noexcept { return left == Outcome::taken_over; }
};

/// How many communicators whose rank 0 this process is were taken over, and in how many
/// nanoseconds.
struct TakeOvers {
  std::atomic<std::uint64_t> number{0};
  std::atomic<std::uint64_t> nanoseconds{0};
};
inline constinit TakeOvers take_overs{};

/// How many calls ran by which algorithm: "allreduce by Exchange".
using CallsByAlgorithm = std::map<std::string, std::uint64_t>;

class Communicators {
 public:
  /// In MPI_Init.
  void begin(const Settings& settings, const ArenaBytes& arenas) {
    settings_ = &settings;
    arenas_ = arenas;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &Communicators::ends, &keyval_, nullptr);
  }

  /// Returns what is known of a communicator; null if it is none.
  Communicator* find(MPI_Comm handle) {
    const std::uint64_t now = generation_.now();
    if (last_.is(handle, now)) return last_.found;
    if (handle == MPI_COMM_NULL) return nullptr;
    last_ = {handle, attached(handle), now};
    return last_.found;
  }
  /// As find(), but null unless it is the communicator of this thread's last call.
  [[gnu::always_inline]] static Communicator* known(MPI_Comm handle) noexcept {
    return last_.is(handle, generation_.now()) ? last_.found : nullptr;
  }

  /// Returns true if this call is the one in which the communicator is to be taken over.
  bool is_due(const Communicator& c) const noexcept {
    return c.left == Outcome::first_calls && c.calls + 1 >= c.due_in;
  }
  /// Takes it over, if nothing stands against that; collective.
  [[gnu::cold, gnu::noinline]] bool take_over(Communicator& c) {
    if (settings_->after == 0 && !pays(c)) {
      c.due_in *= 2;
      return false;
    }
    c.left = outcome_of(c);
    return c.is_taken_over();
  }

  /// This thread's MPI_Comm_free, or MPI_Comm_disconnect, of a communicator: while MPI ends its
  /// attributes, of which this library's and papcoll's may have gone already, functions of the
  /// program's may make calls on it, which all are MPI's.
  class Ending {
   public:
    explicit Ending(MPI_Comm handle) noexcept : handle_(handle), outer_(innermost()) {
      innermost() = this;
      generation_.end_one();  // what this thread remembers of it is void
    }
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;
    ~Ending() {
      innermost() = outer_;
      generation_.end_one();  // the handle may come again
    }

    static bool is_of(MPI_Comm handle) noexcept {
      for (const Ending* e = innermost(); e != nullptr; e = e->outer_) {
        if (e->handle_ == handle) return true;
      }
      return false;
    }

   private:
    static Ending*& innermost() noexcept {
      static constinit thread_local Ending* innermost = nullptr;
      return innermost;
    }

    MPI_Comm handle_;
    Ending* outer_;
  };

  /// Returns the numbers of this process's calls by algorithm, on communicators that have ended,
  /// too.
  static CallsByAlgorithm calls_by_algorithm() {
    TakenOver& t = taken_over();
    const std::lock_guard lock(t.mutex);
    CallsByAlgorithm all = t.ended;
    for (const Communicator* c : t.alive) add_calls(*c, all);
    return all;
  }

  /// A communicator was freed. With the last one that was taken over, what papcoll keeps for others
  /// of its ranks goes, too: nothing is left of papcoll then.
  void freed_one() noexcept {
    if (!last_ended_.load(std::memory_order_relaxed) || !last_ended_.exchange(false)) return;
    try {
      papcoll::release_unused_memory();
    } catch (const std::exception&) {  // it stays until MPI_Finalize
    }
  }

 private:
  static int ends(MPI_Comm /*handle*/, int /*keyval*/, void* value, void* /*state*/) {
    generation_.end_one();
    const std::unique_ptr<Communicator> ended(static_cast<Communicator*>(value));
    if (!ended->is_taken_over()) return MPI_SUCCESS;
    TakenOver& t = taken_over();
    const std::lock_guard lock(t.mutex);
    t.alive.erase(ended.get());
    try {
      add_calls(*ended, t.ended);
    } catch (const std::exception&) {  // of which the summary knows nothing then
    }
    if (t.alive.empty()) last_ended_.store(true);
    return MPI_SUCCESS;
  }

  static void add_calls(const Communicator& c, CallsByAlgorithm& all) {
    for (const papcoll::AlgorithmCount& a : papcoll::algorithm_counts(*c.team)) {
      std::string name{papcoll::name_of(a.collective)};
      all[name.append(" by ").append(a.algorithm)] += a.calls;
    }
  }

  [[gnu::cold, gnu::noinline]] Communicator* attached(MPI_Comm handle) {
    if (Ending::is_of(handle)) return &ending_;
    // Without a lock: MPI may hold one of its own while it calls what comes here. One thread at a
    // time is in collective calls on a communicator.
    void* value = nullptr;
    int is_there = 0;
    if (MPI_Comm_get_attr(handle, keyval_, &value, &is_there) != MPI_SUCCESS) return nullptr;
    if (is_there != 0) return static_cast<Communicator*>(value);
    auto made = std::make_unique<Communicator>();
    made->handle = handle;
    constexpr std::uint64_t first_look = 32;
    made->due_in = settings_->after != 0 ? settings_->after : first_look;
    int is_inter = 0;
    if (MPI_Comm_test_inter(handle, &is_inter) != MPI_SUCCESS ||
        MPI_Comm_size(handle, &made->size) != MPI_SUCCESS ||
        MPI_Comm_rank(handle, &made->rank) != MPI_SUCCESS) {
      return nullptr;
    }
    if (is_inter != 0) {
      made->left = Outcome::inter_communicator;
    } else if (made->size == 1) {
      made->left = Outcome::one_rank;
    }
    if (MPI_Comm_set_attr(handle, keyval_, made.get()) != MPI_SUCCESS) return nullptr;
    return made.release();
  }

  /// Returns true if the calls so far would have gained, on each rank, what taking the communicator
  /// over costs. A program is assumed to go on for as long as it has run, so that it loses at most
  /// that cost, once. The figures are for 2 ranks: 60 ns and 0.1 ns a byte for a call, 0.6 ms for
  /// the first communicator, with the first uses of its buffers.
  static bool pays(const Communicator& c) {
    constexpr std::uint64_t bytes_a_call = 600;
    constexpr std::uint64_t enough = 6'000'000;
    const std::uint64_t mine = c.bytes + bytes_a_call * c.calls;
    std::uint64_t least = 0;
    return MPI_Allreduce(&mine, &least, 1, MPI_UINT64_T, MPI_MIN, c.handle) == MPI_SUCCESS &&
           least >= enough;
  }

  Outcome outcome_of(Communicator& c) {
    if (!is_within_world(c)) return Outcome::outside_world;
    const std::string problem = no_room();
    const auto [has_gpu, has_problem] =
        any(c, {!settings_->ignores_gpu && has_gpu_driver(), !problem.empty()});
    if (has_gpu) return Outcome::gpu;
    if (has_problem) {
      warn_once(c, problem);
      return Outcome::no_state;
    }
    return make(c) ? Outcome::taken_over : Outcome::no_state;
  }

  /// Returns true if all ranks are of this MPI_COMM_WORLD. Others (spawned ones) may run without
  /// this library.
  static bool is_within_world(const Communicator& c) {
    MPI_Group group{};
    MPI_Group world{};
    if (MPI_Comm_group(c.handle, &group) != MPI_SUCCESS) return false;
    bool is_within = MPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS;
    if (is_within) {
      std::vector<int> ranks(static_cast<std::size_t>(c.size));
      std::vector<int> in_world(ranks.size(), MPI_UNDEFINED);
      for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int>(i);
      is_within = MPI_Group_translate_ranks(group, c.size, ranks.data(), world, in_world.data()) ==
                  MPI_SUCCESS;
      for (const int r : in_world) is_within = is_within && r != MPI_UNDEFINED;
      MPI_Group_free(&world);
    }
    MPI_Group_free(&group);
    return is_within;
  }

  /// Buffers may be memory of a GPU's then. By what is loaded: dlopen, with RTLD_NOLOAD as well,
  /// looks for a name that it does not know in all directories, which takes as long as the rest.
  static bool has_gpu_driver() {
    return dl_iterate_phdr(
               [](dl_phdr_info* info, std::size_t /*size*/, void* /*nothing*/) {
                 std::string_view name{info->dlpi_name};
                 name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
                 for (const std::string_view driver :
                      {"libcuda.so", "libamdhip64.so", "libze_loader.so"}) {
                   if (name.substr(0, driver.size()) == driver) return 1;
                 }
                 return 0;
               },
               nullptr) != 0;
  }

  /// Returns, for each of the two, whether it holds on any rank.
  static std::pair<bool, bool> any(const Communicator& c, std::pair<bool, bool> mine) {
    int in[2] = {mine.first ? 1 : 0, mine.second ? 1 : 0};
    int out[2] = {0, 1};
    const int code = MPI_Allreduce(in, out, 2, MPI_INT, MPI_MAX, c.handle);
    return {out[0] != 0, code != MPI_SUCCESS || out[1] != 0};
  }

  bool make(Communicator& c) {
    const auto begin = std::chrono::steady_clock::now();
    std::string problem;
    std::unique_ptr<papcoll::Communicator> made;
    try {
      papcoll::Options options;
      options.arena_bytes = c.size == ranks_ ? arenas_.of_all_ranks : arenas_.of_others;
      made = std::make_unique<papcoll::Communicator>(c.handle, options);
      if (made->nodes() == 1) problem = without_prefix(made->why_no_shared_memory());
      // What is wrong in a tuning file only the first call would say.
      if (problem.empty()) static_cast<void>(papcoll::detail::selection_of(made->core()));
    } catch (const std::exception& e) {
      problem = without_prefix(e.what());
      if (problem.empty()) problem = "it could not be made";
    }
    // What went wrong on one rank alone counts for all.
    if (any(c, {false, !problem.empty()}).second) {
      warn_once(c, problem);
      return false;
    }
    c.team = std::move(made);
    {
      TakenOver& t = taken_over();
      const std::lock_guard lock(t.mutex);
      t.alive.insert(&c);
    }
    if (settings_->rules.empty()) c.only_algorithm = &settings_->otherwise;
    if (c.rank != 0) return true;  // each is counted once
    take_overs.number.fetch_add(1, std::memory_order_relaxed);
    take_overs.nanoseconds.fetch_add(
        static_cast<std::uint64_t>((std::chrono::steady_clock::now() - begin) /
                                   std::chrono::nanoseconds(1)),
        std::memory_order_relaxed);
    return true;
  }

  /// Some rank has a problem, as all know: the first one's is sent to rank 0, which prints it, each
  /// reason once.
  void warn_once(const Communicator& c, const std::string& problem) {
    std::array<char, 512> text{};
    problem.copy(text.data(), text.size() - 1);
    int mine = problem.empty() ? c.size : c.rank;
    int first = 0;
    if (MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, c.handle) != MPI_SUCCESS ||
        first >= c.size ||
        MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, first, c.handle) !=
            MPI_SUCCESS ||
        c.rank != 0) {
      return;
    }
    const std::string reason =
        (first == 0 ? "" : "on rank " + std::to_string(first) + ": ") + std::string(text.data());
    const std::lock_guard lock(mutex_);
    static std::set<std::string>& said = *new std::set<std::string>;
    if (!said.insert(without_numbers(reason)).second) return;
    std::fprintf(stderr,
                 "papcoll: a communicator of %d ranks stays with MPI's own collectives: %s\n",
                 c.size, reason.c_str());
  }

  /// Returns what distinguishes reasons: words without digits, unlike names of files.
  static std::string without_numbers(const std::string& text) {
    std::string words;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find(' ', begin), text.size());
      const std::string word = text.substr(begin, end - begin);
      if (word.find_first_of("0123456789") == std::string::npos) words += word + ' ';
      begin = end + 1;
    }
    return words;
  }

  static inline constinit Generation generation_{};
  static inline constinit thread_local Remembered<MPI_Comm, Communicator> last_{};
  /// The communicators that are taken over.
  struct TakenOver {
    std::mutex mutex;
    std::set<const Communicator*> alive;
    CallsByAlgorithm ended;  ///< the calls on those that are no more
  };
  static TakenOver& taken_over() {
    static TakenOver& all = *new TakenOver;
    return all;
  }

  static inline constinit std::atomic<bool> last_ended_{false};

  const Settings* settings_ = nullptr;
  ArenaBytes arenas_;
  int ranks_ = 1;     ///< of MPI_COMM_WORLD
  std::mutex mutex_;  ///< of what was said
  int keyval_ = MPI_KEYVAL_INVALID;
  /// Stands for those that end: of no other is anything known but that it is left.
  Communicator ending_{{}, 0, 1, Outcome::ending, 0, 0, 0, nullptr, nullptr, {}, false, 0};
};
inline constinit NeverDestroyed<Communicators> all_communicators{};
inline Communicators& communicators() noexcept { return all_communicators.value; }

}  // namespace preload
