// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Calls that name no algorithm: all ranks must choose the same one, whatever each of them measures,
// and follow a change of the arrivals soon. For threads and processes alike.

#include <papcoll/allgather.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/automatic.hpp>
#include <papcoll/barrier.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/bcast.hpp>
#include <papcoll/choice/selection/selection_inputs.hpp>
#include <papcoll/choice/selection/selection_state.hpp>
#include <papcoll/error.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/node/peer_probe.hpp>
#include <papcoll/op.hpp>
#include <papcoll/reduce.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/shared_vector.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace automatic {

using papcoll::Collective;

/// Instead of the thresholds of the selection file; the same on all ranks, between the same two
/// calls.
inline void set_thresholds(papcoll::TeamCore& team, const papcoll::Thresholds& thresholds) {
  papcoll::detail::SelectionState& state = papcoll::detail::selection_of(team);
  state.thresholds = thresholds;
  state.suara.forget();
  state.choices.forget();
  state.learner.forget();
}

/// Instead of what calls cost as far as is known; the same on all ranks, between the same two
/// calls.
inline void set_costs(papcoll::TeamCore& team, const papcoll::PeerCosts& costs) {
  papcoll::detail::SelectionState& state = papcoll::detail::selection_of(team);
  state.costs = costs;
  state.choices.forget();
  state.learner.forget();
}

/// So that what is measured on a busy machine makes choices change all the time.
inline papcoll::PeerCosts nervous() {
  papcoll::PeerCosts costs;
  costs.late_percent = 1000;
  return costs;
}

/// So that only a rank that is tens of milliseconds late counts, and it does what is combined after
/// the last arrival.
inline papcoll::PeerCosts calm() {
  papcoll::PeerCosts costs;
  costs.late_percent = 100'000;
  costs.combine_ps = 200;
  return costs;
}

/// What a rank would have run, call by call, and saw.
class Log {
 public:
  void add(std::string_view text) {
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    ++entries_;
  }
  void add(std::uint64_t x) { hash_ = (hash_ ^ x) * 0x100000001b3ULL; }

  template <class Comm> bool is_that_of_all(Comm& comm) const {
    const std::uint64_t mine = hash_ + entries_;
    return papcoll::allreduce(comm, mine, papcoll::min) ==
           papcoll::allreduce(comm, mine, papcoll::max);
  }

 private:
  std::uint64_t hash_ = 14695981039346656037U;
  std::uint64_t entries_ = 0;
};

