// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Calls in predicted order, with predictions that change all the time and differ from rank to rank:
// whatever a rank says of itself, all must run the same order, and get right results.

#include "matrix.hpp"
#include "mixed.hpp"

#include <papcoll/arrival/predictions.hpp>
#include <papcoll/arrival/predictor.hpp>
#include <papcoll/runtime/team.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace predicted {

/// Predicts what this rank's thread was told.
struct PeerFailureNotice {
  static constexpr std::string_view name = "Told";
  struct History {};
  int which = 0;  ///< of several that a test uses side by side

  static double& arrival() {
    static thread_local double seconds = 0;
    return seconds;
  }

  void observe(History&, double) const noexcept {}
  double predict(const History&) const noexcept { return arrival(); }

  friend bool operator==(const PeerFailureNotice&, const PeerFailureNotice&) = default;
};

/// Every static schedule of the catalogue in an order that ranks are told. With an operator that
/// commutes, if `commuting`: others would keep them in rank order.
class Candidates {
 public:
  Candidates(std::string_view transport, bool commuting) {
    for (const papcoll::CatalogueRow& row : papcoll::catalogue()) {
      if (row.plan == nullptr) continue;
      rows_.push_back(row);
      if (commuting) rows_.back().needs |= papcoll::requirement::commutative_operator;
    }
    for (const papcoll::CatalogueRow& row : rows_) {
      papcoll::AlgorithmSpec s;
      s.schedule = row.plan();
      s.order = PeerFailureNotice{};
      all_.push_back(
          {papcoll::Algorithm{"Told+" + std::string(row.name), s, std::string(transport)}, &row});
    }
  }
  std::span<const matrix::Candidate> all() const noexcept { return all_; }

 private:
  std::vector<papcoll::CatalogueRow> rows_;
  std::vector<matrix::Candidate> all_;
};

/// What a rank saw of the order in force, call by call.
class Log {
 public:
  template <class Comm> void note(Comm& comm, const papcoll::AnyPredictor& predictor) {
    const papcoll::Predictions& p = comm.core().predictions(predictor);
    add(p.generation());
    for (const int r : p.forecast().ranks()) add(static_cast<std::uint32_t>(r));
    for (const std::uint64_t ns : p.forecast().lateness()) add(ns);
  }
  const std::vector<std::uint64_t>& entries() const noexcept { return entries_; }

 private:
  void add(std::uint64_t x) { entries_.push_back(x); }
  std::vector<std::uint64_t> entries_;
};

/// Did all ranks note the same?
template <class Comm> bool all_agree(Comm& comm, const Log& log) {
  std::uint64_t hash = log.entries().size();
  for (const std::uint64_t x : log.entries()) hash = (hash ^ x) * 0x100000001b3ULL;
  const auto least = papcoll::allreduce(comm, hash, papcoll::min);
  const auto most = papcoll::allreduce(comm, hash, papcoll::max);
  return least == most;
}

/// Tells this rank something new now and then: a time of its own, or that it is as late as others.
class Fortunes {
 public:
  explicit Fortunes(std::uint32_t seed) : random_(seed) {}
  void maybe() {
    if (random_() % 4 != 0) return;
    const double steps = random_() % 3 == 0 ? 0 : static_cast<double>(random_() % 1000);
    PeerFailureNotice::arrival() = 1e5 + steps * 1e-5;
  }

 private:
  std::minstd_rand random_;
};

