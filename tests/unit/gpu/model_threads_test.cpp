// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "modelled.hpp"

#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/model.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

using namespace modelled;

namespace {

constexpr int exchange_ranks = 4;
constexpr std::size_t exchanged = 1000;

/// What the ranks tell each other: each has a counter of the rounds that others may go by.
struct Noticeboard {
  std::array<papcoll::gpu::MemoryHandle, exchange_ranks> memories;
  std::array<papcoll::gpu::EventHandle, exchange_ranks> written, read;
  std::array<std::atomic<int>, exchange_ranks> said{};

  void say(int rank, int what) { said[static_cast<std::size_t>(rank)] = what; }
  void hear(int rank, int what) {
    while (said[static_cast<std::size_t>(rank)] < what) std::this_thread::yield();
  }
};

/// A rank that adds in every round what its left neighbour has, from a window that is used again.
class Neighbour {
 public:
  Neighbour(Model& model, int rank) : model_(model), rank_(rank) {
    filled(model, sum_, exchanged, rank);
  }

  int left() const { return (rank_ + exchange_ranks - 1) % exchange_ranks; }
  int right() const { return (rank_ + 1) % exchange_ranks; }

  void publish(Noticeboard& control) {
    const auto me = static_cast<std::size_t>(rank_);
    control.memories[me] = api_.export_memory(window_);
    control.written[me] = api_.export_event(written_);
    control.read[me] = api_.export_event(read_);
  }
  void connect(const Noticeboard& control) {
    source_ = api_.import_memory(rank_, control.memories[static_cast<std::size_t>(left())]);
    there_ = api_.import_event(rank_, control.written[static_cast<std::size_t>(left())]);
    taken_ = api_.import_event(rank_, control.read[static_cast<std::size_t>(right())]);
  }
  void write() {
    api_.wait(stream_, taken_);
    api_.copy(window_, sum_, exchanged * sizeof(int), stream_);
    api_.record(written_, stream_);
  }
  void read() {
    api_.wait(stream_, there_);
    add_ints(api_, sum_, source_, exchanged, stream_);
    api_.record(read_, stream_);
  }
  std::vector<int> result() {
    while (!api_.is_complete(read_)) std::this_thread::yield();
    return {ints(model_, sum_), ints(model_, sum_) + exchanged};
  }
  void disconnect() {
    while (!api_.is_complete(taken_)) std::this_thread::yield();
    api_.close_memory(source_);
    api_.destroy_event(there_);
    api_.destroy_event(taken_);
  }
  void end() {
    api_.destroy_event(written_);
    api_.destroy_event(read_);
    api_.free(window_);
    api_.free(sum_);
    api_.destroy_stream(stream_);
  }

 private:
  Model& model_;
  int rank_;
  Api& api_ = model_.process(rank_);
  Stream stream_ = api_.make_stream(rank_);
  std::byte* window_ = api_.allocate(rank_, exchanged * sizeof(int));
  std::byte* sum_ = api_.allocate(rank_, exchanged * sizeof(int));
  Event written_ = api_.make_event(rank_, true);
  Event read_ = api_.make_event(rank_, true);
  std::byte* source_ = nullptr;  ///< the left one's window
  Event there_ = nullptr;        ///< it is written
  Event taken_ = nullptr;        ///< the right one has read mine
};

constexpr int exchange_rounds = 3;
constexpr std::size_t exchange_waits = 2 * exchange_rounds * exchange_ranks;

/// Rank r has that of r, r - 1, r - 2 and r - 3 times 1, 3, 3 and 1.
std::vector<int> after_three_rounds(int r) {
  const auto of = [r](int back) { return (r + exchange_ranks - back) % exchange_ranks; };
  return std::vector<int>(exchanged, of(0) + 3 * of(1) + 3 * of(2) + of(3));
}

/// One rank in a thread of its own.
std::vector<int> exchange(Model& model, Noticeboard& control, int rank) {
  Neighbour me(model, rank);
  int step = 0;
  const auto meet = [&] {
    control.say(rank, ++step);
    control.hear(me.left(), step);
    control.hear(me.right(), step);
  };
  me.publish(control);
  meet();
  me.connect(control);
  for (int round = 0; round < exchange_rounds; ++round) {
    me.write();
    meet();
    me.read();
    meet();
  }
  const std::vector<int> result = me.result();
  me.disconnect();
  meet();
  me.end();
  return result;
}

/// All ranks in turns, and one wait left out.
std::vector<std::string> problems_without(std::size_t wait) {
  Model model(four());
  model.leave_out_wait(wait);
  Noticeboard control;
  std::vector<Neighbour> all;
  for (int r = 0; r < exchange_ranks; ++r) all.emplace_back(model, r).publish(control);
  for (Neighbour& one : all) one.connect(control);
  for (int round = 0; round < exchange_rounds; ++round) {
    for (Neighbour& one : all) one.write();
    for (Neighbour& one : all) one.read();
  }
  model.run();
  CHECK(model.waits() == exchange_waits);
  return model.problems();
}

}  // namespace

TEST_CASE("four threads exchange, each a process of the model", "[gpu]") {
  Model model(four());
  Noticeboard control;
  std::array<std::vector<int>, exchange_ranks> results;
  std::vector<std::thread> threads;
  for (int r = 0; r < exchange_ranks; ++r) {
    threads.emplace_back([&model, &control, &result = results[static_cast<std::size_t>(r)], r] {
      result = exchange(model, control, r);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int r = 0; r < exchange_ranks; ++r) {
    CHECK(results[static_cast<std::size_t>(r)] == after_three_rounds(r));
  }
  CHECK(model.waits() == exchange_waits);
  CHECK(model.problems().empty());
  CHECK(model.leftovers().empty());
}

TEST_CASE("every wait of the exchange is needed, but the first for events of no record", "[gpu]") {
  CHECK(problems_without(exchange_waits).empty());
  for (std::size_t k = 0; k < exchange_waits; ++k) {
    INFO("wait " << k);
    CHECK(problems_without(k).empty() == (k < exchange_ranks));
  }
}
