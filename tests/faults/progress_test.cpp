// SPDX-License-Identifier: BSD-3-Clause
// Isend, collective, Wait: a rank that waits in papcoll must move its MPI messages along. Rank 0
// sends rank 1 a large message and goes into a collective; rank 1 comes to the collective only once
// it has received the message, which MPI cannot deliver unless rank 0 takes part. Run with three
// ranks or more, with and without a way for MPI to copy from process to process by itself; it ends,
// or it hangs.
//
// Meanwhile a message that nobody receives yet lies at every rank: a poll of MPI that could match
// it returns at once and moves nothing.

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/papcoll.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using papcoll::Collective;

constexpr std::size_t message_bytes = 16u << 20;
constexpr std::chrono::milliseconds late{10};  ///< rank 0 sleeps by then

class Program {
 public:
  Program() : comm_(MPI_COMM_WORLD), message_(message_bytes) {
    const int left = (comm_.rank() + 1) % comm_.size();
    const int right = (comm_.rank() + comm_.size() - 1) % comm_.size();
    MPI_Irecv(nullptr, 0, MPI_INT, left, pending_tag + 1, MPI_COMM_WORLD, &last_);
    MPI_Send(nullptr, 0, MPI_INT, right, pending_tag, MPI_COMM_WORLD);
  }

