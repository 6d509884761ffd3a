// SPDX-License-Identifier: BSD-3-Clause
#include "machine/tune_quick.hpp"

#include "timing/contest.hpp"
#include "timing/together.hpp"

#include <fmt/format.h>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/choice/selection/learned_file.hpp>
#include <papcoll/choice/selection/selection_state.hpp>
#include <papcoll/collectives.hpp>
#include <papcoll/communicator.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace bench {
namespace {

using papcoll::CallKind;
using papcoll::CallLearner;

class Learning {
 public:
  Learning(const Options& options, const Placement& placement)
      : options_(options), placement_(placement) {}

  void run() {
    if (placement_.ranks() < 2) throw usage_error("--quick: there is 1 rank, and it takes two");
    if (placement_.nodes() > 1) {
      throw usage_error(fmt::format("--quick learns within one node, and the ranks are on {} nodes",
                                    placement_.nodes()));
    }
    together(placement_.comm(), [&] {
      if (placement_.rank() == 0) require_writable(options_.tune);
    });
    say(fmt::format("--quick takes up to about {:.0f} seconds", options_.learn_limit));
    const std::size_t most = *std::max_element(options_.sizes.begin(), options_.sizes.end());
    in_.assign(static_cast<std::size_t>(placement_.ranks()) * (most / sizeof(double) + 1), 1);
    out_ = in_;
    for (std::size_t c = 0; c < papcoll::collective_count; ++c) {
      call_all(static_cast<Collective>(c));
    }
    together(placement_.comm(), [&] {
      if (placement_.rank() == 0) check_written();
    });
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// On a communicator of its own, since one does not keep in mind what it has learned of all.
  void call_all(Collective collective) {
    papcoll::Options options;
    options.chunk_bytes = options_.chunk_bytes;
    options.peer_access = options_.peer_access;
    options.copy_method = options_.copy_method;
    options.learn = options_.tune;
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Comm_dup(placement_.comm(), &own);
    {
      papcoll::Communicator comm{own, options};
      const Clock::time_point end =
          Clock::now() + seconds(options_.learn_limit / papcoll::collective_count);
      const bool has_sizes = collective != Collective::barrier;
      for (const std::size_t size : options_.sizes) {
        for (const char* const contract : {"auto", "auto+Reproducible"}) {
          settle(comm, collective, size, papcoll::algorithm(contract), end);
        }
        if (!has_sizes) break;
      }
      const CallLearner& learner = papcoll::detail::selection_of(comm.core()).learner;
      learner.each_settled([this](const CallLearner::Settled&) { ++settled_; });
    }
    MPI_Comm_free(&own);  // what was learned is written
  }

  static Clock::duration seconds(double s) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
  }

  /// Calls until the kind is settled, which all ranks see alike, or rank 0 finds that it takes too
  /// long.
  void settle(papcoll::Communicator& comm, Collective collective, std::size_t bytes,
              const papcoll::Algorithm& contract, Clock::time_point end) {
    const Clock::time_point limit = std::min(end, Clock::now() + seconds(options_.time_limit));
    const bool is_reproducible = contract.name() != "auto";
    constexpr int calls = 32;
    for (int n = 0; n < 100 * calls; n += calls) {
      int goes_on = Clock::now() < limit ? 1 : 0;
      MPI_Bcast(&goes_on, 1, MPI_INT, 0, placement_.comm());
      if (goes_on == 0) return;
      for (int i = 0; i < calls; ++i) call(comm, collective, bytes / sizeof(double), contract);
      bool is_settled = false;
      papcoll::detail::selection_of(comm.core())
          .learner.each_settled([&](const CallLearner::Settled& s) {
            const bool same = CallKind::collective_of(s.kind) == collective &&
                              ((s.kind & CallKind::reproducible_bit) != 0) == is_reproducible &&
                              CallKind::bytes_of(s.kind) <= bytes &&
                              bytes < 2 * CallKind::bytes_of(s.kind);
            is_settled = is_settled || same;
          });
      if (is_settled) return;
    }
  }

  void call(papcoll::Communicator& comm, Collective collective, std::size_t n,
            const papcoll::Algorithm& a) {
    const auto ranks = static_cast<std::size_t>(placement_.ranks());
    const std::span<const double> one{in_.data(), n};
    const std::span<const double> all{in_.data(), n * ranks};
    const std::span<double> to_one{out_.data(), n};
    const std::span<double> to_all{out_.data(), n * ranks};
    const papcoll::root first{0};
    const papcoll::Max op{};  // whose results stay as they are
    switch (collective) {
      case Collective::allreduce: return papcoll::allreduce(comm, one, to_one, op, a);
      case Collective::reduce: return papcoll::reduce(comm, one, to_one, first, op, a);
      case Collective::bcast: return papcoll::bcast(comm, to_one, first, a);
      case Collective::allgather: return papcoll::allgather(comm, one, to_all, a);
      case Collective::reduce_scatter: return papcoll::reduce_scatter(comm, all, to_one, op, a);
      case Collective::gather: return papcoll::gather(comm, one, to_all, first, a);
      case Collective::scatter: return papcoll::scatter(comm, all, to_one, first, a);
      case Collective::barrier: return papcoll::barrier(comm, a);
      case Collective::alltoall: return papcoll::alltoall(comm, all, to_all, a);
      case Collective::scan: return papcoll::scan(comm, one, to_one, op, a);
      case Collective::exscan: return papcoll::exscan(comm, one, to_one, op, a);
    }
  }

  void check_written() const {
    std::string text;
    if (papcoll::detail::read_selection_file(options_.tune.c_str(), text) == 0) {
      static_cast<void>(papcoll::detail::parse_selection<>(text, options_.tune));
      say(fmt::format("{} kinds of calls are settled, in {}", settled_, options_.tune));
      return;
    }
    throw usage_error(
        fmt::format("--quick: no kind of calls has settled: a longer --time-limit "
                    "helps, or fewer ranks"));
  }

  void say(const std::string& text) const {
    if (placement_.rank() != 0) return;
    fmt::print("{}\n", text);
    std::fflush(stdout);
  }

  const Options& options_;
  const Placement& placement_;
  std::vector<double> in_;
  std::vector<double> out_;
  std::size_t settled_ = 0;
};

}  // namespace

void tune_quick(const Options& options, const Placement& placement) {
  Learning{options, placement}.run();
}

}  // namespace bench
