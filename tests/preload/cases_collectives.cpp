// SPDX-License-Identifier: BSD-3-Clause
// Every collective in every form, against results that each rank computes for itself. An argument
// leaves out what MPICH itself cannot do.

#include "checks.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace {

int rank = 0;
int size = 1;
MPI_Comm comm = MPI_COMM_NULL;
/// By the MPI library's own. MPICH 4.0.2 crashes in a reduce in place whose root is not rank 0, and
/// what MPI makes of NaNs depends on their order.
bool by_mpi_itself = false;
bool may_be_in_place(int root) { return root == 0 || !by_mpi_itself; }

/// What rank r has at place i.
long value(int r, std::size_t i) { return r * 1000 + static_cast<long>(i % 997) + 1; }
long sum(std::size_t i) {
  long s = 0;
  for (int r = 0; r < size; ++r) s += value(r, i);
  return s;
}

template <class T> std::vector<T> input(std::size_t n) {
  std::vector<T> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(value(rank, i));
  return x;
}

/// One element in four ints, at the second and fourth: a gap before and between.
MPI_Datatype gapped() {
  int lengths[2] = {1, 1};
  MPI_Aint places[2] = {4, 12};
  MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  MPI_Datatype t = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths, places, types, &t);
  MPI_Datatype resized = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(t, 0, 16, &resized);
  MPI_Type_free(&t);
  MPI_Type_commit(&resized);
  return resized;
}

/// Two ints in the other order: the size and the extent of two ints.
MPI_Datatype permuted() {
  int places[2] = {1, 0};
  MPI_Datatype t = MPI_DATATYPE_NULL;
  MPI_Type_create_indexed_block(2, 1, places, MPI_INT, &t);
  MPI_Type_commit(&t);
  return t;
}

int calls_of_nothing = 0;
void combine_nothing(void* /*in*/, void* /*inout*/, int* /*n*/, MPI_Datatype* /*type*/) {
  ++calls_of_nothing;
}

/// Elements without a byte, which operators of the program may be for.
void elements_of_nothing() {
  MPI_Datatype nothing = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(0, MPI_INT, &nothing);
  MPI_Type_commit(&nothing);
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(combine_nothing, 1, &op);
  int in = 1;
  int out = 2;
  for (const int n : {0, 1, 5}) {
    CHECK(MPI_Allreduce(&in, &out, n, nothing, op, comm) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(MPI_IN_PLACE, &out, n, nothing, op, comm) == MPI_SUCCESS);
    CHECK(MPI_Reduce(&in, &out, n, nothing, op, size - 1, comm) == MPI_SUCCESS);
    CHECK(MPI_Reduce_scatter_block(&in, &out, n, nothing, op, comm) == MPI_SUCCESS);
    CHECK(MPI_Bcast(&out, n, nothing, 0, comm) == MPI_SUCCESS);
    CHECK(MPI_Gather(&in, n, nothing, &out, 0, MPI_INT, 0, comm) == MPI_SUCCESS);
    CHECK(MPI_Allgather(&in, 0, MPI_INT, &out, n, nothing, comm) == MPI_SUCCESS);
    CHECK(in == 1 && out == 2);
  }
  MPI_Op_free(&op);
  MPI_Type_free(&nothing);
}

#ifndef MPICH  // which refuses some of them
/// Input and output that are not apart: wrong, and done, since MPI libraries that do not look
/// give the results that are meant.
void own_blocks_in_place(std::size_t n) {
  const int count = static_cast<int>(n);
  const auto at = [n](int r) { return static_cast<std::ptrdiff_t>(n) * r; };
  std::vector<long> all(n * static_cast<std::size_t>(size));
  const auto put_own = [&] {
    all.assign(all.size(), -1);
    for (std::size_t i = 0; i < n; ++i)
      all[static_cast<std::size_t>(at(rank)) + i] = value(rank, i);
  };
  const auto has = [&](int r) {
    for (std::size_t i = 0; i < n; ++i) {
      if (all[static_cast<std::size_t>(at(r)) + i] != value(r, i)) return false;
    }
    return true;
  };
  put_own();
  MPI_Allgather(all.data() + at(rank), count, MPI_LONG, all.data(), count, MPI_LONG, comm);
  for (int r = 0; r < size; ++r) CHECK(has(r));
  for (int root = 0; root < size; ++root) {
    put_own();
    MPI_Gather(all.data() + at(rank), count, MPI_LONG, all.data(), count, MPI_LONG, root, comm);
    for (int r = 0; r < size; ++r) CHECK(rank != root || has(r));
    MPI_Scatter(all.data(), count, MPI_LONG, all.data() + at(rank), count, MPI_LONG, root, comm);
    CHECK(has(rank));
  }
  all = input<long>(all.size());
  MPI_Reduce_scatter_block(all.data(), all.data() + at(rank), count, MPI_LONG, MPI_SUM, comm);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t place = static_cast<std::size_t>(at(rank)) + i;
    CHECK(all[place] == sum(place));
  }
}
#endif

