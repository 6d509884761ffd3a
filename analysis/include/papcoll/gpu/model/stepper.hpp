// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/gpu/model/state.hpp>

#include <chrono>
#include <mutex>
#include <thread>

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

/// A thread that lets time pass in a model whose events other processes wait for: streams of a GPU
/// go on while their host is in MPI or computes. It sleeps when nothing is under way, and looks
/// again and again while a stream waits for another process.
class Stepper : Pinned {
 public:
  /// Of a model that stays longer.
  explicit Stepper(ModelState& model) : model_(model), thread_([this] { run(); }) {}
  ~Stepper() {
    {
      const std::lock_guard lock(model_.mutex);
      ended_ = true;
    }
    model_.more.notify_one();
    thread_.join();
  }

 private:
  /// Between two looks for what another process has done.
  static constexpr std::chrono::microseconds nap{50};

  void run() {
    std::unique_lock lock(model_.mutex);
    while (!ended_) {
      if (model_.queues.step()) {
        lock.unlock();  // callers take turns with it
        std::this_thread::yield();
        lock.lock();
      } else if (model_.queues.waits_elsewhere()) {
        lock.unlock();
        std::this_thread::sleep_for(nap);
        lock.lock();
      } else {
        model_.more.wait(lock);
      }
    }
  }

  ModelState& model_;
  bool ended_ = false;  ///< under the model's mutex
  std::thread thread_;  ///< last: it uses the others
};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