/// `calls` calls of all kinds, with phases in which now this rank is late and now that one, ranks
/// that run ahead, and buffers in the arena on some ranks only. What is wrong, or "". `ordered`:
/// an operator that is not known to commute.
template <class Comm>
std::string calls_that_agree(Comm& comm, int calls, std::uint32_t seed, std::size_t& changes) {
  const int ranks = comm.size();
  std::minstd_rand random{seed};  // draws the same on all ranks
  std::minstd_rand own{seed + 1 + static_cast<std::uint32_t>(comm.rank())};
  Log log;
  std::string text;
  std::set<std::string> chosen;
  constexpr std::size_t most = 40'000;
  std::vector<std::int64_t> here(2 * most);
  papcoll::shared_vector<std::int64_t> shared(2 * most,
                                              papcoll::shared_allocator<std::int64_t>{comm});
  constexpr std::size_t counts[] = {1, 2, 100, 2000, 10'000, most};
  constexpr Collective collectives[] = {
      Collective::allreduce, Collective::allreduce, Collective::allreduce, Collective::reduce,
      Collective::reduce,    Collective::bcast,     Collective::barrier};
  const auto plus = [](std::int64_t a, std::int64_t b) { return a + b; };
  for (int i = 0; i < calls;) {
    const int late = static_cast<int>(random() % static_cast<unsigned>(ranks + 1));
    const auto lateness = random() % 300;
    const auto arena = random() % 4;  // nobody's, all ranks', some ranks', whoever likes
    const Collective c = collectives[random() % std::size(collectives)];
    const std::size_t n = counts[random() % std::size(counts)];
    const bool commutes = random() % 3 != 0;
    const bool reproducible = random() % 4 == 0;
    const papcoll::root root{static_cast<int>(random() % static_cast<unsigned>(ranks))};
    papcoll::CallTraits traits;
    traits.element_size = sizeof(std::int64_t);
    traits.commutative = commutes;
    if (reproducible) traits.contract = papcoll::NumericalContract::reproducible;
    for (auto burst = 4 + random() % 40; burst-- > 0 && i < calls; ++i) {
      if (comm.rank() == late) {
        std::this_thread::sleep_for(std::chrono::microseconds{lateness});
      } else if (own() % 32 == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds{own() % 100});
      }
      const bool lies_shared =
          arena == 1 || (arena == 2 && comm.rank() % 2 == 0) || (arena == 3 && own() % 2 == 0);
      std::int64_t* const data = lies_shared ? shared.data() : here.data();
      const std::span<std::int64_t> in{data, n};
      const std::span<std::int64_t> out{data + most, n};
      const std::size_t bytes = c == Collective::barrier ? 0 : in.size_bytes();
      const papcoll::Explanation e = papcoll::explain(comm, c, bytes, traits);
      log.add(e.algorithm);
      log.add(e.imbalance.worst);
      log.add(e.imbalance.seen);
      chosen.insert(std::string(name_of(c)) + std::to_string(bytes) + e.algorithm);
      const auto expect = [&](std::int64_t got, std::int64_t wanted) {
        if (got == wanted) return;
        text += std::string(name_of(c)) + " " + std::to_string(i) + " by " + e.algorithm +
                ": got " + std::to_string(got) + ", not " + std::to_string(wanted) + "\n";
      };
      const std::int64_t total = std::int64_t{ranks} * (ranks + 1) / 2 + i * ranks;
      std::fill(in.begin(), in.end(), comm.rank() + 1 + i);
      if (c == Collective::allreduce && commutes && !reproducible) {
        papcoll::allreduce(comm, in, out);
      } else if (c == Collective::allreduce && commutes) {
        papcoll::allreduce<papcoll::Reproducible>(comm, in, out);
      } else if (c == Collective::allreduce && !reproducible) {
        papcoll::allreduce(comm, in, out, plus);
      } else if (c == Collective::allreduce) {
        papcoll::allreduce<papcoll::Reproducible>(comm, in, out, plus);
      } else if (c == Collective::reduce && commutes && !reproducible) {
        papcoll::reduce(comm, in, out, root);
      } else if (c == Collective::reduce && commutes) {
        papcoll::reduce<papcoll::Reproducible>(comm, in, out, root);
      } else if (c == Collective::reduce && !reproducible) {
        papcoll::reduce(comm, in, out, root, plus);
      } else if (c == Collective::reduce) {
        papcoll::reduce<papcoll::Reproducible>(comm, in, out, root, plus);
      } else if (c == Collective::bcast) {
        papcoll::bcast(comm, in, root);
        expect(in.back(), root.rank + 1 + i);
      } else {
        papcoll::barrier(comm);
      }
      const bool has_result =
          c == Collective::allreduce || (c == Collective::reduce && comm.rank() == root.rank);
      if (has_result) expect(out.front(), total);
      if (has_result) expect(out.back(), total);
    }
  }
  if (!log.is_that_of_all(comm)) text += "the ranks did not choose alike\n";
  changes = chosen.size();
  return text;
}

/// Calls of so many bytes, in which the last rank is late by `lateness`, until `algorithm` is what
/// would run: is that so within 50 calls? Collective; the same on all ranks.
template <class Comm>
bool chooses_in_time(Comm& comm, std::size_t bytes, std::chrono::milliseconds lateness,
                     std::string_view algorithm) {
  std::vector<double> data(bytes / sizeof(double), 1.0);
  std::vector<double> result(data.size());
  // That ranks are late can be had for certain. That they arrive together cannot, where they share
  // processors with each other and with other tests.
  const int most = lateness.count() != 0 ? 50 : 1000;
  for (int i = 0; i < most; ++i) {
    if (papcoll::explain(comm, Collective::allreduce, bytes).algorithm.starts_with(algorithm)) {
      return true;
    }
    if (comm.rank() == comm.size() - 1) std::this_thread::sleep_for(lateness);
    papcoll::allreduce(comm, data, result);
  }
  return false;
}

/// A balanced beginning, a late rank, and balanced again; what is wrong, or "".
template <class Comm>
std::string follows_changes(Comm& comm, std::size_t bytes, std::string_view balanced,
                            std::string_view imbalanced) {
  using std::chrono::milliseconds;
  std::string text;
  const auto expect = [&](bool in_time, const char* what) {
    if (in_time) return;
    text += std::to_string(bytes) + " bytes, " + what + ": " +
            papcoll::explain(comm, Collective::allreduce, bytes).text();
  };
  papcoll::CallTraits traits;
  traits.contract = papcoll::NumericalContract::reproducible;
  const auto reproducible = [&] {
    return papcoll::explain(comm, Collective::allreduce, bytes, traits).algorithm;
  };
  const std::string before = reproducible();
  expect(chooses_in_time(comm, bytes, milliseconds{0}, balanced), "at first");
  expect(chooses_in_time(comm, bytes, milliseconds{40}, imbalanced), "late");
  if (reproducible() != before) text += "Reproducible does not stay with " + before + "\n";
  expect(chooses_in_time(comm, bytes, milliseconds{0}, balanced), "balanced again");
  return text;
}

}  // namespace automatic
