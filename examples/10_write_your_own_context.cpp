// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// A call context of our own: what arrival-driven algorithms read and write lies in memory that we
// choose. Here it is a file that every rank maps, and the program reads the contributions back from
// it. On hugetlbfs the same lines give huge pages, on a file system of persistent memory what
// survives.
//
//     mpirun -n 3 ./10_write_your_own_context

#include <papcoll/algorithms/arrival/all.hpp>
#include <papcoll/node/forwarding_context.hpp>
#include <papcoll/papcoll.hpp>
#include <papcoll/transport/transport.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

std::string path;  // of the file, agreed upon in main()

// One rank's call context. ForwardingContext hands all that an algorithm asks to papcoll's own call
// context, which also compares calls; we declare again what we do otherwise: where chunks of data
// lie.
class FileContext final : public papcoll::ForwardingContext {
 public:
  explicit FileContext(papcoll::NodeContext& node) : ForwardingContext(node) {
    // All ranks open the same file and give it the same size, so nobody has to be the first.
    const int file = open(path.c_str(), O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes())) != 0) give_up("make");
    void* const data = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (data == MAP_FAILED) give_up("map");
    data_ = static_cast<std::byte*>(data);
  }
  FileContext(const FileContext&) = delete;
  FileContext& operator=(const FileContext&) = delete;
  ~FileContext() { munmap(data_, bytes()); }

  std::byte* chunk_buffer(int rank, std::uint32_t chunk) noexcept { return buffer(rank, chunk); }
  std::byte* result_buffer(std::uint32_t chunk) noexcept { return buffer(size(), chunk); }

 private:
  // A slow rank may still read chunks of one call while others are in the next: each of
  // `epoch_slots` calls has buffers of its own, for each rank and for the result.
  std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(epoch_slots) * epoch_slot_bytes();
  }
  std::size_t epoch_slot_bytes() const noexcept {
    return (static_cast<std::size_t>(size()) + 1) * buffers() * chunk_bytes();
  }
  std::byte* buffer(int owner, std::uint32_t chunk) const noexcept {
    const std::size_t number = static_cast<std::size_t>(owner) * buffers() + chunk % buffers();
    return data_ + static_cast<std::size_t>(epoch_slot()) * epoch_slot_bytes() +
           number * chunk_bytes();
  }
  [[noreturn]] static void give_up(const char* what) {
    throw papcoll::system_error("cannot " + std::string(what) + " " + path, errno);
  }

  std::byte* data_ = nullptr;
};

// The policy is that of a transport: see 07. It offers node memory, and so it names its type of
// call context, and says how a rank's is made, which all ranks do at their first call that needs
// it.
struct FileTransport {
  using policy_kind = papcoll::TransportPolicyKind;
  static constexpr std::string_view name = "FileTransport";
  static constexpr unsigned offers = papcoll::capability::node_memory;
  static constexpr bool wakes_receivers = papcoll::ShmTransport::wakes_receivers;
  static std::string unavailable(const papcoll::TeamEnvironment& team) {
    return papcoll::ShmTransport::unavailable(team);
  }
  // Static schedules pass messages, and these go as they do over ShmTransport.
  static std::unique_ptr<papcoll::Endpoint> connect(const papcoll::TeamEnvironment& team) {
    return papcoll::ShmTransport::connect(team);
  }

  using Context = FileContext;
  static std::unique_ptr<Context> make_context(const papcoll::TeamEnvironment&,
                                               papcoll::NodeContext& node) {
    return std::make_unique<Context>(node);
  }
};
static_assert(papcoll::ProvidesCallContext<FileTransport>);

// How many of the file's numbers are this one?
std::ptrdiff_t in_file(double number) {
  std::ifstream file(path, std::ios::binary);
  std::vector<double> all(std::filesystem::file_size(path) / sizeof number);
  file.read(reinterpret_cast<char*>(all.data()),
            static_cast<std::streamsize>(all.size() * sizeof number));
  return std::count(all.begin(), all.end(), number);
}

constexpr std::size_t count = 3000;

// Each algorithm contributes numbers of its own, to find them again.
template <class... Policies>
bool run(papcoll::Communicator& comm, std::string_view what, double number) {
  std::vector<double> data(count, number);
  papcoll::allreduce<Policies..., FileTransport>(comm, data);
  papcoll::barrier(comm);  // nobody writes to the file while it is read
  // MultiLeader writes results over contributions that it has read.
  const std::ptrdiff_t found = in_file(number) + in_file(comm.size() * number);
  papcoll::barrier(comm);
  if (comm.rank() == 0) {
    std::printf("%-14s %5td contributions and results are in the file\n", what.data(), found);
  }
  // A rank that leads combines its own contribution from where it is.
  const auto expected = static_cast<std::ptrdiff_t>(count) * (comm.size() - 1);
  return data.front() == comm.size() * number && data.back() == data.front() && found >= expected;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool right = false;
  std::string directory = std::filesystem::temp_directory_path() / "papcoll-XXXXXX";
  {
    papcoll::Communicator comm{MPI_COMM_WORLD};
    if (comm.rank() == 0 && mkdtemp(directory.data()) == nullptr) MPI_Abort(MPI_COMM_WORLD, 1);
    papcoll::bcast(comm, directory, papcoll::root{0});
    path = directory + "/contributions";
    right = run<papcoll::DynamicLeader>(comm, "DynamicLeader", 0.5);
    right &= run<papcoll::Exchange>(comm, "Exchange", 0.25);
    right &= run<papcoll::MultiLeader>(comm, "MultiLeader", 0.125);
    // Over papcoll's own transport none of it goes to the file.
    std::vector<double> data(count, 0.0625);
    papcoll::allreduce<papcoll::Exchange, papcoll::ShmTransport>(comm, data);
    right &= data.front() == comm.size() * 0.0625 && in_file(0.0625) == 0;
    papcoll::barrier(comm);
    if (comm.rank() == 0) std::filesystem::remove_all(directory);
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
