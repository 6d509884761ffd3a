// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The ranks of one node under exploration: memory, call contexts, and a script for each rank.

#include "calls.hpp"
#include "explore_context.hpp"
#include "script.hpp"

#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/error.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/topology/groups.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace explore {

template <class ControlBlock, class Bells = PlainBells,
          class Context = ContextOver<ControlBlock, Bells>>
class World {
 public:
  explicit World(Script script) : script_(std::move(script)) {
    const int ranks = script_.ranks;
    bells_bytes_ = RealBells::bytes(ranks);
    std::size_t bytes = bells_bytes_ + ControlBlock::bytes(ranks, script_.chunk);
    if (!script_.colours.empty()) groups_ = papcoll::Groups::by_colour(script_.colours);
    for (std::size_t i = 0; i < script_.calls.size(); ++i) {
      for (int r = 0; r < ranks; ++r) buffers_.emplace_back(script_.call_of(r, i), i, r, ranks);
    }
    const std::size_t pools = bytes;
    bytes += static_cast<std::size_t>(ranks) * pool_bytes;
    std::size_t at = bytes;
    for (const Buffers& b : buffers_) bytes += in_lines(b.bytes());
    const std::size_t after_pools = bytes - at;
    memory_.resize(bytes / sizeof(Line) + 1);
    control_ = ControlBlock{begin() + bells_bytes_, ranks, script_.chunk};
    for (int r = 0; r < ranks; ++r) {
      papcoll::Node node;
      node.rank = r;
      node.size = ranks;
      node.pool = begin() + pools + static_cast<std::size_t>(r) * pool_bytes;
      node.pool_bytes = pool_bytes;
      if (groups_) node.groups = {papcoll::detail::Shared<void>{}, &*groups_};
      const std::size_t all_pools = static_cast<std::size_t>(ranks) * pool_bytes;
      std::size_t reached = script_.reach == Reach::chunk_buffers ? 0 : all_pools;
      if (script_.reach == Reach::mixed) {
        const int kind = (r + script_.first_kind) % 3;
        if (kind == 2) reached += after_pools;
        if (kind != 1) {
          node.pages = {nullptr, &no_pools_.emplace_back(node.pool)};
        }
      }
      if (script_.reach != Reach::all) {
        node.peers = papcoll::PeerMemory{begin() + pools, reached, {}};
      }
      nodes_.push_back(node);
    }
    for (Buffers& b : buffers_) {
      b.place(begin() + at);
      at += in_lines(b.bytes());
    }
    describe_memory();
  }

  int ranks() const noexcept { return script_.ranks; }

  void reset() {
    if (shared_model().owner() != this) describe_memory();
    std::memset(static_cast<void*>(memory_.data()), 0, memory_.size() * sizeof(Line));
    RealBells::initialise(begin(), ranks());
    control_.initialise(script_.first_epoch - script_.unused_for);
    contexts_.clear();
    for (int r = 0; r < ranks(); ++r) {
      control_.left(r).epoch.store(script_.first_epoch - 1, std::memory_order_relaxed);
      contexts_.emplace_back(control_, bells(), r, script_.first_epoch,
                             &nodes_[static_cast<std::size_t>(r)]);
    }
    shared_model().reset();
  }

  void body(int rank) {
    Context& context = contexts_[static_cast<std::size_t>(rank)];
    std::array<bool, ControlBlock::epoch_slots> complete{};  // the last call in each epoch slot
    for (std::size_t i = 0; i < script_.calls.size(); ++i) {
      bool& last = complete[i % complete.size()];
      last = make_call(context, i, rank, last);
    }
    shared_model().publish_stores();
  }

  static std::string finish() { return {}; }

 private:
  struct alignas(papcoll::cache_line) Line {
    std::byte bytes[papcoll::cache_line];
  };

  static constexpr std::size_t pool_bytes = 1024;

  /// There are no pages for the rank's pool.
  struct NoPool final : papcoll::NodePages {
    explicit NoPool(const std::byte* pool_) : pool(pool_) {}
    void reserve(const std::byte* at, std::size_t) const override {
      if (at == pool) throw papcoll::system_error("no pages", 0);
    }
    const std::byte* pool;
  };

  static std::size_t in_lines(std::size_t bytes) noexcept {
    return (bytes + sizeof(Line) - 1) / sizeof(Line) * sizeof(Line);
  }

  std::byte* begin() noexcept { return reinterpret_cast<std::byte*>(memory_.data()); }

  Bells bells() {
    if constexpr (std::is_constructible_v<Bells, std::byte*, int>) {
      return Bells{begin(), ranks()};
    } else {
      return Bells{};
    }
  }

