#include "native.hpp"

#include <papcoll/transport/mpi/library.hpp>
#include <papcoll/transport/smpi/simulated_time.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <string_view>

namespace bench {
namespace {

MPI_Datatype datatype(Type type) {
  switch (type) {
    case Type::float64:
      return MPI_DOUBLE;
    case Type::float32:
      return MPI_FLOAT;
    case Type::int32:
      return MPI_INT32_T;
    case Type::int64:
      return MPI_INT64_T;
    case Type::uint8:
      return MPI_UINT8_T;
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op operation(Op op) {
  switch (op) {
    case Op::sum:
      return MPI_SUM;
    case Op::prod:
      return MPI_PROD;
    case Op::min:
      return MPI_MIN;
    case Op::max:
      return MPI_MAX;
  }
  return MPI_OP_NULL;
}

/// What MPI combines with in a simulation, where its own operators take no time.
template <class T, Op op>
void combine(void* in, void* inout, int* n, MPI_Datatype*) {
  const T* const a = static_cast<const T*>(in);
  T* const b = static_cast<T*>(inout);
  for (int i = 0; i < *n; ++i) {
    if constexpr (op == Op::sum) b[i] = static_cast<T>(a[i] + b[i]);
    if constexpr (op == Op::prod) b[i] = static_cast<T>(a[i] * b[i]);
    if constexpr (op == Op::min) b[i] = std::min(a[i], b[i]);
    if constexpr (op == Op::max) b[i] = std::max(a[i], b[i]);
  }
  papcoll::detail::charge_combining(static_cast<std::size_t>(*n) * sizeof(T));
}

MPI_Op charged_operation(Type type, Op op) {
  return with_type(type, [op]<class T>(std::type_identity<T>) {
    constexpr std::array<MPI_User_function*, 4> functions{
        &combine<T, Op::sum>, &combine<T, Op::prod>, &combine<T, Op::min>, &combine<T, Op::max>};
    MPI_Op made = MPI_OP_NULL;  // until the end
    MPI_Op_create(functions[static_cast<std::size_t>(op)], 1, &made);
    return made;
  });
}

}  // namespace

std::function<void()> native_call(const Problem& problem, const Buffers& buffers, MPI_Comm comm) {
  if (problem.count > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw std::invalid_argument(
        fmt::format("{} elements are more than an int can count, as {} does", problem.count,
                    native_name(problem.collective)));
  }
  const int n = static_cast<int>(problem.count);
  const int root = problem.root;
  const MPI_Datatype type = datatype(problem.type);
  const MPI_Op op = papcoll::detail::simulated ? charged_operation(problem.type, problem.op)
                                               : operation(problem.op);
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
    case Collective::allreduce:
      return [=] { MPI_Allreduce(in, out, n, type, op, comm); };
    case Collective::reduce:
      return [=] { MPI_Reduce(sent, collected, n, type, op, root, comm); };
    case Collective::bcast:
      return [=] { MPI_Bcast(out, n, type, root, comm); };
    case Collective::allgather:
      return [=] { MPI_Allgather(in, n, type, out, n, type, comm); };
    case Collective::reduce_scatter:
      return [=] { MPI_Reduce_scatter_block(in, out, n, type, op, comm); };
    case Collective::gather:
      return [=] { MPI_Gather(sent, n, type, collected, n, type, root, comm); };
    case Collective::scatter:
      return [=] { MPI_Scatter(parts, n, type, part, n, type, root, comm); };
    case Collective::barrier:
      return [=] { MPI_Barrier(comm); };
    case Collective::alltoall:
      return [=] { MPI_Alltoall(in, n, type, out, n, type, comm); };
    case Collective::scan:
      return [=] { MPI_Scan(in, out, n, type, op, comm); };
    case Collective::exscan:
      return [=] { MPI_Exscan(in, out, n, type, op, comm); };
  }
  return {};
}

std::string native_name(Collective collective) {
  std::string name{papcoll::name_of(collective)};
  name.front() = static_cast<char>(name.front() - 'a' + 'A');
  const bool equal_blocks = collective == Collective::reduce_scatter;  // without it, of counts
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
