// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Processors to measure on.

#include <papcoll/base/config.hpp>
#include <papcoll/base/copying.hpp>
#include <papcoll/topology/processor_set.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// A second thread on a processor of its own, which does work while the first one waits.
class OtherProcessor : Pinned {
 public:
  explicit OtherProcessor(int processor) : thread_([this, processor] { serve(processor); }) {}
  ~OtherProcessor() {
    work_ = nullptr;
    post();
    thread_.join();
  }

  void does(const std::function<void()>& work) {
    begins(work);
    is_done();
  }
  /// Starts work and returns at once; is_done() must follow.
  void begins(const std::function<void()>& work) {
    work_ = &work;
    post();
  }
  void is_done() const {
    while (done_.load(std::memory_order_acquire) != posted_.load(std::memory_order_relaxed)) {
      cpu_pause();
    }
  }

  static void pin(int processor) {
    ProcessorSet one;
    one.add(processor);
    static_cast<void>(one.bind_this_thread());
  }

 private:
  void post() { posted_.fetch_add(1, std::memory_order_release); }
  void serve(int processor) {
    pin(processor);
    for (std::uint32_t next = 1;; ++next) {
      while (posted_.load(std::memory_order_acquire) != next) cpu_pause();
      if (work_ == nullptr) return;
      (*work_)();
      done_.store(next, std::memory_order_release);
    }
  }

  alignas(cache_line) std::atomic<std::uint32_t> posted_{0};
  alignas(cache_line) std::atomic<std::uint32_t> done_{0};
  const std::function<void()>* work_ = nullptr;
  std::thread thread_;
};

/// As long as it lives, the calling thread may use all processors that its process could have, also
/// those that a launcher has not given it.
class AllProcessors : Pinned {
 public:
  AllProcessors() {
    ProcessorSet all;
    for (int p = 0; p < ProcessorSet::most; ++p) all.add(p);
    static_cast<void>(all.bind_this_thread());
  }
  ~AllProcessors() { static_cast<void>(before_.bind_this_thread()); }

  static std::vector<int> numbers() {
    const ProcessorSet set = ProcessorSet::of_this_thread();
    std::vector<int> found;
    for (int p = 0; p < set.end(); ++p) {
      if (set.has(p)) found.push_back(p);
    }
    return found;
  }

 private:
  ProcessorSet before_ = ProcessorSet::of_this_thread();
};

/// Returns true if two processors are threads of one core, as far as Linux says.
inline bool are_one_core(int a, int b) {
  const auto core = [](int processor) {
    const std::string place =
        "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/";
    std::string text;
    for (const char* const name : {"physical_package_id", "die_id", "core_id"}) {
      std::ifstream file{place + name};
      std::string number;
      file >> number;
      text += number + " ";
    }
    return text;
  };
  return a == b || core(a) == core(b);
}

/// Bytes of the processor's data cache of that level, as Linux says. (sysconf() has it that a
/// last-level cache of 32 MB, on a virtual machine, has 320.)
inline std::size_t cache_of(int processor, int level, std::size_t otherwise) {
  constexpr int most = 8;
  for (int i = 0; i < most; ++i) {
    const std::string place = "/sys/devices/system/cpu/cpu" + std::to_string(processor) +
                              "/cache/index" + std::to_string(i) + "/";
    int found = 0;
    std::string type;
    std::size_t kilobytes = 0;
    std::ifstream{place + "level"} >> found;
    std::ifstream{place + "type"} >> type;
    std::ifstream{place + "size"} >> kilobytes;
    if (found == level && type != "Instruction" && kilobytes != 0) return kilobytes * 1024;
  }
  return otherwise;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
