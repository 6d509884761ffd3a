// SPDX-License-Identifier: BSD-3-Clause
// ranks: 6
// An allreduce of several nodes by an algorithm of our own: within each node by shared memory, as
// papcoll does it, and among one rank of each node by messages, along a schedule that we write.
//
//     mpirun -n 6 ./19_hierarchy_of_your_own

#include <papcoll/hierarchical.hpp>
#include <papcoll/papcoll.hpp>
#include <papcoll/verify/sweep.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string_view>
#include <vector>

// Nodes in a line, whose links carry as much in each direction as in one alone. So one half of the
// vector is combined from the first node to the last, and the other from the last to the first, at
// the same time; and then both run back.
//
//     first half    0 → 1 → 2     0 ← 1 ← 2
//     second half   0 ← 1 ← 2     0 → 1 → 2
struct BothWays {
  using policy_kind = papcoll::SchedulePolicyKind;
  static constexpr std::string_view name = "BothWays";
  static constexpr std::string_view sentence = "Half of the vector goes each way along a line.";
  static constexpr bool commutative_only = false;

  // Positions are nodes. The text is in order; papcoll finds out that the halves do not wait for
  // each other.
  void emit(papcoll::Allreduce, papcoll::Builder& b) const {
    const int me = b.position();
    along(b, papcoll::part(b.whole(), 0, 2), me - 1, me + 1);
    along(b, papcoll::part(b.whole(), 1, 2), me + 1, me - 1);
  }

  // Pieces of 64 KB, so that all nodes of the line work at once.
  std::size_t segment(int /*size*/, std::size_t element_size) const {
    return std::max<std::size_t>(65536 / element_size, 1);
  }

  friend bool operator==(const BothWays&, const BothWays&) = default;

 private:
  static void along(papcoll::Builder& b, papcoll::Range half, int before, int after) {
    const auto is_there = [&](int position) { return position >= 0 && position < b.size(); };
    if (is_there(before)) b.reduce(before, half);
    if (is_there(after)) {
      b.send(after, half);
      b.receive(after, half);
    }
    if (is_there(before)) b.send(before, half);
  }
};

namespace {

using papcoll::DynamicLeader, papcoll::Hierarchical, papcoll::MpiTransport, papcoll::Policies,
    papcoll::ShmTransport;

// Within a node whoever arrives first combines what the others bring. The first rank of the node
// then has the node's sum, and is the node's position in BothWays.
using NodesInALine =
    Hierarchical<Policies<DynamicLeader, ShmTransport>, Policies<BothWays, MpiTransport>>;

// A node is what shares memory. So that one machine will do here, this says otherwise: ranks 0 and
// 1 are a node, 2 and 3 the next, and so on. Without `groups` the machines are the nodes.
papcoll::Options pairs_as_nodes(int ranks) {
  std::vector<int> node_of(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) node_of[static_cast<std::size_t>(r)] = r / 2;
  papcoll::Options options;
  options.groups = {node_of};
  return options;
}

bool run() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  papcoll::Communicator comm{MPI_COMM_WORLD, pairs_as_nodes(ranks)};

  bool right = true;
  if (comm.rank() == 0) {
    const papcoll::Proof proof =
        papcoll::verify_up_to(BothWays{}, papcoll::Collective::allreduce, 12, [](int) {});
    right = bool{proof};
    std::printf("BothWays: %zu cases with 1 to 12 nodes: %s\n", proof.cases,
                proof ? "proven" : proof.verdict.sentence.c_str());
  }

  std::vector<double> data(100'000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = comm.rank() + static_cast<double>(i);
  papcoll::allreduce<NodesInALine>(comm, data);

  for (std::size_t i = 0; i < data.size(); ++i) {
    const double sum_of_ranks = ranks * (ranks - 1) / 2.0;
    right &= data[i] == sum_of_ranks + ranks * static_cast<double>(i);
  }
  if (comm.rank() == 0) {
    std::printf("%d ranks on %d nodes: the sum is %s\n", ranks, (ranks + 1) / 2,
                right ? "right" : "WRONG");
  }
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool right = false;
  try {
    right = run();
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
