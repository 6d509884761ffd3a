#pragma once

#include <papcoll/analysis/simulate_events.hpp>
#include <papcoll/analysis/simulate_network.hpp>
#include <papcoll/analysis/simulated.hpp>
#include <papcoll/model/log_gops.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// When a message kept ports busy, and since when it could have.
struct PortTimes {
  double sent = 0;    ///< by the sender's processor
  double depart = 0;  ///< it waits no more; a port that is shared is used only a latency later
  double out_from = 0, out_to = 0;
  double in_from = 0, in_to = 0;
};

/// What the ports did in a simulation of which the steps were kept, by message as in run.ends:
/// the messages go through the simulated network once more, at the times that the steps tell.
class PortReplay {
 public:
  PortReplay(const Simulated& run, const LogGops& model, const SimulateOptions& options)
      : model_(model),
        resolution_(options.resolution),
        network_(run.exits.size(), model, options, events_, nullptr),
        times_(run.ends.size()) {
    std::vector<Call> calls;
    calls.reserve(2 * run.ends.size());
    for (const SimulatedEnds& ends : run.ends) {
      const SimulatedStep& send = run.steps[ends.send];
      const SimulatedStep& receive = run.steps[ends.receive];
      const std::uint32_t id = network_.make(static_cast<std::uint32_t>(send.rank),
                                             static_cast<std::uint32_t>(receive.rank), send.bytes);
      network_[id].send_number = ends.send;
      const double processor =
          model.overhead + model.overhead_per_byte * static_cast<double>(send.bytes);
      times_[id].sent = send.start + processor;
      calls.push_back({times_[id].sent, ends.send, id, true});
      calls.push_back({receive.start, ends.receive, id, false});
    }
    std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
      return a.time != b.time ? a.time < b.time : a.step < b.step;
    });
    play(calls);
  }

  const std::vector<PortTimes>& times() const noexcept { return times_; }

 private:
  /// A processor starts one side of a message.
  struct Call {
    double time;
    std::size_t step;
    std::uint32_t message;
    bool sends;
  };

  void play(const std::vector<Call>& calls) {
    auto call = calls.begin();
    std::vector<SimulatedNetwork::Completed> completed;
    while (call != calls.end() || !events_.empty()) {
      double now = call == calls.end() ? events_.next_time() : call->time;
      if (!events_.empty()) now = std::min(now, events_.next_time());
      const double until = now + resolution_;
      while (!events_.empty() && events_.next_time() <= until) {
        const Event e = events_.take();
        now = std::max(now, e.time);
        handle(e);
      }
      for (; call != calls.end() && call->time <= until; ++call) {
        now = std::max(now, call->time);
        if (call->sends) {
          network_.launch(call->message, call->time);
        } else {
          network_.post(call->message, call->time);
        }
      }
      network_.take_completed(completed);
      network_.settle(now);
    }
  }

  void handle(const Event& e) {
    PortTimes& t = times_[e.subject];
    const SimulatedMessage& m = network_[e.subject];
    const double busy = std::max(model_.gap, m.port_seconds);
    network_.handle(e, e.time);
    switch (e.kind) {
      case Event::Kind::head:
        t.depart = t.out_from = e.time - m.latency;
        t.out_to = t.out_from + busy;
        break;
      case Event::Kind::delivered:
        t.in_from = e.time - m.port_seconds;
        t.in_to = t.in_from + busy;
        break;
      case Event::Kind::flow:
        t.depart = e.time - m.latency;
        t.out_from = t.in_from = e.time;
        break;
      case Event::Kind::flow_end:
        if (m.there && t.in_to == 0) t.out_to = t.in_to = e.time;
        break;
      default:
        break;
    }
  }

  const LogGops& model_;
  double resolution_;
  Events events_;
  SimulatedNetwork network_;
  std::vector<PortTimes> times_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