void reductions(std::size_t n) {
  const std::vector<long> in = input<long>(n);
  const int count = static_cast<int>(n);
  std::vector<long> out(n, -1);
  MPI_Allreduce(in.data(), out.data(), count, MPI_LONG, MPI_SUM, comm);
  for (std::size_t i = 0; i < n; ++i) CHECK(out[i] == sum(i));
  out = in;
  MPI_Allreduce(MPI_IN_PLACE, out.data(), count, MPI_LONG, MPI_MAX, comm);
  for (std::size_t i = 0; i < n; ++i) CHECK(out[i] == value(size - 1, i));
  for (int root = 0; root < size; ++root) {
    out.assign(n, -1);
    MPI_Reduce(in.data(), rank == root ? out.data() : nullptr, count, MPI_LONG, MPI_SUM, root,
               comm);
    for (std::size_t i = 0; i < n; ++i) CHECK(out[i] == (rank == root ? sum(i) : -1));
    out = in;
    if (!may_be_in_place(root)) continue;
    if (rank == root) {
      MPI_Reduce(MPI_IN_PLACE, out.data(), count, MPI_LONG, MPI_MIN, root, comm);
      for (std::size_t i = 0; i < n; ++i) CHECK(out[i] == value(0, i));
    } else {
      MPI_Reduce(out.data(), nullptr, count, MPI_LONG, MPI_MIN, root, comm);
    }
  }
}

void scattered_reductions(std::size_t n) {
  const auto p = static_cast<std::size_t>(size);
  const std::vector<long> in = input<long>(n * p);
  const int count = static_cast<int>(n);
  const std::size_t first = n * static_cast<std::size_t>(rank);
  std::vector<long> out(n, -1);
  MPI_Reduce_scatter_block(in.data(), out.data(), count, MPI_LONG, MPI_SUM, comm);
  for (std::size_t i = 0; i < n; ++i) CHECK(out[i] == sum(first + i));
  out = in;
  MPI_Reduce_scatter_block(MPI_IN_PLACE, out.data(), count, MPI_LONG, MPI_SUM, comm);
  for (std::size_t i = 0; i < n; ++i) CHECK(out[i] == sum(first + i));

  // Blocks that differ, one of them empty.
  std::vector<int> counts(p);
  std::size_t total = 0;
  std::size_t own_first = 0;
  for (std::size_t r = 0; r < p; ++r) {
    counts[r] = static_cast<int>(r == 1 ? 0 : n + r);
    if (static_cast<int>(r) < rank) own_first += static_cast<std::size_t>(counts[r]);
    total += static_cast<std::size_t>(counts[r]);
  }
  const std::vector<long> uneven = input<long>(total);
  const auto own = static_cast<std::size_t>(counts[static_cast<std::size_t>(rank)]);
  out.assign(own + 1, -1);
  MPI_Reduce_scatter(uneven.data(), out.data(), counts.data(), MPI_LONG, MPI_SUM, comm);
  for (std::size_t i = 0; i < own; ++i) CHECK(out[i] == sum(own_first + i));
  CHECK(out[own] == -1);
  out = uneven;
  MPI_Reduce_scatter(MPI_IN_PLACE, out.data(), counts.data(), MPI_LONG, MPI_SUM, comm);
  for (std::size_t i = 0; i < own; ++i) CHECK(out[i] == sum(own_first + i));
  counts.assign(p, count);
  out.assign(n, -1);
  MPI_Reduce_scatter(in.data(), out.data(), counts.data(), MPI_LONG, MPI_SUM, comm);
  for (std::size_t i = 0; i < n; ++i) CHECK(out[i] == sum(first + i));
}

