// SPDX-License-Identifier: BSD-3-Clause
#include "candidates/native.hpp"

#include "candidates/native_types.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace bench {
namespace {

/// Copies between non-contiguous elements and a contiguous buffer.
template <class Copy>
void for_each_block(const Layout& layout, std::size_t count, std::size_t element, Copy&& copy) {
  const std::size_t block = layout.block * element;
  const std::size_t stride = layout.stride * element;
  for (std::size_t b = 0; b < count / layout.block; ++b) copy(b * stride, b * block, block);
}

}  // namespace

std::function<void()> native_call(const Problem& problem, const Buffers& buffers, MPI_Comm comm) {
  if (problem.irregular != nullptr) return irregular_native_call(problem, buffers, comm);
  const NativeElements e(problem);
  const int root = problem.root;
  void* const out = buffers.output();
  const void* const in = problem.in_place ? MPI_IN_PLACE : buffers.input();

  // In place, of a rooted collective only the root says so; elsewhere the one buffer is what is
  // sent, or received, and there is no other.
  const bool in_place_elsewhere = problem.in_place && !problem.is_root();
  const bool in_place_here = problem.in_place && problem.is_root();
  const void* const sent = in_place_elsewhere ? out : in;
  void* const collected = in_place_elsewhere ? nullptr : out;
  const void* const parts = in_place_elsewhere ? nullptr : in_place_here ? out : in;
  void* const part = in_place_here ? MPI_IN_PLACE : out;

  // Errors end the program: the communicator keeps MPI_ERRORS_ARE_FATAL.
  switch (problem.collective) {
    case Collective::allreduce: return [=] { MPI_Allreduce(in, out, e.n, e.type, e.op, comm); };
    case Collective::reduce:
      return [=] { MPI_Reduce(sent, collected, e.n, e.type, e.op, root, comm); };
    case Collective::bcast: return [=] { MPI_Bcast(out, e.n, e.type, root, comm); };
    case Collective::allgather:
      return [=] { MPI_Allgather(in, e.n, e.type, out, e.n, e.type, comm); };
    case Collective::reduce_scatter:
      return [=] { MPI_Reduce_scatter_block(in, out, e.n, e.type, e.op, comm); };
    case Collective::gather:
      return [=] { MPI_Gather(sent, e.n, e.type, collected, e.n, e.type, root, comm); };
    case Collective::scatter:
      return [=] { MPI_Scatter(parts, e.n, e.type, part, e.n, e.type, root, comm); };
    case Collective::barrier: return [=] { MPI_Barrier(comm); };
    case Collective::alltoall:
      return [=] { MPI_Alltoall(in, e.n, e.type, out, e.n, e.type, comm); };
    case Collective::scan: return [=] { MPI_Scan(in, out, e.n, e.type, e.op, comm); };
    case Collective::exscan: return [=] { MPI_Exscan(in, out, e.n, e.type, e.op, comm); };
  }
  return {};
}

std::function<void()> packed_native_call(const Problem& problem, const Buffers& buffers,
                                         MPI_Comm comm) {
  Problem dense = problem;
  dense.layout = {};
  const auto packed = std::make_shared<Buffers>(dense, allocate_private);
  const auto call = native_call(dense, *packed, comm);
  const std::byte* const in = buffers.input();
  std::byte* const out = buffers.output();
  const std::size_t element = size_of(problem.type);
  return [=] {
    const Layout& layout = problem.layout;
    // In place, the output is also what is contributed.
    const bool one = dense.input_count() == 0;
    const std::byte* const from = one ? out : in;
    std::byte* const to = one ? packed->output() : packed->input();
    for_each_block(layout, one ? dense.output_count() : dense.input_count(), element,
                   [&](std::size_t place, std::size_t at, std::size_t bytes) {
                     std::memcpy(to + at, from + place, bytes);
                   });
    call();
    for_each_block(layout, dense.output_count(), element,
                   [&](std::size_t place, std::size_t at, std::size_t bytes) {
                     std::memcpy(out + place, packed->output() + at, bytes);
                   });
  };
}

std::string native_name(const Problem& problem) {
  std::string name = problem.name();
  name.front() = static_cast<char>(name.front() - 'a' + 'A');
  const bool equal_blocks = problem.collective == Collective::reduce_scatter;  // else of counts
  return "MPI_" + name + (equal_blocks ? "_block" : "");
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string line(text.data(), static_cast<std::size_t>(length));
  line.resize(std::min(line.find_first_of(",\n"), line.size()));
  std::string words;
  for (const char c : line) {
    const bool blank = c == ' ' || c == '\t';
    if (!blank || (!words.empty() && words.back() != ' ')) words += blank ? ' ' : c;
  }
  constexpr std::string_view superfluous = " Version:";  // MPICH says "MPICH Version:\t4.0.2"
  const std::size_t at = words.find(superfluous);
  if (at != std::string::npos) words.erase(at, superfluous.size());
  return words;
}

}  // namespace bench
