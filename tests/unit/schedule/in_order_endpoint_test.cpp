// SPDX-License-Identifier: BSD-3-Clause
// Reductions and copies on a queue of another thread, which stands for the stream of a GPU, while
// messages are moved by this one: Endpoint::in_order() and Endpoint::scratch().

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/schedule/plan_run.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <tuple>
#include <vector>

#include "catch.hpp"

using namespace papcoll;

namespace {

using MessageKey = std::tuple<int, int, unsigned, unsigned>;  ///< sender, receiver, block, number
using Wire = std::map<MessageKey, std::vector<std::byte>>;

/// Runs local steps in the order in which they are launched.
class Stream {
 public:
  Stream() : thread_([this] { run(); }) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    {
      const std::lock_guard lock{mutex_};
      stopped_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  void launch(const TransportOp& work) {
    {
      const std::lock_guard lock{mutex_};
      queue_.push_back(work);
    }
    wake_.notify_one();
  }
  std::size_t done() const noexcept { return done_.load(std::memory_order_acquire); }

 private:
  void run() {
    for (;;) {
      TransportOp work;
      {
        std::unique_lock lock{mutex_};
        wake_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
        if (queue_.empty()) return;
        work = queue_.front();
        queue_.pop_front();
      }
      perform_locally(work);
      done_.fetch_add(1, std::memory_order_release);
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<TransportOp> queue_;
  bool stopped_ = false;
  std::atomic<std::size_t> done_{0};
  std::thread thread_;
};

class StreamEndpoint final : public Endpoint {
 public:
  StreamEndpoint(Wire& wire, int rank, bool ordered)
      : wire_(wire), rank_(rank), ordered_(ordered) {}

  bool in_order(OpKind kind) const noexcept override {
    return ordered_ && (kind == OpKind::reduce || kind == OpKind::copy);
  }

  bool start(const TransportOp& work) override {
    if (work.kind == OpKind::send) {
      wire_[{rank_, work.peer, work.block, work.number}] = {work.a, work.a + work.bytes()};
      return true;
    }
    if (work.kind == OpKind::receive) {
      receives_.push_back(work);
      return false;
    }
    if (work.n != 0 && !launched_.empty()) ++behind_others;
    launched_.push_back(work);
    stream_.launch(work);
    return false;
  }

  bool progress() override {
    if (reported_ < stream_.done()) {
      ++reported_;
      return complete(launched_, 0);
    }
    for (std::size_t i = 0; i < receives_.size(); ++i) {
      const TransportOp& work = receives_[i];
      const auto message = wire_.find({work.peer, rank_, work.block, work.number});
      if (message == wire_.end()) continue;
      std::memcpy(work.to, message->second.data(), work.bytes());
      wire_.erase(message);
      return complete(receives_, i);
    }
    return false;
  }

  papcoll::detail::Shared<std::byte> scratch(std::size_t bytes, MemoryKind kind) override {
    if (kind == MemoryKind::device) lent += bytes;
    const auto memory = papcoll::detail::make_shared<std::vector<Line>>(bytes / cache_line + 1);
    return {memory, memory->data()->bytes};
  }

  void abandon() noexcept override {}

  std::size_t behind_others = 0;  ///< steps that were launched while others were under way
  std::size_t lent = 0;           ///< bytes of scratch memory

 private:
  struct alignas(cache_line) Line {
    std::byte bytes[cache_line];
  };

  static bool complete(std::deque<TransportOp>& all, std::size_t i) {
    const TransportOp work = all[i];
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    work.owner->complete(work.slot, work.step);
    return true;
  }

  Wire& wire_;
  int rank_;
  bool ordered_;
  std::deque<TransportOp> launched_;
  std::deque<TransportOp> receives_;
  std::size_t reported_ = 0;
  Stream stream_;
};

struct Result {
  bool right = true;
  std::size_t behind_others = 0;
  std::size_t lent = 0;
};

/// A call of `ranks` ranks; messages cannot use the buffers of every other one.
Result call(const AnySchedule& schedule, Collective c, int ranks, std::size_t count, bool ordered) {
  Wire wire;
  std::deque<StreamEndpoint> endpoints;
  std::deque<PlanRun> runs;
  std::vector<std::vector<unsigned>> in;
  std::vector<std::vector<unsigned>> out;
  const std::size_t n = c == Collective::alltoall ? count * static_cast<std::size_t>(ranks) : count;
  const auto value = [](std::size_t rank, std::size_t i) {
    return static_cast<unsigned>(100003 * rank + 17 * i);
  };
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) {
    out.emplace_back(n);
    in.emplace_back(n);
    for (std::size_t i = 0; i < n; ++i) in.back()[i] = value(r, i);
  }
  for (int r = 0; r < ranks; ++r) {
    Shape shape;
    shape.collective = c;
    shape.size = ranks;
    shape.rank = r;
    shape.count = count;
    shape.element_size = sizeof(unsigned);
    shape.in_direct = shape.out_direct = r % 2 == 0;
    Call call;
    call.collective = c;
    call.count = count;
    call.reducer = reducer<unsigned>(sum);
    call.memory = MemoryKind::device;
    call.in = reinterpret_cast<const std::byte*>(in[static_cast<std::size_t>(r)].data());
    call.out = reinterpret_cast<std::byte*>(out[static_cast<std::size_t>(r)].data());
    endpoints.emplace_back(wire, r, ordered);
    runs.emplace_back().start(
        endpoints.back(),
        papcoll::detail::make_shared<BlockedPlan>(make_plan(schedule, shape, static_order(shape))),
        static_order(shape), call, 1, 4);
  }
  const auto all_done = [&runs] {
    bool done = true;
    for (const PlanRun& run : runs) done &= run.done();
    return done;
  };
  while (!all_done()) {
    bool moved = false;
    for (StreamEndpoint& e : endpoints) moved |= e.progress();
    if (!moved) std::this_thread::yield();
  }
  Result result;
  for (std::size_t r = 0; r < in.size(); ++r) {
    for (std::size_t i = 0; i < n; ++i) {
      unsigned wanted = 0;
      if (c == Collective::alltoall) {
        wanted = value(i / count, r * count + i % count);
      } else {
        const int last = contributors(c, static_cast<int>(r), ranks).last;
        for (int q = 0; q < last; ++q) wanted += value(static_cast<std::size_t>(q), i);
      }
      result.right &= out[r][i] == wanted;
    }
    result.behind_others += endpoints[r].behind_others;
    result.lent += endpoints[r].lent;
  }
  return result;
}

}  // namespace

TEST_CASE("steps of an endpoint that runs them in order do not wait for each other", "[plan]") {
  for (const bool ordered : {false, true}) {
    for (const int ranks : {2, 3, 5, 8}) {
      for (const std::size_t count : {1U, 40U, 20000U}) {
        CAPTURE(ordered, ranks, count);
        CHECK(call(Rabenseifner{}, Collective::allreduce, ranks, count, ordered).right);
        CHECK(call(SegmentedRing{}, Collective::allreduce, ranks, count, ordered).right);
        CHECK(call(RecursiveDoubling{}, Collective::allreduce, ranks, count, ordered).right);
        CHECK(call(TwoTreeComplete{}, Collective::allreduce, ranks, count, ordered).right);
        CHECK(call(RecursiveDoubling{}, Collective::scan, ranks, count, ordered).right);
        if (count > 100) continue;
        CHECK(call(Bruck{}, Collective::alltoall, ranks, count, ordered).right);
        CHECK(call(Pairwise{}, Collective::alltoall, ranks, count, ordered).right);
      }
    }
  }
  // Bruck brings several parts together before it sends them: copies that wait for nothing but
  // messages, and those of a round for those of the one before.
  CHECK(call(Bruck{}, Collective::alltoall, 8, 40, true).behind_others > 0);
}

TEST_CASE("scratch memory of calls on a device is the endpoint's", "[plan]") {
  CHECK(call(RecursiveDoubling{}, Collective::allreduce, 4, 100, true).lent > 0);
}

TEST_CASE("pairs of built-in types and operators have numbers of their own", "[op]") {
  static_assert(built_in_pair<float, Sum>);
  static_assert(built_in_pair<long, Max> == built_in_pair<std::int64_t, Max>);
  static_assert(built_in_pair<int, Sum> != built_in_pair<unsigned, Sum>);
  static_assert(built_in_pair<int, Sum> != built_in_pair<int, Prod>);
  static_assert(built_in_pair<float, Sum> != built_in_pair<double, Sum>);
  static_assert(!built_in_pair<bool, Sum> && !built_in_pair<long double, Sum>);
  static_assert(!built_in_pair<int, MinLoc>);
  CHECK(reducer<float>(sum).built_in == built_in_pair<float, Sum>);
  CHECK_FALSE(reducer<int>([](int a, int b) { return a + b; }).built_in);
  CHECK(reducer<int>(non_commutative(sum)).built_in == built_in_pair<int, Sum>);
}
