// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/model/log_gops.hpp>
#include <papcoll/simulate/events.hpp>
#include <papcoll/simulate/fair_shares.hpp>
#include <papcoll/simulate/link_costs.hpp>
#include <papcoll/simulate/simulated.hpp>
#include <papcoll/simulate/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// A message from the moment at which either side has started it until both are through with it.
struct SimulatedMessage {
  std::uint32_t from = 0;  ///< ranks
  std::uint32_t to = 0;
  std::uint32_t slot = 0;  ///< of the block, on both sides
  std::uint32_t send = 0;  ///< steps of that block
  std::uint32_t receive = 0;
  std::uint64_t send_number = 0;  ///< of all that the rank started
  std::uint64_t receive_number = 0;
  std::size_t bytes = 0;
  double latency = 0;
  double port_seconds = 0;  ///< how long its bytes keep a port busy
  std::uint32_t record = Trace::none;
  int noticed = 0;  ///< by how many of its two ends
  bool launched = false;
  bool posted = false;
  bool there = false;
  bool sender_is_through = false;
};

/// The ports of all ranks and what lies between them.
class SimulatedNetwork {
 public:
  SimulatedNetwork(std::size_t ranks, const LogGops& model, const SimulateOptions& options,
                   Events& events, Trace* trace)
      : model_(model),
        options_(options),
        events_(events),
        trace_(trace),
        out_(ranks),
        in_(ranks),
        shares_(ranks) {}

  /// One side of a message is through with it.
  struct Completed {
    std::uint32_t message;
    bool sender;
  };

