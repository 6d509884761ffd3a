// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Every form of every call, with types and operators of all kinds, for threads, processes and bare
// MPI communicators alike. Gives what is wrong on this rank, or "". One list,
// so that a form that is missing shows.

#include <papcoll/algorithms/static/bruck.hpp>
#include <papcoll/algorithms/static/linear.hpp>
#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/allgather.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/alltoall.hpp>
#include <papcoll/barrier.hpp>
#include <papcoll/bcast.hpp>
#include <papcoll/gather.hpp>
#include <papcoll/reduce.hpp>
#include <papcoll/reduce_scatter.hpp>
#include <papcoll/scan.hpp>
#include <papcoll/scatter.hpp>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace forms {

using papcoll::root;

struct Vec3 {
  float x, y, z;
  friend bool operator==(const Vec3&, const Vec3&) = default;
};

/// 2×2 matrices modulo 2³²: their product does not commute.
struct Matrix {
  std::uint32_t a, b, c, d;
  friend Matrix operator*(const Matrix& m, const Matrix& n) {
    return {m.a * n.a + m.b * n.c, m.a * n.b + m.b * n.d, m.c * n.a + m.d * n.c,
            m.c * n.b + m.d * n.d};
  }
  friend bool operator==(const Matrix&, const Matrix&) = default;
};

inline int larger(int p, int q) { return p > q ? p : q; }

