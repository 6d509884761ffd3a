// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/model/operations.hpp>
#include <papcoll/gpu/model/process_memory.hpp>
#include <papcoll/gpu/model/state.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

/// A process of the model: what is asked of streams and events. Memory: ProcessMemory.
class ModelProcess final : public ProcessMemory {
 public:
  using ProcessMemory::ProcessMemory;

  Stream make_stream(int device) override {
    const std::lock_guard lock(model_.mutex);
    check_device(device);
    return handle(model_.queues.make(process_, device));
  }

  void destroy_stream(Stream stream) noexcept override {
    const std::lock_guard lock(model_.mutex);
    Queue* const queue = reinterpret_cast<Queue*>(stream);
    if (queue == nullptr || !queue->alive || queue->process != process_) {
      model_.problem({"papcoll: process ", process_, " destroys a stream that it does not have"});
      return;
    }
    queue->alive = false;
  }

  bool is_capturing(Stream stream) override {
    const std::lock_guard lock(model_.mutex);
    return queue(stream).capturing;
  }

  int device_of(Stream stream) override {
    const std::lock_guard lock(model_.mutex);
    return queue(stream).device;
  }

  Event make_event(int device, bool between_processes) override {
    const std::lock_guard lock(model_.mutex);
    check_device(device);
    const auto shared = std::make_shared<SharedEvent>();
    shared->number = model_.events.size() + 1;
    shared->device = device;
    if (between_processes && model_.options.between_processes) {
      shared->published = &model_.shared_events.publish(shared->number);
    }
    return add_event({process_, between_processes, false, true, shared});
  }

  void destroy_event(Event event) noexcept override {
    const std::lock_guard lock(model_.mutex);
    auto* const e = reinterpret_cast<EventOfProcess*>(event);
    if (e == nullptr || !e->alive || e->process != process_) {
      model_.problem({"papcoll: process ", process_, " destroys an event that it does not have"});
      return;
    }
    e->alive = false;
    if (e->imported) return;
    e->shared->alive = false;
    if (e->shared->published != nullptr) model_.shared_events.retire(*e->shared->published);
  }

  EventHandle export_event(Event event) override {
    const std::lock_guard lock(model_.mutex);
    check_ipc();
    const EventOfProcess& e = of(event);
    if (!e.between_processes || e.imported) {
      misuse({"papcoll: process ", process_,
              " exports an event that is not made for that: make it "
              "between processes"});
    }
    const SharedEvent& shared = *e.shared;
    if (shared.published != nullptr) {
      return model_.shared_events.handle_of(*shared.published, shared.number, shared.device);
    }
    return make_handle<EventHandle>({handle_of_event, shared.number, shared.device, 0, {}});
  }

  Event import_event(int device, const EventHandle& handle) override {
    const std::lock_guard lock(model_.mutex);
    check_ipc();
    check_device(device);
    const HandleWords words = words_in(handle_of_event, handle);
    if (words.is_elsewhere()) return import_elsewhere(words);
    const std::size_t number = words.number;
    if (number == 0 || number > model_.events.size() || !model_.events[number - 1]->shared->alive) {
      misuse({"papcoll: process ", process_,
              " imports an event that is not there: keep the "
              "exported one"});
    }
    return add_event({process_, false, true, true, model_.events[number - 1]->shared});
  }

  void record(Event event, Stream stream) override {
    const std::lock_guard lock(model_.mutex);
    SharedEvent& e = *of(event).shared;
    Queue& q = usable(stream);
    if (e.device != q.device) {
      misuse({"papcoll: an event of device ", e.device, " is recorded in a stream of device ",
              q.device, ": use one of the same device"});
    }
    if (e.elsewhere != nullptr) {
      misuse({"papcoll: process ", process_,
              " records an event of another process: let its maker do that"});
    }
    q.clock.join(state().host);
    e.last = std::make_shared<Record>();
    e.last->clock = q.clock;
    if (e.published != nullptr) {
      model_.told_elsewhere.join(q.clock);
      e.published->record(e.last);
    }
    model_.queues.record(q, e.last);
    put_in();
  }

  void wait(Stream stream, Event event) override {
    const std::lock_guard lock(model_.mutex);
    const std::shared_ptr<Record> last = last_of(*of(event).shared);
    Queue& q = usable(stream);
    const bool left_out = model_.left_out.count(model_.waits++) != 0;
    if (last == nullptr || left_out) return;
    if (last->lost) throw_lost(of(event).shared->device);
    q.clock.join(last->clock);
    model_.queues.wait(q, last);
    put_in();
  }

  bool is_complete(Event event) override {
    const std::lock_guard lock(model_.mutex);
    const SharedEvent& e = *of(event).shared;
    const std::shared_ptr<Record> last = last_of(e);
    check_not_lost(e.device);
    if (last == nullptr) return true;
    model_.queues.begin_ready();
    if (!last->done) model_.queues.step();
    if (last->elsewhere != nullptr) model_.queues.look_at(*last);
    check_not_lost(e.device);
    if (last->done) state().host.join(last->clock);
    return last->done;
  }

