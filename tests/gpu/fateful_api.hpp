// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/gpu/api.hpp>

#include <csignal>
#include <cstddef>
#include <cstdint>

#include <unistd.h>

/// Operations of another Api, of which the process does not survive a chosen one: it is killed just
/// before.
class FatefulApi final : public papcoll::gpu::Api {
 public:
  using Stream = papcoll::gpu::Stream;
  using Event = papcoll::gpu::Event;

  explicit FatefulApi(papcoll::gpu::Api& api) : api_(api) {}

  /// The k-th operation from now on, from 1; 0: none.
  void die_at(std::size_t k) { left_ = k; }
  /// How many there were.
  std::size_t operations() const { return operations_; }

  int devices() override { return next().devices(); }
  int current_device() override { return next().current_device(); }
  std::uint64_t physical_device(int device) override { return next().physical_device(device); }
  bool can_access(int from, int to) override { return next().can_access(from, to); }
  void enable_access(int from, int to) override { next().enable_access(from, to); }
  std::byte* allocate(int device, std::size_t bytes) override {
    return next().allocate(device, bytes);
  }
  void free(std::byte* base) noexcept override { next().free(base); }
  std::byte* allocate_host(std::size_t bytes) override { return next().allocate_host(bytes); }
  void free_host(std::byte* base) noexcept override { next().free_host(base); }
  void pin(std::byte* base, std::size_t bytes) override { next().pin(base, bytes); }
  void unpin(std::byte* base) noexcept override { next().unpin(base); }
  papcoll::gpu::Place place(const void* address) override { return next().place(address); }
  papcoll::gpu::MemoryHandle export_memory(std::byte* base) override {
    return next().export_memory(base);
  }
  std::byte* import_memory(int device, const papcoll::gpu::MemoryHandle& handle) override {
    return next().import_memory(device, handle);
  }
  void close_memory(std::byte* base) noexcept override { next().close_memory(base); }
  Stream make_stream(int device) override { return next().make_stream(device); }
  void destroy_stream(Stream stream) noexcept override { next().destroy_stream(stream); }
  bool is_capturing(Stream stream) override { return next().is_capturing(stream); }
  int device_of(Stream stream) override { return next().device_of(stream); }
  Event make_event(int device, bool between_processes) override {
    return next().make_event(device, between_processes);
  }
  void destroy_event(Event event) noexcept override { next().destroy_event(event); }
  papcoll::gpu::EventHandle export_event(Event event) override {
    return next().export_event(event);
  }
  Event import_event(int device, const papcoll::gpu::EventHandle& handle) override {
    return next().import_event(device, handle);
  }
  void record(Event event, Stream stream) override { next().record(event, stream); }
  void wait(Stream stream, Event event) override { next().wait(stream, event); }
  bool is_complete(Event event) override { return next().is_complete(event); }
  void copy(void* to, const void* from, std::size_t bytes, Stream stream) override {
    next().copy(to, from, bytes, stream);
  }
  std::uint64_t publish() override { return api_.publish(); }
  void on_published(std::uint64_t published) override { api_.on_published(published); }
  void combine(const papcoll::gpu::Operands& operands, std::size_t n,
               const papcoll::gpu::DeviceReducer& reducer, Stream stream) override {
    next().combine(operands, n, reducer, stream);
  }

 private:
  papcoll::gpu::Api& next() noexcept {
    ++operations_;
    if (left_ != 0 && --left_ == 0) kill(getpid(), SIGKILL);
    return api_;
  }

  papcoll::gpu::Api& api_;
  std::size_t left_ = 0;
  std::size_t operations_ = 0;
};