void movements(std::size_t n) {
  const auto p = static_cast<std::size_t>(size);
  const int count = static_cast<int>(n);
  const std::vector<int> in = input<int>(n);
  for (int root = 0; root < size; ++root) {
    std::vector<int> data = in;
    MPI_Bcast(data.data(), count, MPI_INT, root, comm);
    for (std::size_t i = 0; i < n; ++i) CHECK(data[i] == value(root, i));
  }
  std::vector<int> all(n * p, -1);
  const auto are_all_there = [&] {
    for (std::size_t r = 0; r < p; ++r) {
      for (std::size_t i = 0; i < n; ++i) CHECK(all[r * n + i] == value(static_cast<int>(r), i));
    }
  };
  const std::size_t own = static_cast<std::size_t>(rank) * n;
  MPI_Allgather(in.data(), count, MPI_INT, all.data(), count, MPI_INT, comm);
  are_all_there();
  all.assign(n * p, -1);
  std::memcpy(all.data() + own, in.data(), n * sizeof(int));
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), count, MPI_INT, comm);
  are_all_there();
  for (int root = 0; root < size; ++root) {
    all.assign(n * p, -1);
    MPI_Gather(in.data(), count, MPI_INT, rank == root ? all.data() : nullptr, count, MPI_INT, root,
               comm);
    if (rank == root) are_all_there();
    all.assign(n * p, -1);
    std::memcpy(all.data() + own, in.data(), n * sizeof(int));
    if (rank == root) {
      MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), count, MPI_INT, root, comm);
      are_all_there();
    } else {
      MPI_Gather(in.data(), count, MPI_INT, nullptr, 0, MPI_DATATYPE_NULL, root, comm);
    }
    const std::vector<int> blocks = input<int>(n * p);
    std::vector<int> block(n, -1);
    MPI_Scatter(rank == root ? blocks.data() : nullptr, count, MPI_INT, block.data(), count,
                MPI_INT, root, comm);
    for (std::size_t i = 0; i < n; ++i) CHECK(block[i] == value(root, own + i));
    block.assign(n, -1);
    if (rank == root) {
      MPI_Scatter(blocks.data(), count, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, comm);
    } else {
      MPI_Scatter(nullptr, 0, MPI_DATATYPE_NULL, block.data(), count, MPI_INT, root, comm);
      for (std::size_t i = 0; i < n; ++i) CHECK(block[i] == value(root, own + i));
    }
  }
}

/// Ranks describe the same bytes by different types, with gaps that keep what they hold.
void layouts(std::size_t n) {
  const auto p = static_cast<std::size_t>(size);
  const MPI_Datatype with_gaps = gapped();
  const MPI_Datatype swapped = permuted();
  const int count = static_cast<int>(n);
  for (int root = 0; root < size; ++root) {
    // Ints at the root; elsewhere with gaps, or swapped.
    std::vector<int> data(4 * n, -7);
    if (rank == root) {
      for (std::size_t i = 0; i < 2 * n; ++i) data[i] = static_cast<int>(value(root, i));
      MPI_Bcast(data.data(), 2 * count, MPI_INT, root, comm);
    } else if (rank % 2 == 0) {
      MPI_Bcast(data.data(), count, with_gaps, root, comm);
      for (std::size_t i = 0; i < n; ++i) {
        CHECK(data[4 * i] == -7 && data[4 * i + 2] == -7);
        CHECK(data[4 * i + 1] == value(root, 2 * i));
        CHECK(data[4 * i + 3] == value(root, 2 * i + 1));
      }
    } else {
      MPI_Bcast(data.data(), count, swapped, root, comm);
      for (std::size_t i = 0; i < n; ++i) {
        CHECK(data[2 * i + 1] == value(root, 2 * i) && data[2 * i] == value(root, 2 * i + 1));
      }
    }
  }
  // From elements with gaps into swapped ones.
  std::vector<int> in(4 * n, -7);
  for (std::size_t i = 0; i < n; ++i) {
    in[4 * i + 1] = static_cast<int>(value(rank, 2 * i));
    in[4 * i + 3] = static_cast<int>(value(rank, 2 * i + 1));
  }
  std::vector<int> all(2 * n * p, -1);
  const auto are_swapped = [&] {
    for (std::size_t r = 0; r < p; ++r) {
      const int* const block = all.data() + 2 * n * r;
      for (std::size_t i = 0; i < n; ++i) {
        CHECK(block[2 * i + 1] == value(static_cast<int>(r), 2 * i));
        CHECK(block[2 * i] == value(static_cast<int>(r), 2 * i + 1));
      }
    }
  };
  MPI_Allgather(in.data(), count, with_gaps, all.data(), count, swapped, comm);
  are_swapped();
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, all.data(), count, swapped, comm);
  are_swapped();
  for (int root = 0; root < size; ++root) {
    all.assign(all.size(), -1);
    MPI_Gather(in.data(), count, with_gaps, all.data(), count, swapped, root, comm);
    if (rank == root) are_swapped();
    // And back: each rank gets its block.
    std::vector<int> back(4 * n, -7);
    MPI_Scatter(all.data(), count, swapped, back.data(), count, with_gaps, root, comm);
    if (root == 0) MPI_Bcast(all.data(), 2 * count * size, MPI_INT, root, comm);
    CHECK(back == in);
  }
  // Absolute addresses.
  std::vector<long> absolute = input<long>(n);
  MPI_Aint address = 0;
  MPI_Get_address(absolute.data(), &address);
  const int length = count;
  MPI_Datatype there = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(1, &length, &address, MPI_LONG, &there);
  MPI_Type_commit(&there);
  MPI_Bcast(MPI_BOTTOM, 1, there, size - 1, comm);
  for (std::size_t i = 0; i < n; ++i) CHECK(absolute[i] == value(size - 1, i));
  MPI_Datatype t = with_gaps;
  MPI_Type_free(&t);
  t = swapped;
  MPI_Type_free(&t);
  MPI_Type_free(&there);
}