  void finish() {
    const int left = (comm_.rank() + 1) % comm_.size();
    const int right = (comm_.rank() + comm_.size() - 1) % comm_.size();
    MPI_Send(nullptr, 0, MPI_INT, right, pending_tag + 1, MPI_COMM_WORLD);
    MPI_Wait(&last_, MPI_STATUS_IGNORE);
    MPI_Recv(nullptr, 0, MPI_INT, left, pending_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }

  /// Rank 1 receives before it calls: rank 0 can only end if it progresses inside the collective.
  void received_before(Collective c, const papcoll::Algorithm& a, bool non_blocking) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (comm_.rank() == 0) send(request);
    if (comm_.rank() == 1) {
      std::this_thread::sleep_for(late);
      receive();
    }
    call(c, a, non_blocking);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

  /// Rank 1 receives after it has called, and another rank is late.
  void received_after(Collective c, const papcoll::Algorithm& a, bool non_blocking) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (comm_.rank() == 0) send(request);
    if (comm_.rank() == comm_.size() - 1) std::this_thread::sleep_for(late);
    call(c, a, non_blocking);
    if (comm_.rank() == 1) receive();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

  papcoll::Communicator& comm() { return comm_; }
  bool failed() const { return failed_; }

 private:
  static constexpr int pending_tag = 77;
  static constexpr int message_tag = 5;

  void send(MPI_Request& request) {
    std::fill(message_.begin(), message_.end(), static_cast<char>(++sent_));
    MPI_Isend(message_.data(), static_cast<int>(message_bytes), MPI_CHAR, 1, message_tag,
              MPI_COMM_WORLD, &request);
  }
  void receive() {
    MPI_Recv(message_.data(), static_cast<int>(message_bytes), MPI_CHAR, 0, message_tag,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const char wanted = static_cast<char>(++sent_);
    const char* const first = message_.data();  // each is as the one before it
    if (*first != wanted || std::memcmp(first, first + 1, message_bytes - 1) != 0) {
      complain("the message");
    }
  }

  void call(Collective c, const papcoll::Algorithm& a, bool non_blocking) {
    const int size = comm_.size();
    const int rank = comm_.rank();
    const papcoll::root root{1};
    std::vector<int> part(elements, rank + 1);
    std::vector<int> whole(elements * static_cast<std::size_t>(size), rank + 1);
    std::vector<int> result(part.size());
    const int sum = size * (size + 1) / 2;
    const auto end = [&](papcoll::Request r) { r.wait(); };
    switch (c) {
      case Collective::allreduce:
        if (non_blocking) {
          end(papcoll::iallreduce(comm_, part, papcoll::sum, a));
        } else {
          papcoll::allreduce(comm_, part, papcoll::sum, a);
        }
        return expect(part, sum);
      case Collective::reduce:
        if (non_blocking) {
          end(papcoll::ireduce(comm_, part, root, papcoll::sum, a));
        } else {
          papcoll::reduce(comm_, part, root, papcoll::sum, a);
        }
        return expect(part, rank == root.rank ? sum : rank + 1);
      case Collective::bcast:
        if (non_blocking) {
          end(papcoll::ibcast(comm_, part, root, a));
        } else {
          papcoll::bcast(comm_, part, root, a);
        }
        return expect(part, root.rank + 1);
      case Collective::allgather:
        if (non_blocking) {
          end(papcoll::iallgather(comm_, part, whole, a));
        } else {
          papcoll::allgather(comm_, part, whole, a);
        }
        return expect({whole.end() - elements, whole.end()}, size);
      case Collective::reduce_scatter:
        if (non_blocking) {
          end(papcoll::ireduce_scatter(comm_, whole, result, papcoll::sum, a));
        } else {
          papcoll::reduce_scatter(comm_, whole, result, papcoll::sum, a);
        }
        return expect(result, sum);
      case Collective::gather:
        if (non_blocking) {
          end(papcoll::igather(comm_, part, whole, root, a));
        } else {
          papcoll::gather(comm_, part, whole, root, a);
        }
        return expect({whole.end() - elements, whole.end()}, rank == root.rank ? size : rank + 1);
      case Collective::scatter:
        if (non_blocking) {
          end(papcoll::iscatter(comm_, whole, result, root, a));
        } else {
          papcoll::scatter(comm_, whole, result, root, a);
        }
        return expect(result, root.rank + 1);
      case Collective::alltoall: {
        std::vector<int> all(whole.size());
        if (non_blocking) {
          end(papcoll::ialltoall(comm_, whole, all, a));
        } else {
          papcoll::alltoall(comm_, whole, all, a);
        }
        return expect({all.end() - elements, all.end()}, size);
      }
      case Collective::scan:
        if (non_blocking) {
          end(papcoll::iscan(comm_, part, papcoll::sum, a));
        } else {
          papcoll::scan(comm_, part, papcoll::sum, a);
        }
        return expect(part, (rank + 1) * (rank + 2) / 2);
      case Collective::exscan:
        if (non_blocking) {
          end(papcoll::iexscan(comm_, part, papcoll::sum, a));
        } else {
          papcoll::exscan(comm_, part, papcoll::sum, a);
        }
        return expect(part, rank == 0 ? 1 : rank * (rank + 1) / 2);
      case Collective::barrier:
        if (non_blocking) {
          end(papcoll::ibarrier(comm_, a));
        } else {
          papcoll::barrier(comm_, a);
        }
        return;
    }
  }

  void expect(const std::vector<int>& values, int wanted) {
    for (const int v : values) {
      if (v != wanted) return complain("a result");
    }
  }
  void complain(const char* what) {
    failed_ = true;
    std::printf("rank %d: %s is wrong\n", comm_.rank(), what);
  }

  static constexpr int elements = 5;

  papcoll::Communicator comm_;
  std::vector<char> message_;
  MPI_Request last_ = MPI_REQUEST_NULL;
  int sent_ = 0;
  bool failed_ = false;
};

constexpr std::array collectives{
    Collective::allreduce,      Collective::reduce, Collective::bcast,   Collective::allgather,
    Collective::reduce_scatter, Collective::gather, Collective::scatter, Collective::barrier,
    Collective::alltoall,       Collective::scan,   Collective::exscan};

/// Every algorithm on every transport that serves processes, for one collective each: what differs
/// between collectives is who talks to whom, not how one waits.
void run_all(Program& program) {
  std::size_t turn = 0;
  for (const char* transport : {"ShmTransport", "MpiTransport"}) {
    for (const papcoll::CatalogueRow& row : papcoll::catalogue()) {
      if (row.is_hierarchical) continue;
      if (row.algorithm != nullptr && transport != std::string{"ShmTransport"}) continue;
      const papcoll::Algorithm a =
          papcoll::algorithm(std::string{row.name} + "+" + std::string{transport});
      // Another one each time, so that all collectives have their turn.
      while (!row.serves(collectives[turn % collectives.size()])) ++turn;
      const Collective c = collectives[turn++ % collectives.size()];
      if (program.comm().rank() == 0) {
        std::printf("%s: %s\n", std::string{a.name()}.c_str(), std::string{name_of(c)}.c_str());
        std::fflush(stdout);
      }
      program.received_before(c, a, false);
      if (row.algorithm == nullptr) program.received_before(c, a, true);
    }
  }
  for (const Collective c : collectives) {
    program.received_before(c, {}, false);
    program.received_after(c, {}, false);
    program.received_after(c, {}, true);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool failed = false;
  {
    Program program;
    run_all(program);
    program.finish();
    failed = program.failed();
  }
  MPI_Finalize();
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
