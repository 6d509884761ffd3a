// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// A transport of our own: ranks that share nothing but a directory. A message is a file. It is not
// quick, but it shows all that a transport has to do, and every schedule of papcoll runs over it.
//
//     mpirun -n 3 ./07_write_your_own_transport

#include <papcoll/papcoll.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/transport/transport.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

using papcoll::OpKind, papcoll::TransportOp;

std::string directory;  // agreed upon in main()
int messages = 0;       // sent by this rank

// One rank's end. The engine starts a step as soon as all that it depends on is complete, and calls
// progress() again and again until the call is done. Neither may wait.
class Files final : public papcoll::Endpoint {
 public:
  explicit Files(int rank) : rank_(rank) {}
  // True: the step is complete. False: progress() will report it.
  bool start(const TransportOp& work) override {
    if (work.kind == OpKind::send) send(work);
    if (work.kind == OpKind::receive) awaited_.push_back(work);
    if (work.kind == OpKind::reduce || work.kind == OpKind::copy) papcoll::perform_locally(work);
    return work.kind != OpKind::receive;
  }

  bool progress() override {
    const auto here = std::find_if(awaited_.begin(), awaited_.end(),
                                   [&](const TransportOp& work) { return receive(work); });
    if (here == awaited_.end()) return false;
    const TransportOp work = *here;
    awaited_.erase(here);
    work.owner->complete(work.slot, work.step);  // last: it starts the steps that waited for this
    return true;
  }

  // After a failure: from here on nothing may write to the buffers of a call.
  void abandon() noexcept override { awaited_.clear(); }

 private:
  // Several calls, and several blocks of one, can be under way at once: so all three numbers.
  static std::string name(int from, int to, const TransportOp& work) {
    std::string path = directory + "/" + std::to_string(from) + "-" + std::to_string(to);
    for (auto part : {work.sequence, work.block, work.number}) path += "-" + std::to_string(part);
    return path;
  }

  void send(const TransportOp& work) {
    const std::string path = name(rank_, work.peer, work);
    const std::string unfinished = path + "-unfinished";
    std::ofstream file(unfinished, std::ios::binary);
    file.write(reinterpret_cast<const char*>(work.a), static_cast<std::streamsize>(work.bytes()));
    file.close();
    if (!file) throw papcoll::error("cannot write " + unfinished);
    std::filesystem::rename(unfinished, path);  // a file appears whole or not at all
    ++messages;
  }

  bool receive(const TransportOp& work) const {
    const std::string path = name(work.peer, rank_, work);
    std::ifstream file(path, std::ios::binary);
    if (!file) return false;  // not there yet
    file.read(reinterpret_cast<char*>(work.to), static_cast<std::streamsize>(work.bytes()));
    if (!file) throw papcoll::peer_error(path + " is shorter than this call's message");
    return std::filesystem::remove(path);
  }

  int rank_;
  std::vector<TransportOp> awaited_;
};

// The policy: its name, what it offers beyond messages (nothing), whether a message wakes a
// sleeper (no), why it cannot serve a team (empty if it can), and how a rank's end is made.
struct FileTransport {
  using policy_kind = papcoll::TransportPolicyKind;
  static constexpr std::string_view name = "FileTransport";
  static constexpr unsigned offers = 0;
  static constexpr bool wakes_receivers = false;
  static std::string unavailable(const papcoll::TeamEnvironment&) { return ""; }
  static std::unique_ptr<papcoll::Endpoint> connect(const papcoll::TeamEnvironment& team) {
    return std::make_unique<Files>(team.rank);
  }
};

template <class Schedule> bool run(papcoll::Communicator& comm) {
  messages = 0;
  std::vector<double> data(1000, comm.rank() + 1);
  papcoll::allreduce<Schedule, FileTransport>(comm, data);
  const int sent = papcoll::allreduce(comm, messages);
  if (comm.rank() == 0) std::printf("%-18s %3d files\n", Schedule::name.data(), sent);
  return data.front() == comm.size() * (comm.size() + 1) / 2.0 && data.back() == data.front();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  papcoll::Communicator comm{MPI_COMM_WORLD};
  directory = std::filesystem::temp_directory_path() / "papcoll-XXXXXX";
  if (comm.rank() == 0 && mkdtemp(directory.data()) == nullptr) MPI_Abort(MPI_COMM_WORLD, 1);
  papcoll::bcast(comm, directory, papcoll::root{0});
  bool right = run<papcoll::Rabenseifner>(comm);
  right &= run<papcoll::Ring>(comm);
  papcoll::barrier(comm);
  if (comm.rank() == 0) std::filesystem::remove(directory);  // throws if a message is left over
  MPI_Finalize();
  return right ? 0 : 1;
}