/// `calls` calls of all kinds in predicted order, other collectives and requests in between, on two
/// teams by turns (which may be one); what is wrong on this rank, or "".
template <class Comm>
std::string calls_in_changing_order(Comm& one, Comm& other, std::string_view transport, int calls,
                                    std::uint32_t seed) {
  const Candidates commuting{transport, true};
  const Candidates ordered{transport, false};
  matrix::Runner<Comm> runners[]{matrix::Runner<Comm>{one}, matrix::Runner<Comm>{other}};
  std::minstd_rand random{seed};  // draws the same on all ranks
  const auto own = seed + static_cast<std::uint32_t>(one.rank()) + 1;
  mixed::Delays delays{own};
  Fortunes fortunes{own * 7};
  Log log;
  std::string text;
  const papcoll::AnyPredictor told = PeerFailureNotice{};
  for (int i = 0; i < calls;) {
    const bool commutes = random() % 4 != 0;
    const auto all = commutes ? commuting.all() : ordered.all();
    const auto& candidate = all[random() % all.size()];
    const auto c = static_cast<papcoll::Collective>(random() % papcoll::collective_count);
    const std::size_t count = random() % 50;
    const int root = static_cast<int>(random() % static_cast<unsigned>(one.size()));
    const bool in_place = random() % 2 == 0;
    const bool swapped = random() % 3 == 0;
    const auto kind = random() % 8;
    if (!candidate.serves(c)) continue;
    Comm& comm = swapped ? other : one;
    for (auto burst = random() % 8; burst-- > 0 && i < calls; ++i) {
      delays.maybe();
      fortunes.maybe();
      if (kind == 0) {
        const int sum = papcoll::allreduce(comm, 1);  // none of the predicted ones
        if (sum != comm.size()) text += "a plain allreduce is wrong\n";
      } else if (kind == 1) {
        papcoll::AlgorithmSpec s;
        s.schedule = papcoll::AnySchedule::of<papcoll::ClairvoyantTree>();
        s.order = told;
        const papcoll::Algorithm tree{"Told+ClairvoyantTree", s, std::string(transport)};
        std::vector<int> mine(5, comm.rank());
        papcoll::Request r = papcoll::iallreduce(comm, mine, papcoll::max, tree);
        runners[swapped ? 1 : 0].run(candidate, c, {count, root, in_place});
        r.wait();
        if (mine != std::vector<int>(5, comm.size() - 1)) text += "an iallreduce is wrong\n";
      } else {
        runners[swapped ? 1 : 0].run(candidate, c, {count, root, in_place});
      }
      log.note(comm, told);
    }
  }
  if (!all_agree(one, log)) text += "the ranks did not run the same orders\n";
  return text + runners[0].problems() + runners[1].problems();
}

/// The order comes out as told, takes effect when it should, and stays out where it must.
template <class Comm> std::string order_as_told(Comm& comm, std::string_view transport) {
  std::string text;
  const auto expect = [&](bool right, const char* what) {
    if (!right) text += std::string(what) + "\n";
  };
  papcoll::AlgorithmSpec s;
  s.schedule = papcoll::AnySchedule::of<papcoll::SortedLinearTree>();
  s.order = PeerFailureNotice{.which = 1};
  const papcoll::Algorithm chain{"Told+SortedLinearTree", s, std::string(transport)};
  const papcoll::Predictions& p = comm.core().predictions(s.order.predictor());
  expect(!p.forecast().is_known(), "there is a forecast before the first call");
  expect(p.describe().find("rank order") == 0, "rank order is not reported");
  const int ranks = comm.size();
  for (int call = 1; call <= 64; ++call) {
    // The last rank first; from call 17 on the other way round.
    const int place = call < 17 ? ranks - comm.rank() : comm.rank();
    PeerFailureNotice::arrival() = 1000 + 1e-3 * place;
    expect(papcoll::allreduce(comm, 1, papcoll::sum, chain) == ranks, "a wrong sum");
    const auto order = p.forecast().ranks();
    if (call < 32 || ranks == 1) {
      expect(order.empty(), "an order took effect too early");
    } else if (call < 48) {
      expect(!order.empty() && order.front() == ranks - 1 && order.back() == 0, "wrong order");
      expect(p.forecast().worst_case_imbalance() > 0.9e-3 * (ranks - 1), "wrong imbalance");
    } else {
      expect(!order.empty() && order.front() == 0 && order.back() == ranks - 1, "order kept");
      expect(p.describe().find("the first to arrive first: 0") != std::string::npos, "unsaid");
    }
  }
  expect(comm.core().plan_runs.plans().size() <= 16, "plans of old orders stay in the cache");
  return text;
}

}  // namespace predicted
