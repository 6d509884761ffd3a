#pragma once

#include <papcoll/analysis/simulate_events.hpp>
#include <papcoll/analysis/simulate_network.hpp>
#include <papcoll/analysis/simulate_plans.hpp>
#include <papcoll/analysis/simulate_trace.hpp>
#include <papcoll/analysis/simulated.hpp>
#include <papcoll/error.hpp>
#include <papcoll/model/log_gops.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The engine of plan/engine.hpp on every rank, in virtual time. What it does in the same order:
/// slots and the blocks they run, the queue of ready steps, and that the ends of messages are
/// noticed only when that queue is empty: all that came since then at once, those started first
/// before the others, and what each makes ready is done before the next is looked at.
class SimulatedRun {
 public:
  SimulatedRun(const JointPlans& plans, const LogGops& model, const SimulateOptions& options)
      : plans_(plans),
        model_(model),
        in_flight_(std::min(options.window, plans.blocks)),
        resolution_(options.resolution),
        trace_(options.keep_steps ? &kept_ : nullptr),
        ranks_(plans.first.size() - 1),
        network_(ranks_.size(), model, options, events_, trace_) {
    slots_.resize(in_flight_);
    for (std::size_t i = 0; i < in_flight_; ++i) {
      Slot& s = slots_[i];
      s.blocks.assign(ranks_.size(), i);
      s.steps_left.resize(ranks_.size());
      s.waits_for.resize(plans.first.back());
      s.message.assign(plans.first.back(), 0);
      if (trace_ != nullptr) s.record.resize(plans.first.back());
    }
    result_.exits.assign(ranks_.size(), 0);
    result_.arrivals = options.arrivals;
    result_.arrivals.resize(ranks_.size(), 0);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      events_.add(result_.arrivals[r], Event::Kind::arrival, static_cast<std::uint32_t>(r));
    }
  }

  /// Once.
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
      network_.settle(now_);
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (ranks_[r].blocks_left != 0) explain(r);
    }
    if (trace_ != nullptr) keep();
    return std::move(result_);
  }

 private:
  struct Ready {
    std::uint32_t slot;
    std::uint32_t step;
    std::uint32_t cause;  ///< the record of the step that made it ready
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
    double free_since = -1;  ///< when the processor ended what it did last
    std::uint32_t did = Trace::none;
    std::uint32_t last = Trace::none;  ///< the record of the step that ended last
    Ready doing{};
    bool busy = false;
    bool awake = false;
  };
  /// All ranks' blocks of one slot.
  struct Slot {
    std::vector<std::size_t> blocks;
    std::vector<std::size_t> steps_left;
    std::vector<std::uint32_t> waits_for;  ///< by rank and step
    std::vector<std::uint32_t> message;    ///< started by either side; 0: none, else its number + 1
    std::vector<std::uint32_t> record;
  };

  static constexpr double same = 1e-12;

  std::uint64_t key(std::size_t block, std::size_t place) const noexcept {
    return std::uint64_t{block} * plans_.first.back() + place;
  }
  std::size_t place(std::size_t rank, std::uint32_t step) const noexcept {
    return plans_.first[rank] + step;
  }
  const JointSteps& steps_of(std::size_t rank, std::uint32_t slot) const noexcept {
    return plans_.block(slots_[slot].blocks[rank]);
  }

  void handle(const Event& e) {
    switch (e.kind) {
      case Event::Kind::arrival:
        enter(e.subject);
        break;
      case Event::Kind::processor:
        ranks_[e.subject].busy = false;
        ranks_[e.subject].free_since = now_;
        go_on(e.subject, ranks_[e.subject].doing);
        wake(e.subject);
        break;
      default:
        network_.handle(e, now_);
        report();
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
    Rank& me = ranks_[rank];
    me.blocks_left = plans_.blocks;
    for (std::size_t s = 0; s < in_flight_; ++s)
      begin_block(rank, static_cast<std::uint32_t>(s), s);
    if (me.blocks_left == 0) result_.exits[rank] = now_;
    wake(rank);
  }

  void begin_block(std::uint32_t rank, std::uint32_t slot, std::size_t block) {
    Rank& me = ranks_[rank];
    Slot& s = slots_[slot];
    for (; block < plans_.blocks; block += in_flight_) {
      const JointSteps& steps = plans_.block(block);
      s.blocks[rank] = block;
      s.steps_left[rank] = steps.size(rank);
      if (s.steps_left[rank] == 0) {
        --me.blocks_left;
        continue;
      }
      const auto counts = steps.predecessors(rank);
      std::copy(counts.begin(), counts.end(), s.waits_for.begin() + offset(rank));
      for (std::uint32_t i = 0; i < counts.size(); ++i) {
        if (counts[i] == 0) me.ready.push_back({slot, i, me.last});
      }
      return;
    }
    s.blocks[rank] = block;
  }

  std::ptrdiff_t offset(std::size_t rank) const noexcept {
    return static_cast<std::ptrdiff_t>(plans_.first[rank]);
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
        start(rank, r);
      } else if (me.next_noticed < me.noticed.size()) {
        notice(rank, me.noticed[me.next_noticed++]);
      } else if (!me.ended.empty()) {
        me.noticed.clear();
        me.next_noticed = 0;
        std::swap(me.noticed, me.ended);
        std::sort(me.noticed.begin(), me.noticed.end(),
                  [](const Ended& a, const Ended& b) { return a.number < b.number; });
      } else {
        break;
      }
    }
    me.awake = false;
  }

  void start(std::uint32_t rank, Ready r) {
    const JointSteps::Joint& step = steps_of(rank, r.slot).step(rank, r.step);
    if (trace_ != nullptr) record(rank, r, step);
    const auto bytes = static_cast<double>(step.bytes);
    switch (step.act) {
      case Act::reduce:
        occupy(rank, r, model_.combine_per_byte * bytes);
        break;
      case Act::copy:
        occupy(rank, r, model_.copy_per_byte * bytes);
        break;
      case Act::send:
        occupy(rank, r, model_.overhead + model_.overhead_per_byte * bytes);
        break;
      case Act::receive:
        post(rank, r, step);
    }
  }

  /// The processor looks at the end of a message.
  void notice(std::uint32_t rank, const Ended& e) {
    SimulatedMessage& m = network_[e.message];
    const Ready r{m.slot, e.sender ? m.send : m.receive, Trace::none};
    if (trace_ != nullptr) {
      Trace::StepRecord& kept = trace_->step(record_of(rank, r));
      kept.noticed = now_;
      kept.message = m.record;
      if (e.time < now_) kept.noticed_after = ranks_[rank].did;
    }
    const auto bytes = static_cast<double>(m.bytes);
    if (++m.noticed == 2) network_.forget(e.message);
    if (e.sender) {
      finish(rank, r);
    } else {
      occupy(rank, r, model_.overhead + model_.overhead_per_byte * bytes);
    }
  }

  /// Gives the step the processor for so long.
  void occupy(std::uint32_t rank, Ready r, double seconds) {
    if (seconds <= 0) {
      go_on(rank, r);
      return;
    }
    Rank& me = ranks_[rank];
    me.busy = true;
    me.doing = r;
    if (trace_ != nullptr) me.did = record_of(rank, r);
    events_.add(now_ + seconds, Event::Kind::processor, rank);
  }

  /// The processor is through with a step.
  void go_on(std::uint32_t rank, Ready r) {
    const JointSteps::Joint& step = steps_of(rank, r.slot).step(rank, r.step);
    if (step.act == Act::send) {
      launch(rank, r, step);
    } else {
      finish(rank, r);
    }
  }

  void launch(std::uint32_t rank, Ready r, const JointSteps::Joint& step) {
    const auto peer = static_cast<std::uint32_t>(step.peer);
    Slot& s = slots_[r.slot];
    const std::size_t at = place(peer, step.partner);
    const bool same_block = s.blocks[peer] == s.blocks[rank];
    std::uint32_t id = 0;
    if (same_block && s.message[at] != 0) {
      id = s.message[at] - 1;
      s.message[at] = 0;
    } else {
      id = network_.make(rank, peer, step.bytes);
      (same_block ? s.message[at] : early_[key(s.blocks[rank], at)]) = id + 1;
    }
    SimulatedMessage& m = network_[id];
    m.slot = r.slot;
    m.send = r.step;
    m.send_number = ranks_[rank].started++;
    if (trace_ != nullptr) trace_->message(m.record).send = record_of(rank, r);
    ++result_.messages;
    network_.launch(id, now_);
    report();
  }

  void post(std::uint32_t rank, Ready r, const JointSteps::Joint& step) {
    Slot& s = slots_[r.slot];
    const std::size_t at = place(rank, r.step);
    std::uint32_t known = s.message[at];
    s.message[at] = 0;
    if (known == 0 && !early_.empty()) {
      if (const auto e = early_.find(key(s.blocks[rank], at)); e != early_.end()) {
        known = e->second;
        early_.erase(e);
      }
    }
    if (known == 0) {
      known = network_.make(static_cast<std::uint32_t>(step.peer), rank, step.bytes) + 1;
      s.message[at] = known;
    }
    SimulatedMessage& m = network_[known - 1];
    m.slot = r.slot;
    m.receive = r.step;
    m.receive_number = ranks_[rank].started++;
    if (trace_ != nullptr) trace_->message(m.record).receive = record_of(rank, r);
    network_.post(known - 1, now_);
    report();
  }

  void finish(std::uint32_t rank, Ready r) {
    Rank& me = ranks_[rank];
    Slot& s = slots_[r.slot];
    if (trace_ != nullptr) {
      me.last = record_of(rank, r);
      trace_->step(me.last).step.end = now_;
    }
    for (const std::uint32_t later : steps_of(rank, r.slot).successors(rank, r.step)) {
      if (--s.waits_for[place(rank, later)] == 0) me.ready.push_back({r.slot, later, me.last});
    }
    if (--s.steps_left[rank] > 0) return;
    --me.blocks_left;
    begin_block(rank, r.slot, s.blocks[rank] + in_flight_);
    if (me.blocks_left == 0) result_.exits[rank] = now_;
  }

  void record(std::uint32_t rank, Ready r, const JointSteps::Joint& step) {
    const Rank& me = ranks_[rank];
    const bool waited = me.did != Trace::none && me.free_since == now_;
    const SimulatedStep s{static_cast<int>(rank),
                          static_cast<std::uint32_t>(block_of(rank, r)),
                          r.step,
                          step.act,
                          step.peer,
                          step.bytes,
                          now_,
                          now_};
    slots_[r.slot].record[place(rank, r.step)] =
        trace_->add_step(s, waited ? me.did : r.cause, waited);
  }
  std::uint32_t record_of(std::uint32_t rank, Ready r) const noexcept {
    return slots_[r.slot].record[place(rank, r.step)];
  }
  std::size_t block_of(std::uint32_t rank, Ready r) const noexcept {
    return slots_[r.slot].blocks[rank];
  }

  void keep() {
    result_.steps = kept_.all();
    const auto last = std::max_element(result_.exits.begin(), result_.exits.end());
    const Rank& rank = ranks_[static_cast<std::size_t>(last - result_.exits.begin())];
    if (rank.last != Trace::none) result_.critical_path = kept_.path_to(rank.last);
  }

  /// Nothing will happen any more, but the rank is not through.
  [[noreturn]] void explain(std::size_t rank) {
    std::string waits = "its own steps";
    for (std::uint32_t id = 0; id < network_.size(); ++id) {
      const SimulatedMessage& m = network_[id];
      const std::string bytes = std::to_string(m.bytes) + " bytes";
      if (m.to == rank && m.posted && !m.launched) {
        waits = bytes + " from rank " + std::to_string(m.from) + ", which never sends them";
      } else if (m.from == rank && m.launched && !m.posted) {
        waits = "rank " + std::to_string(m.to) + " to receive " + bytes + ", which it never does";
      }
    }
    throw error("papcoll: simulated, steps of a schedule wait for each other: after " +
                std::to_string(now_) + " s rank " + std::to_string(rank) + " waits for " + waits +
                "; verify() names the circle");
  }

  const JointPlans& plans_;
  const LogGops& model_;
  std::size_t in_flight_;
  double resolution_;
  Trace kept_;
  Trace* trace_;
  Events events_;
  std::vector<Rank> ranks_;
  SimulatedNetwork network_;
  std::vector<Slot> slots_;
  /// Messages for blocks that their receiver has not come to: their number + 1.
  std::unordered_map<std::uint64_t, std::uint32_t> early_;
  std::vector<Event> moment_;  ///< what happens now
  std::vector<std::uint32_t> awake_;
  std::vector<SimulatedNetwork::Completed> completed_;
  Simulated result_;
  double now_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
