// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/communicator.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/runtime/setup/machine_of_ranks.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/topology/network_file.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "catch.hpp"
#include "own_comm.hpp"

namespace {

papcoll::Options with_machine(papcoll::MachineSource machine) {
  papcoll::Options options;
  options.deadline = std::chrono::seconds{30};
  options.machine = std::move(machine);
  return options;
}

std::string what_is_said(MPI_Comm comm, const papcoll::Options& options) {
  try {
    papcoll::Communicator{comm, options};
  } catch (const papcoll::argument_error& e) {
    return e.what();
  }
  return "nothing";
}

bool says(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

/// A file that rank 0 has, and no other.
class FileOfRank0 {
 public:
  FileOfRank0(const OwnComm& own, const std::string& text)
      : name_("/tmp/papcoll-machine-test-" + std::to_string(getpid())), mine_(own.rank() == 0) {
    if (!mine_) return;
    std::FILE* const file = std::fopen(name_.c_str(), "we");
    REQUIRE(file != nullptr);
    std::fputs(text.c_str(), file);
    std::fclose(file);
  }
  FileOfRank0(const FileOfRank0&) = delete;
  FileOfRank0& operator=(const FileOfRank0&) = delete;
  ~FileOfRank0() {
    if (mine_) std::remove(name_.c_str());
  }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  bool mine_;
};

/// All ranks' hosts, and another node, on one switch.
std::string network_of_hosts(const OwnComm& own) {
  using Host = std::array<char, 256>;
  Host mine{};
  gethostname(mine.data(), mine.size() - 1);
  std::vector<Host> hosts(static_cast<std::size_t>(own.size()));
  MPI_Allgather(mine.data(), static_cast<int>(mine.size()), MPI_CHAR, hosts.data(),
                static_cast<int>(mine.size()), MPI_CHAR, own.get());
  std::string text = "switch s\nnode elsewhere\nlink elsewhere s\n";
  for (auto h = hosts.begin(); h != hosts.end(); ++h) {
    if (std::find(hosts.begin(), h, *h) != h) continue;
    text += std::string("node ") + h->data() + "\nlink " + h->data() + " s\n";
  }
  return text;
}

}  // namespace

TEST_CASE("every rank knows where all sit", "[topology]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), with_machine({})};
  REQUIRE(comm.core().environment().machine != nullptr);
  const papcoll::Machine* const machine = &comm.core().environment().machine->get();
  CHECK(machine->size() == own.size());
  CHECK(machine->source == "Linux");
  CHECK(machine->network().nodes() == comm.nodes());
  CHECK(machine->order(own.size() - 1).front() == own.size() - 1);
}

TEST_CASE("a description of too few places is refused on all ranks", "[topology]") {
  const OwnComm own;
  if (own.size() < 2) return;
  const auto few = papcoll::Machine::of_cores(1, 1, 1, 1);
  CHECK(says(what_is_said(own.get(), with_machine(few)), "it has 1 places for"));
  CHECK(what_is_said(own.get(), with_machine(papcoll::Machine::of_cores(1, 1, 1, own.size()))) ==
        "nothing");  // the communicator can still be made
}

TEST_CASE("descriptions that differ are refused on all ranks", "[topology]") {
  const OwnComm own;
  if (own.size() < 2) return;
  const int nodes = own.rank() == 0 ? 1 : 2;
  const auto mine = papcoll::Machine::of_cores(nodes, 1, 1, own.size());
  CHECK(says(what_is_said(own.get(), with_machine(mine)), "they differ from those of rank 0"));
}

TEST_CASE("a network file is read on rank 0 and told to all", "[topology]") {
  const OwnComm own;
  // All ranks pass the same name, but only rank 0's file is there.
  std::array<char, 64> name{};
  const FileOfRank0 file{own, network_of_hosts(own)};
  file.name().copy(name.data(), name.size() - 1);
  MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, own.get());
  papcoll::Communicator comm{own.get(), with_machine(papcoll::network_file(name.data()))};
  const papcoll::Machine* const machine = &comm.core().environment().machine->get();
  CHECK(says(machine->source, "Linux, and "));
  CHECK(machine->size() == own.size());
}

TEST_CASE("hosts that a network file does not name count as on one switch", "[topology]") {
  const OwnComm own;
  std::array<char, 64> name{};
  const FileOfRank0 file{own, "node elsewhere\nswitch s\nlink elsewhere s\n"};
  file.name().copy(name.data(), name.size() - 1);
  MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, own.get());
  papcoll::Communicator comm{own.get(), with_machine(papcoll::network_file(name.data()))};
  CHECK(says(comm.core().environment().machine->get().source, "does not name the host of rank 0"));
}

TEST_CASE("a network file that cannot be read is refused on all ranks", "[topology]") {
  const OwnComm own;
  const std::string text =
      what_is_said(own.get(), with_machine(papcoll::network_file("/no/such/file")));
  CHECK(says(text, "machine: rank 0: "));
  CHECK(says(text, "/no/such/file"));
}
