// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/node/call_context.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/node_context.hpp>
#include <papcoll/topology/groups.hpp>

#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

/// A CallContext that forwards every operation to the NodeContext of its team: the base class of a
/// call context that a transport defines. The derived class redeclares the operations that it
/// implements itself, such as chunk_buffer() and result_buffer() for contributions in memory of its
/// own; algorithms are compiled for the derived class and call what it declares, without virtual
/// functions.
///
/// The team enters and leaves each call on its NodeContext, compares calls there and tells of
/// failures there, so a derived class leaves announce(), arrived(), matches(), fail() and the
/// reading of buffers as they are, or calls them. Tagged counts order every access to memory,
/// whichever it is: what a rank wrote before publish() or announce(), its peers may read once
/// arrived() says so.
class ForwardingContext {
 public:
  /// `node`: what make_context() of the transport was given; outlives the call context.
  explicit ForwardingContext(NodeContext& node) noexcept : node_(&node) {}

  int rank() const noexcept { return node().rank(); }
  int size() const noexcept { return node().size(); }
  const Groups* groups() const noexcept { return node().groups(); }
  std::uint32_t buffers() const noexcept { return node().buffers(); }
  /// A derived class that declares buffers(), or has more results, declares this, too.
  std::uint32_t results() const noexcept { return node().buffers(); }
  std::size_t chunk_bytes() const noexcept { return node().chunk_bytes(); }

  // --- flags

  void announce(const std::byte* payload, std::size_t n, std::uint32_t chunks) noexcept {
    node().announce(payload, n, chunks);
  }
  void expose(const BufferDescriptor& buffers, std::uint32_t chunks) noexcept {
    node().expose(buffers, chunks);
  }
  void publish(std::uint32_t chunks, int audience) noexcept { node().publish(chunks, audience); }
  bool arrived(int r, std::uint32_t chunks) const noexcept { return node().arrived(r, chunks); }
  bool matches(int r) const noexcept { return node().matches(r); }
  bool claim() noexcept { return node().claim(); }
  int leader() const noexcept { return node().leader(); }
  void publish_stage(std::uint32_t chunks) noexcept { node().publish_stage(chunks); }
  bool stage_reached(int r, std::uint32_t chunks) const noexcept {
    return node().stage_reached(r, chunks);
  }
  void release(std::uint32_t chunks, const std::byte* payload, std::size_t n) noexcept {
    node().release(chunks, payload, n);
  }
  bool released(std::uint32_t chunks) const noexcept { return node().released(chunks); }
  void note_all_arrived() noexcept { node().note_all_arrived(); }
  void fail(int r) { node().fail(r); }
  void fail_with(const std::string& text) { node().fail_with(text); }

  // --- data

  std::byte* chunk_buffer(int r, std::uint32_t chunk) { return node().chunk_buffer(r, chunk); }
  std::byte* result_buffer(std::uint32_t chunk) { return node().result_buffer(chunk); }
  const std::byte* small(int r) const noexcept { return node().small(r); }
  const std::byte* small_result() const noexcept { return node().small_result(); }
  /// A derived class with chunk buffers of its own declares this, too, or does without the hint.
  void expect(int r, std::uint32_t chunk, std::size_t at, std::size_t n) const noexcept {
    node().expect(r, chunk, at, n);
  }
  void expect_again(std::size_t at, std::size_t n) noexcept { node().expect_again(at, n); }
  void write(std::byte* to, const std::byte* from, std::size_t n) noexcept {
    node().write(to, from, n);
  }
  void read(std::byte* to, const std::byte* from, std::size_t n) noexcept {
    node().read(to, from, n);
  }
  bool streams(std::size_t n) const noexcept { return node().streams(n); }
  void stream(std::byte* to, const std::byte* from, std::size_t n) noexcept {
    node().stream(to, from, n);
  }
  void reduce(std::byte* out, const std::byte* low, const std::byte* high, std::size_t n) noexcept {
    node().reduce(out, low, high, n);
  }
  void reduce_for_peers(std::byte* out, const std::byte* low, const std::byte* high,
                        std::size_t n) {
    node().reduce_for_peers(out, low, high, n);
  }
  std::size_t scratch_bytes() const noexcept { return node().scratch_bytes(); }
  std::byte* scratch(std::size_t i) noexcept { return node().scratch(i); }
  int* pending() noexcept { return node().pending(); }

  // --- tickets and work

  int draw_ticket() noexcept { return node().draw_ticket(); }
  int holder(int ticket) const noexcept { return node().holder(ticket); }
  std::uint32_t work(std::uint32_t w) const noexcept { return node().work(w); }
  bool try_claim(std::uint32_t w, std::uint32_t seen, std::uint32_t state) noexcept {
    return node().try_claim(w, seen, state);
  }
  void complete(std::uint32_t w, std::uint32_t state) noexcept { node().complete(w, state); }
  void unclaim(std::uint32_t w, std::uint32_t state) noexcept { node().unclaim(w, state); }

  // --- peers' buffers, and pools

  const PeerMemory& peers() const noexcept { return node().peers(); }
  BufferDescriptor exposed_by(int r) const noexcept { return node().exposed_by(r); }
  bool begin_reading() noexcept { return node().begin_reading(); }
  bool end_reading() noexcept { return node().end_reading(); }
  std::byte* pool(std::size_t n) { return node().pool(n); }
  std::byte* shared_pool(std::size_t n) { return node().shared_pool(n); }
  bool pools_hold(std::size_t n) { return node().pools_hold(n); }
  bool use_pool() { return node().use_pool(); }

 protected:
  /// Calls that may be under way at once: a slow rank may still read chunk buffers of a former
  /// call. Memory for chunk buffers has a part for each of 0 … epoch_slots − 1, and a call uses the
  /// part epoch_slot().
  static constexpr int epoch_slots = NodeControlBlock::epoch_slots;
  int epoch_slot() const noexcept {
    return static_cast<int>(node().epoch() % NodeControlBlock::epoch_slots);
  }

  /// The team's own call context, in the call under way.
  NodeContext& node() const noexcept { return *node_; }

 private:
  NodeContext* node_;
};
static_assert(CallContext<ForwardingContext>);

}  // namespace papcoll::inline PAPCOLL_ABI