  std::uint32_t make(std::uint32_t from, std::uint32_t to, std::size_t bytes) {
    std::uint32_t id = 0;
    if (free_.empty()) {
      id = static_cast<std::uint32_t>(messages_.size());
      messages_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
    }
    SimulatedMessage& m = messages_[id] = {};
    m.from = from;
    m.to = to;
    m.bytes = bytes;
    const LinkCost link = options_.link(model_, static_cast<int>(from), static_cast<int>(to));
    m.latency = link.latency;
    m.port_seconds = link.gap_per_byte * static_cast<double>(bytes);
    if (trace_ != nullptr) m.record = trace_->add_message();
    return id;
  }

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(messages_.size()); }
  SimulatedMessage& operator[](std::uint32_t id) noexcept { return messages_[id]; }

  /// The sender's processor has started it.
  void launch(std::uint32_t id, double now) {
    SimulatedMessage& m = messages_[id];
    m.launched = true;
    const bool eager = m.bytes < model_.rendezvous;
    if (trace_ != nullptr) {
      Trace::MessageRecord& r = trace_->message(m.record);
      r.launched = now;
      r.eager = eager;
    }
    if (eager) {
      m.sender_is_through = true;
      completed_.push_back({id, true});
    }
    if (m.posted || (eager && options_.ports == Ports::exclusive)) depart(id, now);
  }

  /// The receiver's processor has started its receive.
  void post(std::uint32_t id, double now) {
    SimulatedMessage& m = messages_[id];
    m.posted = true;
    if (trace_ != nullptr) trace_->message(m.record).posted = now;
    if (m.there) {
      completed_.push_back({id, false});
      return;
    }
    const bool under_way = m.bytes < model_.rendezvous && options_.ports == Ports::exclusive;
    if (m.launched && !under_way) depart(id, now);
  }

  void handle(const Event& e, double now) {
    const std::uint32_t id = e.subject;
    SimulatedMessage& m = messages_[id];
    switch (e.kind) {
      case Event::Kind::head: come_in(id, now); break;
      case Event::Kind::sent:
        m.sender_is_through = true;
        completed_.push_back({id, true});
        break;
      case Event::Kind::delivered: deliver(id, now); break;
      case Event::Kind::flow: shares_.add(id, m.from, m.to, m.port_seconds, now); break;
      case Event::Kind::flow_end:
        if (!shares_.is_current(id, e.version)) break;
        shares_.remove(id);
        if (!m.sender_is_through) completed_.push_back({id, true});
        deliver(id, now);
        break;
      default: break;
    }
  }

  /// Ends a moment, after all of its events.
  void finish_moment(double now) {
    // What may leave at one moment leaves in the order in which its rank sends it.
    std::sort(departing_.begin(), departing_.end(), [this](std::uint32_t a, std::uint32_t b) {
      const SimulatedMessage& m = messages_[a];
      const SimulatedMessage& n = messages_[b];
      return m.from != n.from ? m.from < n.from : m.send_number < n.send_number;
    });
    for (const std::uint32_t id : departing_) leave(id, now);
    departing_.clear();
    shares_.update(now, [this](std::uint32_t id, std::uint32_t version, double end) {
      events_.add(end, Event::Kind::flow_end, id, version);
    });
  }

  /// What was completed since this was asked last.
  void take_completed(std::vector<Completed>& into) {
    into.clear();
    std::swap(into, completed_);
  }

  /// Returns what a rank has been waiting for in vain, in words.
  std::string awaited_by(std::uint32_t rank) const {
    for (const SimulatedMessage& m : messages_) {
      const std::string bytes = std::to_string(m.bytes) + " bytes";
      if (m.to == rank && m.posted && !m.launched) {
        return bytes + " from rank " + std::to_string(m.from) + ", which never sends them";
      }
      if (m.from == rank && m.launched && !m.sender_is_through) {
        return "rank " + std::to_string(m.to) + " to receive " + bytes + ", which it never does";
      }
    }
    return "its own steps";
  }

  /// Both sides know that they are through with it.
  void forget(std::uint32_t id) { free_.push_back(id); }

 private:
  struct Port {
    double free = 0;  ///< when the messages before are through
    std::uint32_t last = Trace::none;
  };

  /// Lets a message through a port as soon as it is free: when, and in `before` behind which other
  /// message if it must wait.
  double pass(Port& port, const SimulatedMessage& m, double now, std::uint32_t& before) const {
    const double start = std::max(now, port.free);
    before = port.free > now ? port.last : Trace::none;
    port.free = start + std::max(model_.gap, m.port_seconds);
    port.last = m.record;
    return start;
  }

  /// It waits for nothing but the sender's port.
  void depart(std::uint32_t id, double now) {
    if (options_.ports == Ports::exclusive) {
      departing_.push_back(id);
      return;
    }
    const SimulatedMessage& m = messages_[id];
    events_.add(now + m.latency, Event::Kind::flow, id);
    if (trace_ == nullptr) return;
    Trace::MessageRecord& r = trace_->message(m.record);
    r.depart = r.take = now;
  }

  void leave(std::uint32_t id, double now) {
    SimulatedMessage& m = messages_[id];
    std::uint32_t before = Trace::none;
    const double start = pass(out_[m.from], m, now, before);
    events_.add(start + m.latency, Event::Kind::head, id);
    if (!m.sender_is_through) events_.add(start + m.port_seconds, Event::Kind::sent, id);
    if (trace_ == nullptr) return;
    Trace::MessageRecord& r = trace_->message(m.record);
    r.depart = r.take = start;
    r.out_before = before;
  }

  void come_in(std::uint32_t id, double now) {
    SimulatedMessage& m = messages_[id];
    std::uint32_t before = Trace::none;
    const double start = pass(in_[m.to], m, now, before);
    events_.add(start + m.port_seconds, Event::Kind::delivered, id);
    if (trace_ == nullptr) return;
    Trace::MessageRecord& r = trace_->message(m.record);
    r.take = start;
    r.in_before = before;
  }

  void deliver(std::uint32_t id, double now) {
    SimulatedMessage& m = messages_[id];
    m.there = true;
    if (trace_ != nullptr) trace_->message(m.record).delivered = now;
    if (m.posted) completed_.push_back({id, false});
  }

  const LogGops& model_;
  const SimulateOptions& options_;
  Events& events_;
  Trace* trace_;
  std::vector<Port> out_;
  std::vector<Port> in_;
  FairShares shares_;
  std::vector<SimulatedMessage> messages_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> departing_;  ///< at this moment
  std::vector<Completed> completed_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