struct DoubleInt {
  double x;
  int i;
};
struct ShortInt {
  short x;
  int i;
};

/// 2 by 2 matrices, whose product does not commute; modulo a prime, so that it stays exact.
struct Matrix {
  long a[4];
  friend bool operator==(const Matrix& x, const Matrix& y) {
    return std::memcmp(&x, &y, sizeof x) == 0;
  }
};
Matrix product(const Matrix& x, const Matrix& y) {
  constexpr long m = 1000003;
  return {{(x.a[0] * y.a[0] + x.a[1] * y.a[2]) % m, (x.a[0] * y.a[1] + x.a[1] * y.a[3]) % m,
           (x.a[2] * y.a[0] + x.a[3] * y.a[2]) % m, (x.a[2] * y.a[1] + x.a[3] * y.a[3]) % m}};
}
void multiply(void* in, void* inout, int* n, MPI_Datatype* /*type*/) {
  auto* const x = static_cast<Matrix*>(in);
  auto* const y = static_cast<Matrix*>(inout);
  for (int i = 0; i < *n; ++i) y[i] = product(x[i], y[i]);
}
/// The same on the type with gaps: a pair (a, b) is x -> a x + b.
void compose(void* in, void* inout, int* n, MPI_Datatype* /*type*/) {
  auto* const x = static_cast<int*>(in);
  auto* const y = static_cast<int*>(inout);
  for (int i = 0; i < *n; ++i) {
    const int a = x[4 * i + 1] * y[4 * i + 1] % 1009;
    const int b = (x[4 * i + 1] * y[4 * i + 3] + x[4 * i + 3]) % 1009;
    y[4 * i + 1] = a;
    y[4 * i + 3] = b;
  }
}

Matrix matrix(int r, std::size_t i) {
  return {{r + 1, static_cast<long>(i) + 2, 3, r + static_cast<long>(i) % 5}};
}

