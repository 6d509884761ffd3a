// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// A wrapper for C: an allreduce whose types and operators are numbers, with an error code instead
// of exceptions. Fortran's bind(c) and Python's ctypes can call the same functions.

#include <papcoll/erased.hpp>
#include <papcoll/papcoll.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

// -- What a C header would declare.

extern "C" {
enum wrapper_type { WRAPPER_INT32, WRAPPER_INT64, WRAPPER_FLOAT, WRAPPER_DOUBLE };
enum wrapper_op { WRAPPER_SUM, WRAPPER_MIN, WRAPPER_MAX, WRAPPER_BAND };

/// `count` elements, every `stride`-th of both buffers; the same buffer twice is in place.
/// 0 if all went well; else wrapper_error() says what did not.
int wrapper_allreduce(const void* in, void* out, std::size_t count, std::size_t stride,
                      enum wrapper_type type, enum wrapper_op op, MPI_Comm comm);
const char* wrapper_error(void);
}

// -- The wrapper.

namespace {

using papcoll::erased::ElementType;
using papcoll::erased::Layout;
using papcoll::erased::Operation;

constexpr std::array types{ElementType::int32, ElementType::int64, ElementType::float32,
                           ElementType::float64};
constexpr std::array operations{Operation::sum, Operation::min, Operation::max, Operation::bit_and};

thread_local std::string last_error;

}  // namespace

int wrapper_allreduce(const void* in, void* out, std::size_t count, std::size_t stride,
                      enum wrapper_type type, enum wrapper_op op, MPI_Comm comm) {
  try {
    const auto combine = papcoll::erased::reducer(types.at(type), operations.at(op));
    const std::size_t size = papcoll::erased::Element{types.at(type)}.numbers().size;
    const Layout layout =
        stride == 1 ? Layout{} : Layout::strided(1, static_cast<std::ptrdiff_t>(stride * size));
    papcoll::erased::allreduce(comm, in, out, count, combine, layout);
    return 0;
  } catch (const std::exception& problem) {
    last_error = problem.what();
    return 1;
  }
}

const char* wrapper_error(void) { return last_error.c_str(); }

// -- A program that knows no templates.

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bool right = true;

  std::int64_t largest = 10 * rank;
  right = right && wrapper_allreduce(&largest, &largest, 1, 1, WRAPPER_INT64, WRAPPER_MAX,
                                     MPI_COMM_WORLD) == 0;
  right = right && largest == 10 * (ranks - 1);

  // The second column of a matrix of three.
  double matrix[4][3] = {};
  for (auto& row : matrix) row[1] = rank + 1;
  right = right && wrapper_allreduce(&matrix[0][1], &matrix[0][1], 4, 3, WRAPPER_DOUBLE,
                                     WRAPPER_SUM, MPI_COMM_WORLD) == 0;
  for (const auto& row : matrix) {
    right = right && row[0] == 0 && row[1] == ranks * (ranks + 1) / 2.0 && row[2] == 0;
  }

  // Bits of floating-point numbers have no meaning: all ranks are told.
  float bits = 1;
  right = right &&
          wrapper_allreduce(&bits, &bits, 1, 1, WRAPPER_FLOAT, WRAPPER_BAND, MPI_COMM_WORLD) != 0;
  if (rank == 0) {
    std::printf("%d ranks: largest %d, column %g\n", ranks, static_cast<int>(largest),
                matrix[0][1]);
    std::printf("refused: %s\n", wrapper_error());
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
