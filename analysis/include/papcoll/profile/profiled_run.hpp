// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/profile/clock.hpp>
#include <papcoll/profile/clock_rounds.hpp>
#include <papcoll/profile/mpi_calls.hpp>
#include <papcoll/profile/one_way_times.hpp>
#include <papcoll/profile/profile_error.hpp>
#include <papcoll/profile/rank_file.hpp>
#include <papcoll/profile/recorder.hpp>
#include <papcoll/profile/settings.hpp>
#include <papcoll/profile/trace_files.hpp>
#include <papcoll/profile/trace_format.hpp>
#include <papcoll/topology/processor_set.hpp>

#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace profile {

/// The life of a profile in a process: from MPI_Init to the end. Nothing here throws or ends the
/// program: what goes wrong is said once, on stderr, and the program runs on without a profile.
class ProfiledRun : Pinned {
 public:
  /// The recorder, between MPI_Init and MPI_Finalize.
  Recorder* recorder() noexcept {
    // Acquire: what begin() wrote before it handed the recorder out.
    return recorder_in_use_.load(std::memory_order_acquire);
  }

  /// MPI_Init has come back. Collective over MPI_COMM_WORLD. `library`: path of the MPI library.
  void begin(const MpiCalls& mpi, const std::string& library) noexcept {
    if (mpi_ != nullptr) return;
    mpi_ = &mpi;
    owner_ = getpid();
    try {
      check_mpi(mpi.Comm_dup(MPI_COMM_WORLD, &private_), "MPI_Comm_dup");
      has_private_ = true;
      // Else what fails here would end a program that lives with the loss of ranks.
      mpi.Comm_set_errhandler(private_, MPI_ERRORS_RETURN);
      check_mpi(mpi.Comm_rank(private_, &rank_), "MPI_Comm_rank");
      check_mpi(mpi.Comm_size(private_, &size_), "MPI_Comm_size");
      begin_together(library);
    } catch (const std::exception& e) {
      say(e.what());
    }
  }

  /// MPI_Finalize was called, and has not begun. Collective over MPI_COMM_WORLD.
  void end() noexcept {
    if (!has_private_ || getpid() != owner_) return;
    has_private_ = false;
    Recorder* const r = recorder_in_use_.exchange(nullptr, std::memory_order_acq_rel);
    if (r != nullptr) {
      header().ended = now();
      set(RunState::finalizing);
    }
    try {
      end_together(r);
    } catch (const std::exception& e) {
      say(e.what());
    }
    if (r != nullptr) r->communicators().end();
    mpi_->Comm_free(&private_);
  }

  /// MPI_Finalize has come back.
  void finished() noexcept {
    if (!recorder_ || getpid() != owner_) return;
    set(RunState::finished);
    try {
      bring_home();
    } catch (const std::exception& e) {
      const std::string& path = recorder_->file().path();
      say(e.what() + (access(path.c_str(), F_OK) == 0 ? "; the trace stays in " + path
                                                      : std::string("; the trace is lost")));
    }
  }

  /// MPI_Abort was called.
  void aborted(int code) noexcept {
    if (recorder() == nullptr) return;
    header().abort_code = code;
    set(RunState::aborted);
  }

  /// A session is opened. Without MPI_Init there is no MPI_COMM_WORLD to count ranks in.
  void session_opened() noexcept {
    if (mpi_ != nullptr || is_session_said_) return;
    is_session_said_ = true;
    say_for_all(
        "the program opens an MPI session without MPI_Init; what it calls until MPI_Init is not "
        "recorded");
  }

  /// A collective is called while recorder() is null.
  void call_missed() noexcept {
    if (mpi_ == nullptr) has_missed_.store(true, std::memory_order_relaxed);
  }

  /// The process leaves: says so in the trace if MPI_Finalize was not called.
  void left() noexcept {
    if (mpi_ == nullptr && !is_session_said_ && has_missed_.load(std::memory_order_relaxed)) {
      say_for_all(
          "the program's collective calls have come by, and its MPI_Init has not: it goes to the "
          "MPI library directly (dlsym, ctypes); nothing was recorded");
    }
    // A child of fork() has the same mapping.
    if (!recorder_ || getpid() != owner_) return;
    const auto state = std::atomic_ref(header().state).load(std::memory_order_relaxed);
    if (state != static_cast<std::uint32_t>(RunState::running)) return;
    int is_finalized = 0;
    if (mpi_->Finalized(&is_finalized) == MPI_SUCCESS && is_finalized != 0) {
      finished();  // by a call that has not come by
    } else {
      set(RunState::exited);
    }
  }

  /// This process is a child of fork(): the parent's calls are not its own.
  void forget() noexcept { recorder_in_use_.store(nullptr, std::memory_order_relaxed); }