void operators(std::size_t n) {
  const int count = static_cast<int>(n);
  // Pairs, whose gaps stay as they are.
  std::vector<DoubleInt> in(n);
  std::vector<DoubleInt> out(n);
  std::memset(static_cast<void*>(out.data()), 0x5a, n * sizeof(DoubleInt));
  for (std::size_t i = 0; i < n; ++i) in[i] = {static_cast<double>((rank + 3 * i) % 7), rank};
  MPI_Allreduce(in.data(), out.data(), count, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
  for (std::size_t i = 0; i < n; ++i) {
    double best = -1;
    int where = 0;
    for (int r = 0; r < size; ++r) {
      const auto x = static_cast<double>((static_cast<std::size_t>(r) + 3 * i) % 7);
      if (x > best) {
        best = x;
        where = r;
      }
    }
    CHECK(out[i].x == best && out[i].i == where);
    CHECK(reinterpret_cast<const unsigned char*>(&out[i])[13] == 0x5a);
  }
  std::vector<ShortInt> shorts(n);
  std::memset(static_cast<void*>(shorts.data()), 0x5a, n * sizeof(ShortInt));
  for (std::size_t i = 0; i < n; ++i) {
    shorts[i].x = static_cast<short>(size - rank);
    shorts[i].i = rank;
  }
  MPI_Allreduce(MPI_IN_PLACE, shorts.data(), count, MPI_SHORT_INT, MPI_MINLOC, comm);
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(shorts[i].x == 1 && shorts[i].i == size - 1);
    CHECK(reinterpret_cast<const unsigned char*>(&shorts[i])[2] == 0x5a);
  }
  // A long double, a complex number, a boolean.
  const long double x = rank + 1;
  long double y = 0;
  MPI_Allreduce(&x, &y, 1, MPI_LONG_DOUBLE, MPI_SUM, comm);
  CHECK(y == static_cast<long double>(size) * (size + 1) / 2);
  const double z[2] = {static_cast<double>(rank), 1};
  double w[2] = {};
  MPI_Allreduce(z, w, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, comm);
  CHECK(w[0] == size * (size - 1) / 2 && w[1] == size);
  bool b = rank != 0;
  MPI_Allreduce(MPI_IN_PLACE, &b, 1, MPI_C_BOOL, MPI_LAND, comm);
  CHECK(!b);
  const std::uint8_t bits = static_cast<std::uint8_t>(1 << rank);
  std::uint8_t together = 0;
  MPI_Allreduce(&bits, &together, 1, MPI_BYTE, MPI_BOR, comm);
  CHECK(together == (1 << size) - 1);

  // Operators of the program's.
  MPI_Datatype four = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(4, MPI_LONG, &four);
  MPI_Type_commit(&four);
  MPI_Op times = MPI_OP_NULL;
  MPI_Op_create(multiply, 0, &times);
  std::vector<Matrix> m(n);
  std::vector<Matrix> p(n);
  for (std::size_t i = 0; i < n; ++i) m[i] = matrix(rank, i);
  const auto wanted = [](std::size_t i) {
    Matrix r = matrix(0, i);
    for (int k = 1; k < size; ++k) r = product(r, matrix(k, i));
    return r;
  };
  MPI_Allreduce(m.data(), p.data(), count, four, times, comm);
  for (std::size_t i = 0; i < n; ++i) CHECK(p[i] == wanted(i));
  for (int root = 0; root < size; ++root) {
    p = m;
    if (rank == root && may_be_in_place(root)) {
      MPI_Reduce(MPI_IN_PLACE, p.data(), count, four, times, root, comm);
    } else {
      MPI_Reduce(m.data(), p.data(), count, four, times, root, comm);
    }
    for (std::size_t i = 0; i < n && rank == root; ++i) CHECK(p[i] == wanted(i));
  }
  if (n % static_cast<std::size_t>(size) == 0) {
    const std::size_t block = n / static_cast<std::size_t>(size);
    p = m;
    MPI_Reduce_scatter_block(MPI_IN_PLACE, p.data(), static_cast<int>(block), four, times, comm);
    for (std::size_t i = 0; i < block; ++i) {
      CHECK(p[i] == wanted(static_cast<std::size_t>(rank) * block + i));
    }
  }
  MPI_Datatype with_gaps = gapped();
  // The same element, whose lower bound is not where it begins.
  MPI_Datatype shifted = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(with_gaps, -16, 32, &shifted);
  MPI_Type_commit(&shifted);
  MPI_Op composition = MPI_OP_NULL;
  MPI_Op_create(compose, 0, &composition);
  std::vector<int> maps(4 * n, -7);
  std::vector<int> composed(4 * n, -9);
  for (std::size_t i = 0; i < n; ++i) {
    maps[4 * i + 1] = rank + 2;
    maps[4 * i + 3] = rank * 3 + 1 + static_cast<int>(i % 11);
  }
  MPI_Allreduce(maps.data(), composed.data(), count, with_gaps, composition, comm);
  for (std::size_t i = 0; i < n; ++i) {
    int a = 2;
    int c = 1 + static_cast<int>(i % 11);
    for (int r = 1; r < size; ++r) {
      c = (a * (r * 3 + 1 + static_cast<int>(i % 11)) + c) % 1009;
      a = a * (r + 2) % 1009;
    }
    CHECK(composed[4 * i + 1] == a && composed[4 * i + 3] == c);
    CHECK(composed[4 * i] == -9 && composed[4 * i + 2] == -9);
  }
  int one[4] = {-7, rank + 2, -7, rank * 3 + 1};
  int result[4] = {-9, -9, -9, -9};
  MPI_Allreduce(one, result, 1, shifted, composition, comm);
  CHECK(result[1] == (n == 0 ? result[1] : composed[1]) && result[0] == -9 && result[2] == -9);
  MPI_Op_free(&composition);
  MPI_Op_free(&times);
  MPI_Type_free(&shifted);
  MPI_Type_free(&with_gaps);
  MPI_Type_free(&four);
}