template <class Comm> class Forms {
 public:
  Forms(Comm& comm, int rank, int size) : comm_(comm), me_(rank), size_(size) {}

  std::string problems() {
    allreduce();
    types();
    reduce();
    bcast();
    allgather();
    allgatherv();
    alltoall();
    scan();
    exscan();
    strided();
    reduce_scatter();
    gather();
    scatter();
    papcoll::barrier(comm_);
    papcoll::ibarrier(comm_).wait();
    return problems_;
  }

 private:
  void expect(bool right, const char* what) {
    if (!right) problems_ += std::string(what) + " on rank " + std::to_string(me_) + "\n";
  }
  std::size_t ranks() const { return static_cast<std::size_t>(size_); }
  int sum() const { return size_ * (size_ - 1) / 2; }
  int last() const { return size_ - 1; }
  bool at_last() const { return me_ == last(); }
  using Ints = std::vector<int>;

  /// size() parts of two elements: rank r's are {10 r + first, 10 r + first + 1}.
  Ints parts() const {
    Ints all;
    for (int r = 0; r < size_; ++r) all.insert(all.end(), {10 * r, 10 * r + 1});
    return all;
  }
  Ints part(int r) const { return {10 * r, 10 * r + 1}; }
  Ints summed() const { return {sum(), sum() + size_}; }  // of {r, r + 1}

  void allreduce() {
    Ints v{me_, me_ + 1};
    papcoll::allreduce(comm_, v);
    expect(v == summed(), "vector");
    v = {me_, me_ + 1};
    papcoll::allreduce(comm_, std::span{v}, papcoll::max);
    expect(v == Ints{last(), last() + 1}, "temporary span, max");
    v = {me_, me_ + 1};
    papcoll::allreduce(comm_, v, larger);
    expect(v == Ints{last(), last() + 1}, "vector, function");
    std::array<int, 2> a{me_, me_ + 1};
    papcoll::allreduce(comm_, a, papcoll::min);
    expect(a == std::array{0, 1}, "std::array, min");
    int built_in[2] = {me_, me_ + 1};
    papcoll::allreduce(comm_, built_in);
    expect(built_in[0] == sum(), "built-in array");
    v = {me_, me_ + 1, -1};
    papcoll::allreduce(comm_, v.data(), 2);
    expect(v == Ints{sum(), sum() + size_, -1}, "pointer and count");
    const Ints in{me_, me_ + 1};
    Ints out(2);
    papcoll::allreduce(comm_, in, out);
    expect(out == summed(), "in, out");
    out = {0, 0};
    papcoll::allreduce(comm_, in.data(), out.data(), std::size_t{2}, papcoll::sum);
    expect(out == summed(), "pointers and count");
    papcoll::allreduce(comm_, std::span<const int>{in}, std::span{out}, papcoll::bit_xor);
    int x = 0;
    for (int r = 0; r < size_; ++r) x ^= r;
    expect(out[0] == x, "spans, bit_xor");

    v = {me_, me_ + 1};
    papcoll::iallreduce(comm_, v).wait();
    expect(v == summed(), "non-blocking vector");
    v = {me_, me_ + 1};
    papcoll::iallreduce(comm_, v, larger).wait();
    expect(v == Ints{last(), last() + 1}, "non-blocking vector, function");
    v = {me_, me_ + 1};
    papcoll::iallreduce(comm_, v.data(), 2, papcoll::sum).wait();
    expect(v == summed(), "non-blocking pointer and count");
    out = {0, 0};
    papcoll::iallreduce(comm_, in, out).wait();
    expect(out == summed(), "non-blocking in, out");
    out = {0, 0};
    papcoll::iallreduce(comm_, in.data(), out.data(), 2).wait();
    expect(out == summed(), "non-blocking pointers and count");
  }

  void types() {
    expect(papcoll::allreduce(comm_, me_) == sum(), "int");
    expect(papcoll::allreduce(comm_, 0.5 * me_) == 0.5 * sum(), "double");
    expect(papcoll::allreduce(comm_, me_ == 0, papcoll::logical_and) == (size_ == 1), "bool");
    expect(papcoll::allreduce(comm_, static_cast<char>('a' + me_), papcoll::max) == 'a' + last(),
           "char");
    expect(papcoll::allreduce(comm_, std::uint64_t{1} << me_, papcoll::bit_or) ==
               (std::uint64_t{1} << size_) - 1,
           "uint64_t");
    expect(papcoll::allreduce(comm_, static_cast<long double>(me_)) == sum(), "long double");
    expect(papcoll::allreduce(comm_, me_, [](int p, int q) { return p > q ? p : q; }) == last(),
           "scalar, lambda");

    const Vec3 one{1, 2, static_cast<float>(me_)};
    const Vec3 all = papcoll::allreduce(comm_, one, [](const Vec3& p, const Vec3& q) {
      return Vec3{p.x + q.x, p.y + q.y, p.z + q.z};
    });
    const auto n = static_cast<float>(size_);
    expect(all == Vec3{n, 2 * n, static_cast<float>(sum())}, "value of a class, lambda");
    const papcoll::ValueIndex<double> found =
        papcoll::allreduce(comm_, papcoll::ValueIndex<double>{1.5, me_}, papcoll::minloc);
    expect(found == papcoll::ValueIndex<double>{1.5, 0}, "value of a class, minloc");
    expect(papcoll::bcast(comm_, one, root{last()}).z == static_cast<float>(last()),
           "value of a class, bcast");
    const auto same = [](std::byte p, std::byte q) { return p | q; };
    expect(papcoll::reduce(comm_, std::byte{1}, root{0}, same) == std::byte{1},
           "value of an enumeration, reduce");

    std::array<std::complex<double>, 2> z{std::complex<double>(me_, 1), {0, 1}};
    papcoll::allreduce(comm_, z);
    expect(z[0] == std::complex<double>(sum(), size_), "complex sum");
    std::vector<std::complex<float>> w{{0, 1}};
    papcoll::allreduce(comm_, w, papcoll::prod);
    const std::array<std::complex<float>, 4> powers{{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}};
    expect(w[0] == powers[static_cast<std::size_t>(size_ % 4)], "complex product");

    std::vector<Vec3> v(100, {1, 2, static_cast<float>(me_)});
    const float scale = 1;
    papcoll::allreduce(comm_, v, papcoll::commutative([scale](const Vec3& p, const Vec3& q) {
                         return Vec3{p.x + q.x * scale, p.y + q.y, p.z + q.z};
                       }));
    expect(v == std::vector<Vec3>(100, {n, 2 * n, static_cast<float>(sum())}),
           "struct, lambda with a capture");

    const auto of_rank = [](int r) {
      const auto k = static_cast<std::uint32_t>(r);
      return Matrix{k + 1, 2, 3, k};
    };
    Matrix wanted = of_rank(0);
    for (int r = 1; r < size_; ++r) wanted = wanted * of_rank(r);
    std::vector<Matrix> m(30, of_rank(me_));
    papcoll::allreduce(comm_, m, papcoll::prod);
    expect(m == std::vector<Matrix>(30, wanted), "product of matrices");

    papcoll::ValueIndex<double> at{static_cast<double>((me_ + 1) % size_), me_};
    papcoll::allreduce(comm_, std::span{&at, 1}, papcoll::maxloc);
    expect(at.index == (size_ == 1 ? 0 : size_ - 2), "maxloc");
    std::vector<papcoll::ValueIndex<int>> lows(3, {7, me_});
    papcoll::allreduce(comm_, lows, papcoll::minloc);
    expect(lows[2].index == 0, "minloc of equal values");

    // Two closures for the same thing on different ranks match.
    int s = me_;
    if (me_ == 0) {
      papcoll::allreduce(comm_, &s, 1, [](auto p, auto q) { return p + q; });
    } else {
      papcoll::allreduce(comm_, &s, 1, [](auto p, auto q) { return p + q; });
    }
    expect(s == sum(), "two closures");
  }

  void reduce() {
    const root to{last()};
    const Ints in{me_, me_ + 1};
    const Ints wanted = at_last() ? summed() : in;
    Ints v = in;
    papcoll::reduce(comm_, v, to);
    expect(v == wanted, "reduce in place");
    v = in;
    papcoll::reduce(comm_, v.data(), 2, to, papcoll::sum);
    expect(v == wanted, "reduce, pointer and count");
    Ints out(at_last() ? 2 : 0);
    papcoll::reduce(comm_, in, out, to);
    expect(!at_last() || out == wanted, "reduce in, out");
    out = Ints(at_last() ? 2 : 0);
    papcoll::reduce(comm_, in.data(), at_last() ? out.data() : nullptr, 2, to);
    expect(!at_last() || out == wanted, "reduce, pointers and count");
    const int scalar = papcoll::reduce(comm_, me_, to);
    expect(scalar == (at_last() ? sum() : me_), "reduce, scalar");

    v = in;
    papcoll::ireduce(comm_, v, to).wait();
    expect(v == wanted, "ireduce in place");
    v = in;
    papcoll::ireduce(comm_, v.data(), 2, to).wait();
    expect(v == wanted, "ireduce, pointer and count");
    out = Ints(at_last() ? 2 : 0);
    papcoll::ireduce(comm_, in, out, to, papcoll::sum).wait();
    expect(!at_last() || out == wanted, "ireduce in, out");
    out = Ints(at_last() ? 2 : 0);
    papcoll::ireduce(comm_, in.data(), at_last() ? out.data() : nullptr, 2, to).wait();
    expect(!at_last() || out == wanted, "ireduce, pointers and count");
  }

  void bcast() {
    const root from{last()};
    const Ints wanted{5, 6};
    const Ints mine = at_last() ? wanted : Ints{0, 0};
    Ints v = mine;
    papcoll::bcast(comm_, v, from);
    expect(v == wanted, "bcast");
    v = mine;
    papcoll::bcast(comm_, v.data(), 2, from);
    expect(v == wanted, "bcast, pointer and count");
    expect(papcoll::bcast(comm_, me_, from) == last(), "bcast, scalar");
    v = mine;
    papcoll::ibcast(comm_, v, from).wait();
    expect(v == wanted, "ibcast");
    v = mine;
    papcoll::ibcast(comm_, v.data(), 2, from).wait();
    expect(v == wanted, "ibcast, pointer and count");
  }

  /// `all` with only rank r's part filled in.
  Ints only(int r) const {
    Ints all(2 * ranks(), -1);
    const Ints own = part(r);
    all[2 * static_cast<std::size_t>(r)] = own[0];
    all[2 * static_cast<std::size_t>(r) + 1] = own[1];
    return all;
  }

  void allgather() {
    const Ints in = part(me_);
    Ints out(2 * ranks());
    papcoll::allgather(comm_, in, out);
    expect(out == parts(), "allgather");
    out = only(me_);
    papcoll::allgather(comm_, out);
    expect(out == parts(), "allgather in place");
    out.assign(out.size(), 0);
    papcoll::allgather(comm_, in.data(), out.data(), 2);
    expect(out == parts(), "allgather, pointers and count");
    out = only(me_);
    papcoll::allgather(comm_, out.data(), 2);
    expect(out == parts(), "allgather in place, pointer and count");

    out.assign(out.size(), 0);
    papcoll::iallgather(comm_, in, out).wait();
    expect(out == parts(), "iallgather");
    out = only(me_);
    papcoll::iallgather(comm_, out).wait();
    expect(out == parts(), "iallgather in place");
    out.assign(out.size(), 0);
    papcoll::iallgather(comm_, in.data(), out.data(), 2).wait();
    expect(out == parts(), "iallgather, pointers and count");
    out = only(me_);
    papcoll::iallgather(comm_, out.data(), 2).wait();
    expect(out == parts(), "iallgather in place, pointer and count");
  }

  void allgatherv() {
    const std::vector<std::size_t> each(ranks(), 2);
    const papcoll::counts counts{each};
    const Ints in = part(me_);
    Ints out(2 * ranks());
    papcoll::allgatherv(comm_, in, out, counts);
    expect(out == parts(), "allgatherv");
    out = only(me_);
    papcoll::allgatherv<papcoll::Bruck>(comm_, out, counts);
    expect(out == parts(), "allgatherv in place");
    out.assign(out.size(), 0);
    papcoll::iallgatherv(comm_, in, out, counts).wait();
    expect(out == parts(), "iallgatherv");
    out = only(me_);
    papcoll::iallgatherv(comm_, out, papcoll::counts{each}).wait();
    expect(out == parts(), "iallgatherv in place");
  }

  void alltoall() {
    const Ints in = parts();
    Ints wanted;
    for (int r = 0; r < size_; ++r) wanted.insert(wanted.end(), {10 * me_, 10 * me_ + 1});
    Ints out(in.size());
    auto check = [&](const char* what) {
      expect(out == wanted, what);
      out = in;
    };
    papcoll::alltoall(comm_, in, out);
    check("alltoall");
    papcoll::alltoall(comm_, out);
    check("alltoall in place");
    papcoll::alltoall(comm_, in.data(), out.data(), 2);
    check("alltoall, pointers and count");
    papcoll::alltoall(comm_, out.data(), 2);
    check("alltoall in place, pointer and count");
    papcoll::alltoall<papcoll::Bruck>(comm_, in, out);
    check("alltoall by Bruck");

    papcoll::ialltoall(comm_, in, out).wait();
    check("ialltoall");
    papcoll::ialltoall(comm_, out).wait();
    check("ialltoall in place");
    papcoll::ialltoall(comm_, in.data(), out.data(), 2).wait();
    check("ialltoall, pointers and count");
    papcoll::ialltoall(comm_, out.data(), 2).wait();
    check("ialltoall in place, pointer and count");
  }

  void scan() {
    const Ints in{me_, 1};
    const Ints wanted{me_ * (me_ + 1) / 2, me_ + 1};
    Ints out(2);
    auto check = [&](const char* what) {
      expect(out == wanted, what);
      out = in;
    };
    papcoll::scan(comm_, in, out);
    check("scan");
    papcoll::scan(comm_, out);
    check("scan in place");
    papcoll::scan(comm_, in.data(), out.data(), 2);
    check("scan, pointers and count");
    papcoll::scan(comm_, out.data(), 2, papcoll::sum);
    check("scan in place, pointer and count");
    papcoll::scan<papcoll::Linear>(comm_, out, [](int a, int b) { return a + b; });
    check("scan by Linear, a lambda");

    papcoll::iscan(comm_, in, out).wait();
    check("iscan");
    papcoll::iscan(comm_, out, papcoll::sum).wait();
    check("iscan in place");
    papcoll::iscan(comm_, in.data(), out.data(), 2).wait();
    check("iscan, pointers and count");
    papcoll::iscan(comm_, out.data(), 2).wait();
    check("iscan in place, pointer and count");
  }

  void exscan() {
    const Ints in{me_, 1};
    const Ints wanted{me_ * (me_ - 1) / 2, me_};
    const Ints own = in;
    Ints out{-1, -1};
    auto check = [&](const char* what) {
      expect(out == (me_ == 0 ? Ints{-1, -1} : wanted), what);
      out = in;
    };
    auto check_in_place = [&](const char* what) {
      expect(out == (me_ == 0 ? own : wanted), what);
      out = {-1, -1};
    };
    papcoll::exscan(comm_, in, out);
    check("exscan");
    papcoll::exscan(comm_, out);
    check_in_place("exscan in place");
    papcoll::exscan(comm_, in.data(), out.data(), 2);
    check("exscan, pointers and count");
    papcoll::exscan(comm_, out.data(), 2, papcoll::sum);
    check_in_place("exscan in place, pointer and count");
    papcoll::exscan<papcoll::Linear>(comm_, in, out, [](int a, int b) { return a + b; });
    check("exscan by Linear, a lambda");
    expect(papcoll::exscan(comm_, me_) == (me_ == 0 ? 0 : wanted[0]), "exscan, scalar");
    expect(papcoll::scan(comm_, me_, papcoll::max) == me_, "scan, scalar");

    papcoll::iexscan(comm_, out).wait();
    check_in_place("iexscan in place");
    papcoll::iexscan(comm_, in, out, papcoll::sum).wait();
    check("iexscan");
    papcoll::iexscan(comm_, out.data(), 2).wait();
    check_in_place("iexscan in place, pointer and count");
    papcoll::iexscan(comm_, in.data(), out.data(), 2).wait();
    check("iexscan, pointers and count");
  }

  /// Every other element of four.
  void strided() {
    const Ints in{me_, -1, 1, -1};
    Ints out = in;
    const auto all = [](auto& v) { return papcoll::strided(v.data(), 2, 1, 2); };
    auto check = [&](const char* what) {
      expect(out == Ints{sum(), -1, size_, -1}, what);
      out = in;
    };
    papcoll::allreduce(comm_, all(out));
    check("allreduce of a strided buffer");
    papcoll::allreduce(comm_, all(in), all(out), papcoll::sum);
    check("allreduce of strided buffers");
    papcoll::allreduce<papcoll::Ring>(comm_, all(out));
    check("allreduce of a strided buffer by Ring");
    papcoll::iallreduce(comm_, all(out)).wait();
    check("iallreduce of a strided buffer");
    papcoll::iallreduce(comm_, all(in), all(out), papcoll::sum).wait();
    check("iallreduce of strided buffers");
  }

  void reduce_scatter() {
    const Ints in = parts();
    const Ints wanted{size_ * 10 * me_, size_ * (10 * me_ + 1)};
    const std::vector<std::size_t> each(ranks(), 2);
    const papcoll::counts counts{each};
    Ints out(2);
    auto check = [&](const char* what) {
      expect(out == wanted, what);
      out = {0, 0};
    };
    Ints v = in;
    auto check_in_place = [&](const char* what) {
      v.resize(2);
      expect(v == wanted, what);
      v = in;
    };
    papcoll::reduce_scatter(comm_, in, out);
    check("reduce_scatter");
    papcoll::reduce_scatter(comm_, in, out, counts);
    check("reduce_scatter with counts");
    papcoll::reduce_scatter(comm_, v);
    check_in_place("reduce_scatter in place");
    papcoll::reduce_scatter(comm_, v, counts, papcoll::sum);
    check_in_place("reduce_scatter in place with counts");
    papcoll::reduce_scatter(comm_, in.data(), out.data(), 2);
    check("reduce_scatter, pointers and count");
    papcoll::reduce_scatter(comm_, v.data(), 2);
    check_in_place("reduce_scatter in place, pointer and count");

    papcoll::ireduce_scatter(comm_, in, out, papcoll::sum).wait();
    check("ireduce_scatter");
    papcoll::ireduce_scatter(comm_, in, out, counts).wait();
    check("ireduce_scatter with counts");
    papcoll::ireduce_scatter(comm_, v).wait();
    check_in_place("ireduce_scatter in place");
    papcoll::ireduce_scatter(comm_, v, counts).wait();
    check_in_place("ireduce_scatter in place with counts");
    papcoll::ireduce_scatter(comm_, in.data(), out.data(), 2).wait();
    check("ireduce_scatter, pointers and count");
    papcoll::ireduce_scatter(comm_, v.data(), 2).wait();
    check_in_place("ireduce_scatter in place, pointer and count");
  }

  void gather() {
    const root to{last()};
    const Ints in = part(me_);
    const std::size_t n = at_last() ? 2 * ranks() : 0;
    Ints out(n);
    auto check = [&](const char* what) {
      expect(!at_last() || out == parts(), what);
      out.assign(n, 0);
    };
    Ints v = at_last() ? only(me_) : in;
    auto check_in_place = [&](const char* what) {
      expect(v == (at_last() ? parts() : in), what);
      v = at_last() ? only(me_) : in;
    };
    papcoll::gather(comm_, in, out, to);
    check("gather");
    papcoll::gather(comm_, v, to);
    check_in_place("gather in place");
    papcoll::gather(comm_, in.data(), at_last() ? out.data() : nullptr, 2, to);
    check("gather, pointers and count");
    papcoll::gather(comm_, v.data(), 2, to);
    check_in_place("gather in place, pointer and count");
    papcoll::igather(comm_, in, out, to).wait();
    check("igather");
    papcoll::igather(comm_, v, to).wait();
    check_in_place("igather in place");
    papcoll::igather(comm_, in.data(), at_last() ? out.data() : nullptr, 2, to).wait();
    check("igather, pointers and count");
    papcoll::igather(comm_, v.data(), 2, to).wait();
    check_in_place("igather in place, pointer and count");
  }

  void scatter() {
    const root from{last()};
    const Ints in = at_last() ? parts() : Ints{};
    Ints out(2);
    auto check = [&](const char* what) {
      expect(out == part(me_), what);
      out = {0, 0};
    };
    Ints v = at_last() ? parts() : Ints{0, 0};
    auto check_in_place = [&](const char* what) {
      expect(v == (at_last() ? parts() : part(me_)), what);
      v = at_last() ? parts() : Ints{0, 0};
    };
    papcoll::scatter(comm_, in, out, from);
    check("scatter");
    papcoll::scatter(comm_, v, from);
    check_in_place("scatter in place");
    papcoll::scatter(comm_, at_last() ? in.data() : nullptr, out.data(), 2, from);
    check("scatter, pointers and count");
    papcoll::scatter(comm_, v.data(), 2, from);
    check_in_place("scatter in place, pointer and count");
    papcoll::iscatter(comm_, in, out, from).wait();
    check("iscatter");
    papcoll::iscatter(comm_, v, from).wait();
    check_in_place("iscatter in place");
    papcoll::iscatter(comm_, at_last() ? in.data() : nullptr, out.data(), 2, from).wait();
    check("iscatter, pointers and count");
    papcoll::iscatter(comm_, v.data(), 2, from).wait();
    check_in_place("iscatter in place, pointer and count");
  }

  Comm& comm_;
  int me_;
  int size_;
  std::string problems_;
};

template <class Comm> std::string problems(Comm& comm, int rank, int size) {
  return Forms<Comm>{comm, rank, size}.problems();
}

}  // namespace forms