  bool make_call(Context& context, std::size_t i, int rank, bool before) {
    const CallSpec& spec = script_.call_of(rank, i);
    Buffers& buffers =
        buffers_[i * static_cast<std::size_t>(ranks()) + static_cast<std::size_t>(rank)];
    const papcoll::Call call = buffers.prepare();
    if (scheduler().tracing) {
      scheduler().trace("--- call " + std::to_string(i) + ": " + spec.describe());
    }
    auto wait = [&](auto&& ready) { context.bells().wait(rank, ready); };
    constexpr std::size_t epoch_slots = ControlBlock::epoch_slots;
    const bool complete =
        explore::make_call(context, spec, call, script_.may_fail(i, epoch_slots), wait);
    if (!complete) await_readers(context);
    const std::string problem =
        problem_of(script_, i, rank, buffers, complete, before, epoch_slots);
    if (!problem.empty()) scheduler().fail(problem);
    // Its user may do with them what he likes: nobody may still want them.
    shared_model().plain_write(buffers.memory(), buffers.bytes());
    return complete;
  }

  /// As wait_for_readers() does. Nobody rings when a reader is done.
  void await_readers(const Context& context) {
    for (int r = context.reader(); r >= 0; r = context.reader()) {
      shared_model().publish_stores();
      if (context.is_reading(r)) scheduler().block(&control_.reading(r).now);
    }
  }

  void describe_memory() {
    shared_model().map(this, begin(), memory_.size() * sizeof(Line));
    name_bells();
    name_control_block();
    for (const papcoll::Node& n : nodes_) {
      shared_model().name(n.pool, pool_bytes, "pool of " + std::to_string(n.rank));
    }
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const auto per_call = static_cast<std::size_t>(ranks());
      shared_model().name(buffers_[i].memory(), in_lines(buffers_[i].bytes()),
                          "buffers of rank " + std::to_string(i % per_call) + " in call " +
                              std::to_string(i / per_call));
    }
  }

  void name_bells() {
    for (int r = -1; r < ranks(); ++r) {
      const std::string whose = r < 0 ? "sleepers" : "bell " + std::to_string(r);
      shared_model().name(begin() + static_cast<std::ptrdiff_t>(sizeof(Line)) * (r + 1),
                          sizeof(Line), whose);
    }
  }

  void name_control_block() {
    SharedModel& model = shared_model();
    for (int r = 0; r < ranks(); ++r) {
      model.name(&control_.left(r), sizeof(typename ControlBlock::Left),
                 "left of " + std::to_string(r));
    }
    for (int r = 0; r < ranks(); ++r) {
      model.name(&control_.reading(r), sizeof(typename ControlBlock::Reading),
                 "reading of " + std::to_string(r));
    }
    for (std::uint32_t e = 0; e < ControlBlock::epoch_slots; ++e) {
      const std::string epoch_slot = " of epoch slot " + std::to_string(e);
      model.name(&control_.claim(e), sizeof(typename ControlBlock::Claim), "claim" + epoch_slot);
      model.name(&control_.tickets(e), sizeof(typename ControlBlock::Tickets),
                 "tickets" + epoch_slot);
      for (int r = 0; r < ranks(); ++r) {
        model.name(&control_.holder(e, r), sizeof(typename ControlBlock::Holder),
                   "holder of ticket " + std::to_string(r) + epoch_slot);
      }
      for (std::uint32_t w = 0; w < ControlBlock::work_words(ranks()); ++w) {
        model.name(&control_.work(e, w), sizeof(typename ControlBlock::WorkWord),
                   "work " + std::to_string(w) + epoch_slot);
      }
      model.name(&control_.release(e), sizeof(typename ControlBlock::Header),
                 "release" + epoch_slot);
      model.name(&control_.failure(e), sizeof(typename ControlBlock::Failure),
                 "failure" + epoch_slot);
      for (int r = 0; r <= ranks(); ++r) {
        const std::string whose =
            (r == ranks() ? "result" : "chunk buffers of " + std::to_string(r)) + epoch_slot;
        const std::uint32_t buffers = r == ranks() ? ControlBlock::results : ControlBlock::buffers;
        static_assert(ControlBlock::buffers % 2 == 0 && ControlBlock::results % 2 == 0);
        for (std::uint32_t k = 0; k < buffers; k += 2) {  // a chunk may fill two, see CallContext
          model.name(
              r == ranks() ? control_.result_buffer(e, k) : control_.chunk_buffer(e, r, k),
              2 * script_.chunk,
              "buffers " + std::to_string(k) + " and " + std::to_string(k + 1) + " of " + whose);
        }
        if (r == ranks()) continue;
        model.name(&control_.header(e, r), sizeof(typename ControlBlock::Header),
                   "header of " + whose);
        model.name(&control_.progress(e, r), sizeof(typename ControlBlock::Progress),
                   "progress of " + whose);
      }
    }
  }

  Script script_;
  std::size_t bells_bytes_ = 0;
  std::vector<Line> memory_;
  ControlBlock control_;
  std::optional<papcoll::Groups> groups_;
  std::deque<NoPool> no_pools_;
  std::vector<papcoll::Node> nodes_;
  std::deque<Context> contexts_;
  std::vector<Buffers> buffers_;
};

}  // namespace explore
