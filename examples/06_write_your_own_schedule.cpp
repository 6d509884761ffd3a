// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// A schedule of our own: a type that says who exchanges what with whom. papcoll derives the rest
// from it: dependencies, the non-blocking form, every transport, and a proof that it is right.
//
//     mpirun -n 4 ./06_write_your_own_schedule

#include <papcoll/papcoll.hpp>
#include <papcoll/verify/sweep.hpp>

#include <cstdio>
#include <string_view>
#include <vector>

// The example: partial results run from both ends of a line of ranks to its middle, where they
// meet; the result runs back to both ends. Half as many steps as a chain, and always in rank order.
//
//     P = 5       0 → 1 → 2 ← 3 ← 4      reduce
//                 0 ← 1 ← 2 → 3 → 4      broadcast

// Required members: policy_kind, name, sentence, commutative_only, and an emit() for each
// collective that it serves. A schedule is a regular value; members would be its parameters.
struct MeetInTheMiddle {
  using policy_kind = papcoll::SchedulePolicyKind;
  static constexpr std::string_view name = "MeetInTheMiddle";
  static constexpr std::string_view sentence = "Partial results meet in the middle of a line.";
  static constexpr bool commutative_only = false;  // combines in rank order: any operator will do

  // Writes the steps of one position; the same text serves all. It must be right when every
  // position runs its steps one after the other; papcoll finds out which of them may overlap.
  void emit(papcoll::Allreduce, papcoll::Builder& b) const {
    const int me = b.position();
    const int middle = b.size() / 2;
    const bool left_of_me = me > 0 && me <= middle;
    const bool right_of_me = me < b.size() - 1 && me >= middle;
    const int inward = me < middle ? me + 1 : me - 1;

    // reduce(): receive a partial result and combine it with mine, the lower position first.
    if (left_of_me) b.reduce(me - 1, b.whole());
    if (right_of_me) b.reduce(me + 1, b.whole());
    if (me != middle) {
      b.send(inward, b.whole());
      b.receive(inward, b.whole());
    }
    if (left_of_me) b.send(me - 1, b.whole());
    if (right_of_me) b.send(me + 1, b.whole());
  }

  // Optional: in blocks of 8 KB, several of which are under way at once. A long vector then flows
  // through the line as through a pipe.
  std::size_t segment(int /*size*/, std::size_t element_size) const {
    return element_size < 8192 ? 8192 / element_size : 1;
  }

  friend bool operator==(const MeetInTheMiddle&, const MeetInTheMiddle&) = default;
};

// The same with a slip: the middle forgets its right neighbour.
struct Forgetful : MeetInTheMiddle {
  static constexpr std::string_view name = "Forgetful";
  void emit(papcoll::Allreduce, papcoll::Builder& b) const {
    if (b.position() != b.size() / 2) return MeetInTheMiddle{}.emit(papcoll::Allreduce{}, b);
    if (b.position() > 0) b.reduce(b.position() - 1, b.whole());
    if (b.position() > 0) b.send(b.position() - 1, b.whole());
  }
};

namespace {

// The verifier runs the plans of all ranks together, without MPI, and proves for each case that
// every element gets each contribution once and in order, that nothing is overwritten too early,
// and that no timing can make it hang.
papcoll::Proof prove(const papcoll::AnySchedule& schedule) {
  return papcoll::verify_up_to(schedule, papcoll::Collective::allreduce, 24, [](int) {});
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  papcoll::Communicator comm{MPI_COMM_WORLD};
  const int size = comm.size();
  bool right = true;

  if (comm.rank() == 0) {
    const papcoll::Proof proof = prove(MeetInTheMiddle{});
    right &= bool{proof};
    std::printf("%s: %zu cases with 1 to 24 ranks: %s\n", MeetInTheMiddle::name.data(), proof.cases,
                proof ? "proven" : proof.verdict.sentence.c_str());
    const papcoll::Proof refuted = prove(Forgetful{});
    right &= !refuted;
    std::printf("%s: %s:\n    %s\n", Forgetful::name.data(), describe(refuted.shape).c_str(),
                refuted.verdict.sentence.c_str());
  }

  // Now for real. It is a policy like any other.
  std::vector<double> data(100000, comm.rank());
  papcoll::allreduce<MeetInTheMiddle>(comm, data);
  right &= data.front() == size * (size - 1) / 2.0 && data.back() == data.front();

  std::vector<int> more(5, 1);
  papcoll::Request request =
      papcoll::iallreduce<MeetInTheMiddle, papcoll::MpiTransport>(comm, more);
  request.wait();
  right &= more.back() == size;
  if (comm.rank() == 0)
    std::printf("and run on %d ranks: sum of the ranks %g\n", size, data.back());

  MPI_Finalize();
  return right ? 0 : 1;
}