/// Whatever the order of the ranks, a NaN is seen, and -0 is less than +0.
template <class T> void extremes(MPI_Datatype type, MPI_Datatype pair_type) {
  struct Pair {
    T value;
    int index;
  };
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (int with_nan = 0; with_nan < size; ++with_nan) {
    for (const MPI_Op op : {MPI_MIN, MPI_MAX}) {
      const T x = rank == with_nan ? -nan : static_cast<T>(3 - rank);
      T y = 0;
      MPI_Allreduce(&x, &y, 1, type, op, comm);
      CHECK(y != y);
    }
    for (const MPI_Op op : {MPI_MINLOC, MPI_MAXLOC}) {
      const Pair x{rank == with_nan ? nan : static_cast<T>(3 - rank), rank};
      Pair y{};
      MPI_Allreduce(&x, &y, 1, pair_type, op, comm);
      CHECK(y.value != y.value && y.index == with_nan);
    }
    const T zero = rank == with_nan ? -T{0} : T{0};
    T least = 1;
    MPI_Allreduce(&zero, &least, 1, type, MPI_MIN, comm);
    CHECK(std::signbit(least));
    const T other = -zero;
    T greatest = 1;
    MPI_Allreduce(&other, &greatest, 1, type, MPI_MAX, comm);
    CHECK(!std::signbit(greatest));
  }
}

#if MPI_VERSION >= 4
void large_counts() {
  const auto p = static_cast<std::size_t>(size);
  const MPI_Count n = 100;
  std::vector<int> in = input<int>(100);
  std::vector<int> out(100 * p, -1);
  MPI_Allreduce_c(in.data(), out.data(), n, MPI_INT, MPI_SUM, comm);
  CHECK(out[7] == sum(7));
  MPI_Reduce_c(in.data(), out.data(), n, MPI_INT, MPI_SUM, 0, comm);
  CHECK(rank != 0 || out[8] == sum(8));
  MPI_Bcast_c(out.data(), n, MPI_INT, 0, comm);
  CHECK(out[8] == sum(8));
  MPI_Allgather_c(in.data(), n, MPI_INT, out.data(), n, MPI_INT, comm);
  CHECK(out[100 * (p - 1) + 5] == value(size - 1, 5));
  MPI_Gather_c(in.data(), n, MPI_INT, out.data(), n, MPI_INT, 0, comm);
  MPI_Scatter_c(out.data(), n, MPI_INT, in.data(), n, MPI_INT, 0, comm);
  CHECK(in[3] == value(rank, 3));
  std::vector<MPI_Count> counts(p, 100 / static_cast<MPI_Count>(p));
  MPI_Reduce_scatter_c(in.data(), out.data(), counts.data(), MPI_INT, MPI_SUM, comm);
  CHECK(out[0] == sum(static_cast<std::size_t>(rank) * (100 / p)));
  MPI_Reduce_scatter_block_c(in.data(), out.data(), counts[0], MPI_INT, MPI_SUM, comm);
  CHECK(out[0] == sum(static_cast<std::size_t>(rank) * (100 / p)));
}
#endif

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  by_mpi_itself = argc > 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (const std::size_t n : {0, 1, 2, 60, 1000, 30000}) {
    reductions(n);
    scattered_reductions(n);
    movements(n);
#ifndef MPICH
    own_blocks_in_place(n);
#endif
    if (n <= 1000) layouts(n);
    if (n <= 1000) operators(n);
    MPI_Barrier(comm);
  }
  elements_of_nothing();
  if (size > 1 && !by_mpi_itself) {
    extremes<float>(MPI_FLOAT, MPI_FLOAT_INT);
    extremes<double>(MPI_DOUBLE, MPI_DOUBLE_INT);
    extremes<long double>(MPI_LONG_DOUBLE, MPI_LONG_DOUBLE_INT);
  }
#if MPI_VERSION >= 4
  large_counts();
#endif
  MPI_Comm_free(&comm);
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0 && all == 0) std::puts("all right");
  return all == 0 ? 0 : 1;
}
