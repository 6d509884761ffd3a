// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/model/log_gops.hpp>
#include <papcoll/simulate/blocks.hpp>
#include <papcoll/simulate/events.hpp>
#include <papcoll/simulate/network.hpp>
#include <papcoll/simulate/plans.hpp>
#include <papcoll/simulate/recorder.hpp>
#include <papcoll/simulate/simulated.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// PlanRun (schedule/plan_run.hpp) on every rank, in virtual time. What it does in the same order:
/// slots and the blocks they run, the queue of ready steps, and that the ends of messages are
/// noticed only when that queue is empty: all that came since then at once, sends before receives
/// and those started first before the others, and what each makes ready is done before the next is
/// looked at.
class SimulatedRun {
 public:
  SimulatedRun(const JointPlans& plans, const LogGops& model, const SimulateOptions& options)
      : model_(model),
        resolution_(options.resolution),
        blocks_of_call_(plans.blocks),
        blocks_(plans, std::min(options.pipeline_depth, plans.blocks)),
        recorder_(plans, model, options, blocks_.slots()),
        ranks_(plans.first.size() - 1),
        network_(ranks_.size(), model, options, events_, recorder_.trace()) {
    result_.exits.assign(ranks_.size(), 0);
    result_.arrivals = options.arrivals;
    result_.arrivals.resize(ranks_.size(), 0);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      events_.add(result_.arrivals[r], Event::Kind::arrival, static_cast<std::uint32_t>(r));
    }
  }

  /// Runs the simulation to its end. May be called once.
  Simulated run() {
    while (!events_.empty()) {
      const double first = events_.next_time();
      // Sums of the same terms in another order are the same moment, too.
      const double until = first + std::max(resolution_, same * std::abs(first));
      moment_.clear();
      while (!events_.empty() && events_.next_time() <= until) moment_.push_back(events_.take());
      now_ = moment_.back().time;
      std::sort(moment_.begin(), moment_.end(),
                [](const Event& a, const Event& b) { return a.number < b.number; });
      for (const Event& e : moment_) handle(e);
      for (std::size_t i = 0; i < awake_.size(); ++i) work(awake_[i]);
      awake_.clear();
      network_.finish_moment(now_);
    }
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      if (ranks_[r].blocks_left != 0) explain(r);
    }
    recorder_.give(result_);
    return std::move(result_);
  }

 private:
  struct Ready {
    std::uint32_t slot;
    std::uint32_t step;
    std::uint32_t cause;  ///< the step that made it ready, as the recorder knows it
  };
  struct Ended {
    std::uint64_t number;  ///< of all messages that the rank started
    double time;
    std::uint32_t message;
    bool sender;
  };
  struct Rank {
    std::vector<Ready> ready;
    std::size_t next_ready = 0;
    std::vector<Ended> ended;  ///< not noticed yet
    std::vector<Ended> noticed;
    std::size_t next_noticed = 0;
    std::size_t blocks_left = 0;
    std::uint64_t started = 0;
    SlotStep doing{};
    bool busy = false;
    bool awake = false;
  };

  static constexpr double same = 1e-12;

  void handle(const Event& e) {
    switch (e.kind) {
      case Event::Kind::arrival: enter(e.subject); break;
      case Event::Kind::processor:
        ranks_[e.subject].busy = false;
        recorder_.freed(e.subject, now_);
        go_on(ranks_[e.subject].doing);
        wake(e.subject);
        break;
      default: network_.handle(e, now_); report();
    }
  }

  /// Tells the ranks what ended.
  void report() {
    network_.take_completed(completed_);
    for (const SimulatedNetwork::Completed& c : completed_) {
      const SimulatedMessage& m = network_[c.message];
      const std::uint32_t rank = c.sender ? m.from : m.to;
      ranks_[rank].ended.push_back(
          {c.sender ? m.send_number : m.receive_number, now_, c.message, c.sender});
      wake(rank);
    }
  }

  void wake(std::uint32_t rank) {
    if (ranks_[rank].awake) return;
    ranks_[rank].awake = true;
    awake_.push_back(rank);
  }

  void enter(std::uint32_t rank) {
    ranks_[rank].blocks_left = blocks_of_call_;
    for (std::uint32_t slot = 0; slot < blocks_.slots(); ++slot) begin_block(rank, slot, slot);
    if (ranks_[rank].blocks_left == 0) result_.exits[rank] = now_;
    wake(rank);
  }

  void begin_block(std::uint32_t rank, std::uint32_t slot, std::size_t block) {
    Rank& me = ranks_[rank];
    me.blocks_left -= blocks_.begin(rank, slot, block, [&](std::uint32_t step) {
      me.ready.push_back({slot, step, recorder_.cause(rank)});
    });
  }

  /// Does what the rank's processor can do at this moment.
  void work(std::uint32_t rank) {
    Rank& me = ranks_[rank];
    while (!me.busy) {
      if (me.next_ready < me.ready.size()) {
        const Ready r = me.ready[me.next_ready++];
        if (me.next_ready == me.ready.size()) {
          me.ready.clear();
          me.next_ready = 0;
        }
        start({rank, r.slot, r.step}, r.cause);
      } else if (me.next_noticed < me.noticed.size()) {
        notice(rank, me.noticed[me.next_noticed++]);
      } else if (!me.ended.empty()) {
        me.noticed.clear();
        me.next_noticed = 0;
        std::swap(me.noticed, me.ended);
        std::sort(me.noticed.begin(), me.noticed.end(), [](const Ended& a, const Ended& b) {
          return a.sender != b.sender ? a.sender : a.number < b.number;
        });
      } else {
        break;
      }
    }
    me.awake = false;
  }

  void start(SlotStep at, std::uint32_t cause) {
    recorder_.started(at, blocks_.block(at), cause, now_);
    const JointSteps::Joint& step = blocks_.planned(at);
    const auto bytes = static_cast<double>(step.bytes);
    switch (step.kind) {
      case OpKind::reduce: occupy(at, model_.combine_per_byte * bytes); break;
      case OpKind::copy: occupy(at, model_.copy_per_byte * bytes); break;
      case OpKind::send: occupy(at, model_.overhead + model_.overhead_per_byte * bytes); break;
      case OpKind::receive: post(at);
    }
  }

  /// The processor looks at the end of a message.
  void notice(std::uint32_t rank, const Ended& e) {
    SimulatedMessage& m = network_[e.message];
    const SlotStep at{rank, m.slot, e.sender ? m.send : m.receive};
    recorder_.noticed(at, m.record, e.time < now_, now_);
    const auto bytes = static_cast<double>(m.bytes);
    if (++m.noticed == 2) network_.forget(e.message);
    if (e.sender) {
      finish(at);
    } else {
      occupy(at, model_.overhead + model_.overhead_per_byte * bytes);
    }
  }

  /// Gives the step the processor for so long.
  void occupy(SlotStep at, double seconds) {
    if (seconds <= 0) {
      go_on(at);
      return;
    }
    Rank& me = ranks_[at.rank];
    me.busy = true;
    me.doing = at;
    recorder_.occupied(at);
    events_.add(now_ + seconds, Event::Kind::processor, at.rank);
  }

  /// The processor is through with a step.
  void go_on(SlotStep at) {
    if (blocks_.planned(at).kind == OpKind::send) {
      launch(at);
    } else {
      finish(at);
    }
  }

  void launch(SlotStep at) {
    const JointSteps::Joint& step = blocks_.planned(at);
    const std::uint32_t id = blocks_.sent(at, [&] {
      return network_.make(at.rank, static_cast<std::uint32_t>(step.peer), step.bytes);
    });
    SimulatedMessage& m = network_[id];
    m.slot = at.slot;
    m.send = at.step;
    m.send_number = ranks_[at.rank].started++;
    recorder_.sent(at, m.record);
    ++result_.messages;
    network_.launch(id, now_);
    report();
  }

  void post(SlotStep at) {
    const JointSteps::Joint& step = blocks_.planned(at);
    const std::uint32_t id = blocks_.received(at, [&] {
      return network_.make(static_cast<std::uint32_t>(step.peer), at.rank, step.bytes);
    });
    SimulatedMessage& m = network_[id];
    m.slot = at.slot;
    m.receive = at.step;
    m.receive_number = ranks_[at.rank].started++;
    recorder_.received(at, m.record);
    network_.post(id, now_);
    report();
  }

  void finish(SlotStep at) {
    Rank& me = ranks_[at.rank];
    recorder_.ended(at, now_);
    const bool block_is_through = blocks_.end(at, [&](std::uint32_t later) {
      me.ready.push_back({at.slot, later, recorder_.cause(at.rank)});
    });
    if (!block_is_through) return;
    --me.blocks_left;
    begin_block(at.rank, at.slot, blocks_.block(at) + blocks_.slots());
    if (me.blocks_left == 0) result_.exits[at.rank] = now_;
  }

  /// Throws what says why the rank is not through, though nothing will happen any more.
  [[noreturn]] void explain(std::uint32_t rank) const {
    throw error("papcoll: simulated, steps of a schedule wait for each other: after " +
                std::to_string(now_) + " s rank " + std::to_string(rank) + " waits for " +
                network_.awaited_by(rank) + "; verify() names the circle");
  }

  const LogGops& model_;
  double resolution_;
  std::size_t blocks_of_call_;
  SimulatedBlocks blocks_;
  Recorder recorder_;
  Events events_;
  std::vector<Rank> ranks_;
  SimulatedNetwork network_;
  std::vector<Event> moment_;  ///< what happens now
  std::vector<std::uint32_t> awake_;
  std::vector<SimulatedNetwork::Completed> completed_;
  Simulated result_;
  double now_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