  std::uint64_t publish() override {
    const std::lock_guard lock(model_.mutex);
    if (model_.options.between_processes) {
      model_.told_elsewhere.join(state().host);
      return 1;
    }
    model_.published[++model_.publications] = state().host;
    return model_.publications;
  }

  void on_published(std::uint64_t published) override {
    const std::lock_guard lock(model_.mutex);
    if (model_.options.between_processes && published != 0)
      state().host.join(model_.told_elsewhere);
    const auto found = model_.published.find(published);
    if (found == model_.published.end()) return;
    state().host.join(found->second);
    model_.published.erase(found);
  }

  void copy(void* to, const void* from, std::size_t bytes, Stream stream) override {
    const std::lock_guard lock(model_.mutex);
    Operands operands;
    operands.in[0] = from;
    operands.out[0] = to;
    operands.inputs = operands.outputs = 1;
    Operation operation(model_, usable(stream), Mover::copy, operands, bytes);
    operation.push([bytes](const Operands& at) { std::memcpy(at.out[0], at.in[0], bytes); });
    put_in();
  }

  void combine(const Operands& operands, std::size_t n, const DeviceReducer& reducer,
               Stream stream) override {
    const std::lock_guard lock(model_.mutex);
    const auto fits = [](int buffers) { return 1 <= buffers && buffers <= most_operands; };
    if (!fits(operands.inputs) || !fits(operands.outputs)) {
      misuse({"papcoll: a kernel reads ", operands.inputs, " buffers and writes ", operands.outputs,
              ": pass 1 to ", most_operands, " of each"});
    }
    if (reducer.perform == nullptr) {
      misuse({"papcoll: the model of GPUs cannot perform this reducer: make it by host_reducer()"});
    }
    Operation operation(model_, usable(stream), Mover::kernel, operands, n * reducer.size);
    operation.push([n, reducer](const Operands& at) { reducer.perform(at, n, reducer.op); });
    put_in();
  }

 private:
  static Stream handle(Queue& queue) { return reinterpret_cast<Stream>(&queue); }

  Event add_event(EventOfProcess event) {
    model_.events.push_back(std::make_unique<EventOfProcess>(std::move(event)));
    return reinterpret_cast<Event>(model_.events.back().get());
  }

  /// An event of another process's model.
  Event import_elsewhere(const HandleWords& words) {
    const auto shared = std::make_shared<SharedEvent>();
    shared->number = words.number;
    shared->device = static_cast<int>(words.device);
    shared->elsewhere = &model_.shared_events.import(words);
    return add_event({process_, false, true, true, shared});
  }

  /// Its last record so far, or null.
  std::shared_ptr<Record> last_of(const SharedEvent& e) {
    if (e.elsewhere == nullptr) return e.last;
    const std::uint64_t number = e.elsewhere->recorded.load(std::memory_order_relaxed);
    if (number == 0) return nullptr;
    auto last = std::make_shared<Record>();
    last->clock = model_.told_elsewhere;
    last->elsewhere = &e.elsewhere->completed;
    last->number = number;
    return last;
  }

  /// Something was put into a stream.
  void put_in() {
    if (model_.options.between_processes) model_.more.notify_one();
  }

  /// The null stream is an ordinary one of the current device.
  Queue& queue(Stream stream) {
    if (stream == nullptr) {
      const int device = state().current_device;
      Queue*& found = state().null_streams[device];
      if (found == nullptr) {
        found = &model_.queues.make(process_, device);
        found->is_null = true;
      }
      return *found;
    }
    Queue& found = *reinterpret_cast<Queue*>(stream);
    if (!found.alive || found.process != process_) {
      misuse({"papcoll: process ", process_, " uses a stream that it does not have"});
    }
    return found;
  }

  /// One that operations may be put into.
  Queue& usable(Stream stream) {
    Queue& found = queue(stream);
    check_not_lost(found.device);
    if (found.capturing) {
      misuse({"papcoll: process ", process_,
              " uses a stream that is being captured: end that "
              "first"});
    }
    return found;
  }

  EventOfProcess& of(Event event) {
    auto* const found = reinterpret_cast<EventOfProcess*>(event);
    if (found == nullptr || !found->alive || found->process != process_) {
      misuse({"papcoll: process ", process_, " uses an event that it does not have"});
    }
    const SharedEvent& shared = *found->shared;
    const bool has_maker =
        shared.elsewhere == nullptr
            ? shared.alive
            : shared.elsewhere->event.load(std::memory_order_relaxed) == shared.number;
    if (!has_maker) {
      misuse({"papcoll: process ", process_,
              " uses an event that its maker has destroyed: keep it "
              "until all have closed theirs"});
    }
    return *found;
  }
};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