  /// What was to be said to the user, once for a process.
  void say(std::string_view what) const noexcept {
    std::fprintf(stderr, "papcoll-profile: rank %d: %.*s\n", rank_, static_cast<int>(what.size()),
                 what.data());
  }

 private:
  FileHeader& header() noexcept { return recorder_->file().header(); }

  void set(RunState state) noexcept {
    std::atomic_ref(header().state)
        .store(static_cast<std::uint32_t>(state), std::memory_order_release);
  }

  /// Before ranks are known, one process prints: that of rank 0, according to the launcher's
  /// variables.
  static void say_for_all(const char* what) noexcept {
    for (const char* const name :
         {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
      const char* const rank = std::getenv(name);
      if (rank != nullptr && std::string_view(rank) != "0") return;
    }
    std::fprintf(stderr, "papcoll-profile: %s\n", what);
  }

  static std::uint64_t drawn(int rank) noexcept {
    const std::array<std::int64_t, 3> parts{unix_now(), getpid(), rank};
    return hash_of(parts.data(), sizeof parts);
  }

  void begin_together(const std::string& library) {
    const MpiCalls& mpi = *mpi_;
    MPI_Comm parent = MPI_COMM_NULL;
    check_mpi(mpi.Comm_get_parent(&parent), "MPI_Comm_get_parent");
    // A spawned job's parents may be in the directory.
    const bool has_others = rank_ == 0 && parent == MPI_COMM_NULL && clear_directory(false);
    std::array<std::uint64_t, 2> told{drawn(rank_), has_others ? 1U : 0U};
    check_mpi(mpi.Bcast(told.data(), 2, MPI_UINT64_T, 0, private_), "MPI_Bcast");
    run_ = told[0];
    find_nodes();
    if (told[1] != 0 && rank_ != 0 && nodes_[static_cast<std::size_t>(rank_)] == rank_) {
      clear_directory(true);
    }
    clocks_ = clocks_of(private_, nodes_[static_cast<std::size_t>(rank_)], mpi);
    const ClockPoint point = fitted(*clocks_, private_, mpi);
    std::string why;
    try {
      make_file(library);
    } catch (const std::exception& e) {
      why = e.what();
    }
    tell_failures(why);
    if (!recorder_) return;
    FileHeader& h = header();
    h.run = run_;
    h.job = settings_.job;
    h.spawned = parent == MPI_COMM_NULL ? 0 : 1;
    h.world_rank = rank_;
    h.world_size = size_;
    h.node = nodes_[static_cast<std::size_t>(rank_)];
    h.processors = processors_;
    h.clock = clocks_->leader;
    h.clock_begin = point;
    describe_process(h);
    recorder_->communicators().note(MPI_COMM_WORLD);
    recorder_->communicators().note(MPI_COMM_SELF);
    h.began = now();
    h.began_unix = unix_now();
    set(RunState::running);
    // Release: threads of the program find all of it written.
    recorder_in_use_.store(&*recorder_, std::memory_order_release);
  }

  void find_nodes() {
    const MpiCalls& mpi = *mpi_;
    MPI_Comm node = MPI_COMM_NULL;
    check_mpi(mpi.Comm_split_type(private_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node),
              "MPI_Comm_split_type");
    int lowest = rank_;
    check_mpi(mpi.Bcast(&lowest, 1, MPI_INT, 0, node), "MPI_Bcast");
    processors_ = processors_of(node);
    mpi.Comm_free(&node);
    nodes_.resize(static_cast<std::size_t>(size_));
    check_mpi(mpi.Allgather(&lowest, 1, MPI_INT, nodes_.data(), 1, MPI_INT, private_),
              "MPI_Allgather");
  }

  // How many processors the ranks of a node may run on, all together.
  int processors_of(MPI_Comm node) const {
    const ProcessorSet own = ProcessorSet::of_this_thread();
    int end = own.end();
    check_mpi(mpi_->Allreduce(MPI_IN_PLACE, &end, 1, MPI_INT, MPI_MAX, node), "MPI_Allreduce");
    std::vector<unsigned char> all(static_cast<std::size_t>(end));
    for (int p = 0; p < end; ++p) all[static_cast<std::size_t>(p)] = own.has(p) ? 1 : 0;
    check_mpi(mpi_->Allreduce(MPI_IN_PLACE, all.data(), end, MPI_UNSIGNED_CHAR, MPI_MAX, node),
              "MPI_Allreduce");
    return static_cast<int>(std::count(all.begin(), all.end(), 1));
  }

  // What a former run has left would be taken for this one's. Returns true if there are notes of
  // other nodes: their ranks look at them, by remove_ended_runs()'s only_notes.
  static bool clear_directory(bool only_notes) noexcept {
    try {
      const Settings settings = settings_of_environment();
      return remove_ended_runs(settings.directory, settings.job, only_notes);
    } catch (const std::exception&) {
      return false;  // make_file() tells it
    }
  }

  void make_file(const std::string& library) {
    settings_ = settings_of_environment();
    settings_.directory = absolute(settings_.directory);
    settings_.local_directory = absolute(settings_.local_directory);
    make_directory(settings_.directory);
    const std::string directory = absolute(directory_of_run(settings_, run_));
    make_directory(directory);
    int level = MPI_THREAD_SINGLE;
    check_mpi(mpi_->Query_thread(&level), "MPI_Query_thread");
    const std::string path = directory + "/" + file_name("trace");
    try {
      recorder_.emplace(path, settings_.sizes, *mpi_, library, level == MPI_THREAD_MULTIPLE);
    } catch (...) {
      unlink(path.c_str());
      throw;
    }
    if (directory != settings_.directory) write_note(place_note(), path);
    header().thread_level = level == MPI_THREAD_MULTIPLE     ? 3
                            : level == MPI_THREAD_SERIALIZED ? 2
                            : level == MPI_THREAD_FUNNELED   ? 1
                                                             : 0;
  }

  std::string file_name(const char* ending) const { return file_name_of(rank_, run_, ending); }

  // Where to look for the trace if the program is killed before it is brought to its directory.
  std::string place_note() const { return settings_.directory + "/" + file_name("elsewhere"); }

  // One rank reports for all that have failed.
  void tell_failures(const std::string& why) {
    int first = why.empty() ? size_ : rank_;
    int failed = why.empty() ? 0 : 1;
    check_mpi(mpi_->Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, private_),
              "MPI_Allreduce");
    check_mpi(mpi_->Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, private_),
              "MPI_Allreduce");
    if (first != rank_) return;
    say(why + "; the program runs on without a profile" +
        (failed == size_
             ? std::string()
             : " of " + std::to_string(failed) + " of its " + std::to_string(size_) + " ranks"));
  }

  void describe_process(FileHeader& h) const {
    h.pid = getpid();
    gethostname(h.host.data(), h.host.size() - 1);
    h.boot = clock_identity();
    copy(program_path(), h.program);
    copy(program_arguments(), h.arguments);
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 1> version{};
    int length = 0;
    if (mpi_->Get_library_version(version.data(), &length) == MPI_SUCCESS) {
      const std::string_view all(version.data());
      copy(all.substr(0, all.find('\n')), h.library);
    }
  }

  template <std::size_t N>
  static void copy(std::string_view text, std::array<char, N>& to) noexcept {
    std::copy_n(text.data(), std::min(text.size(), N - 1), to.data());
  }

  void end_together(Recorder* r) {
    const MpiCalls& mpi = *mpi_;
    if (!clocks_) return;
    const ClockPoint point = fitted(*clocks_, private_, mpi);
    std::uint64_t largest = r != nullptr ? r->log().largest_message() : 0;
    check_mpi(mpi.Allreduce(MPI_IN_PLACE, &largest, 1, MPI_UINT64_T, MPI_MAX, private_),
              "MPI_Allreduce");
    FileHeader unused{};
    FileHeader& h = r != nullptr ? header() : unused;
    h.clock_end = point;
    measure_one_way_times(h, nodes_, largest, private_, mpi);
  }

  void bring_home() {
    const RankFile& file = recorder_->file();
    const std::string home = settings_.directory + "/" + file_name("trace");
    std::array<struct stat, 2> about{};
    const bool is_there = stat(file.path().c_str(), &about[0]) == 0;
    const bool is_home = is_there && stat(home.c_str(), &about[1]) == 0 &&
                         about[0].st_ino == about[1].st_ino && about[0].st_dev == about[1].st_dev;
    if (!is_home) {
      make_directory(settings_.directory);  // the program's user may have removed it
      file.copy_to(home);
      if (is_there) file.remove();  // else the copy may have its name
      // The directory, if it was made for this run and no other rank is in it.
      if (settings_.local_directory.empty()) {
        rmdir(file.path().substr(0, file.path().rfind('/')).c_str());
      }
    }
    unlink(place_note().c_str());
  }

  const MpiCalls* mpi_ = nullptr;
  // No handle of MPI's before MPI_Init: processes without an MPI library have this object, too.
  MPI_Comm private_{};
  bool has_private_ = false;
  int rank_ = 0;
  int size_ = 1;
  std::vector<int> nodes_;  // the lowest rank on each rank's node
  int processors_ = 0;
  std::optional<Clocks> clocks_;
  Settings settings_;
  std::uint64_t run_ = 0;  // drawn by rank 0
  pid_t owner_ = 0;
  bool is_session_said_ = false;
  std::atomic<bool> has_missed_{false};
  std::optional<Recorder> recorder_;
  std::atomic<Recorder*> recorder_in_use_{nullptr};
};

}  // namespace profile
}  // namespace papcoll::inline PAPCOLL_ABI
