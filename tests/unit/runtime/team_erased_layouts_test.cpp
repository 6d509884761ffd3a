// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/erased.hpp>
#include <papcoll/thread_team.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "catch.hpp"

namespace erased = papcoll::erased;

namespace {

using papcoll::Collective;
using LaidRank = papcoll::ThreadTeam::Rank;

enum class LaidForm { blocking, non_blocking, persistent };

/// Where elements lie, and the layout that says so.
struct Laid {
  erased::Layout layout;
  std::vector<std::ptrdiff_t> at;  ///< of each element, in doubles from the address passed
};

constexpr int laid_kinds = 4;

Laid laid(int kind, std::size_t n) {
  Laid l;
  const auto many = static_cast<std::ptrdiff_t>(n);
  std::vector<int> lengths;
  std::vector<std::ptrdiff_t> bytes;
  for (std::ptrdiff_t i = 0; i < many; ++i) {
    switch (kind) {
      case 0: l.at.push_back(i); break;
      case 1: l.at.push_back(3 * i); break;
      case 2: l.at.push_back(-2 * i); break;
      default:  // pairs, each before the one that precedes it
        l.at.push_back(3 * (many - i / 2) + i % 2);
        if (i % 2 == 0) {
          lengths.push_back(i + 1 < many ? 2 : 1);
          bytes.push_back(8 * l.at.back());
        }
    }
  }
  if (kind == 1) l.layout = erased::Layout::strided(1, 24);
  if (kind == 2) l.layout = erased::Layout::strided(1, -16);
  if (kind == 3) {
    l.layout = erased::Layout::of_blocks(papcoll::counts{lengths}, papcoll::counts{bytes});
  }
  return l;
}

/// Memory in which a buffer may lie either way from its middle.
struct Memory {
  explicit Memory(std::size_t n) : all(8 * n + 16, gap), middle(4 * n + 8) {}

  double* address() { return all.data() + middle; }
  double& element(std::ptrdiff_t at) {
    return all[static_cast<std::size_t>(static_cast<std::ptrdiff_t>(middle) + at)];
  }

  static constexpr double gap = -777;
  std::vector<double> all;
  std::size_t middle;
};

#define PAPCOLL_IN_FORM(collective, ...)       \
  if (form == LaidForm::blocking) {            \
    erased::collective(__VA_ARGS__);           \
  } else if (form == LaidForm::non_blocking) { \
    erased::i##collective(__VA_ARGS__).wait(); \
  } else {                                     \
    erased::collective##_init(__VA_ARGS__)();  \
  }                                            \
  break;

/// One call of any collective with `n` elements a block and rank 1 as root.
void call_laid(LaidRank& comm, Collective c, LaidForm form, const double* in, double* out,
               std::size_t n, const erased::Layouts& layouts) {
  const auto sum = erased::reducer(erased::ElementType::float64, erased::Operation::sum);
  const erased::Element element{erased::ElementType::float64};
  const papcoll::root root{1};
  switch (c) {
    case Collective::allreduce: PAPCOLL_IN_FORM(allreduce, comm, in, out, n, sum, layouts)
    case Collective::reduce: PAPCOLL_IN_FORM(reduce, comm, in, out, n, sum, root, layouts)
    case Collective::scan: PAPCOLL_IN_FORM(scan, comm, in, out, n, sum, layouts)
    case Collective::exscan: PAPCOLL_IN_FORM(exscan, comm, in, out, n, sum, layouts)
    case Collective::reduce_scatter: PAPCOLL_IN_FORM(reduce_scatter, comm, in, out, n, sum, layouts)
    case Collective::bcast: PAPCOLL_IN_FORM(bcast, comm, out, n, element, root, layouts)
    case Collective::allgather: PAPCOLL_IN_FORM(allgather, comm, in, out, n, element, layouts)
    case Collective::gather: PAPCOLL_IN_FORM(gather, comm, in, out, n, element, root, layouts)
    case Collective::scatter: PAPCOLL_IN_FORM(scatter, comm, in, out, n, element, root, layouts)
    case Collective::alltoall: PAPCOLL_IN_FORM(alltoall, comm, in, out, n, element, layouts)
    case Collective::barrier: break;
  }
}
#undef PAPCOLL_IN_FORM

/// Elements of both buffers on a rank; 0 where it has none.
struct Sizes {
  std::size_t in;
  std::size_t out;
};

Sizes sizes_of(Collective c, int rank, std::size_t n, std::size_t p) {
  const auto [in, out] = papcoll::buffers_of(c, rank == 1);
  const auto size = [&](papcoll::Holds what) {
    if (what == papcoll::Holds::nothing) return std::size_t{0};
    const bool one = what == papcoll::Holds::own_block ||
                     papcoll::traits_of(c).vector == papcoll::VectorOf::one_block;
    return one ? n : p * n;
  };
  return {size(in), size(out)};
}

/// The call with those layouts. Gives what is in the output, in the order of its elements, and one
/// more if anything else was written.
std::vector<double> outcome(LaidRank& comm, Collective c, LaidForm form, std::size_t n,
                            bool in_place, int from, int to) {
  Sizes sizes = sizes_of(c, comm.rank(), n, static_cast<std::size_t>(comm.size()));
  const bool same = in_place || c == Collective::bcast;
  if (same) sizes.in = sizes.out = std::max(sizes.in, sizes.out);
  const Laid in = laid(from, sizes.in);
  const Laid out = laid(to, sizes.out);
  Memory read{sizes.in};
  Memory written{sizes.out};
  Memory& source = same ? written : read;
  for (const std::ptrdiff_t at : out.at) written.element(at) = -1;
  double next = 1000.0 * comm.rank();
  for (const std::ptrdiff_t at : in.at) source.element(at) = ++next;
  call_laid(comm, c, form, source.address(), written.address(), n, {in.layout, out.layout});
  std::vector<double> result;
  for (const std::ptrdiff_t at : out.at) result.push_back(written.element(at));
  // In place, what lies behind a reduce_scatter's own block is left as any.
  if (c == Collective::reduce_scatter) result.resize(n);
  std::size_t gaps = 0;
  for (const double x : written.all) gaps += x == Memory::gap ? 1 : 0;
  if (gaps != written.all.size() - out.at.size()) result.push_back(Memory::gap);
  return result;
}

}  // namespace

TEST_CASE("erased calls take non-contiguous elements, whichever the collective", "[team]") {
  for (const Collective c :
       {Collective::allreduce, Collective::reduce, Collective::bcast, Collective::allgather,
        Collective::gather, Collective::scatter, Collective::reduce_scatter, Collective::alltoall,
        Collective::scan, Collective::exscan}) {
    for (const std::size_t n : {std::size_t{0}, std::size_t{5}, std::size_t{300}}) {
      papcoll::ThreadTeam team{3};
      std::vector<std::string> wrong(3);
      team.run([&](LaidRank& comm) {
        for (const LaidForm form :
             {LaidForm::blocking, LaidForm::non_blocking, LaidForm::persistent}) {
          for (int kind = 0; kind < laid_kinds * laid_kinds; ++kind) {
            const int from = (kind + comm.rank()) % laid_kinds;
            const int to = (kind / laid_kinds + comm.rank()) % laid_kinds;
            const auto expected = outcome(comm, c, form, n, false, 0, 0);
            const auto expected_in_place = outcome(comm, c, form, n, true, 0, 0);
            const bool right = outcome(comm, c, form, n, false, c == Collective::bcast ? to : from,
                                       to) == expected &&
                               outcome(comm, c, form, n, true, to, to) == expected_in_place;
            if (!right) {
              wrong[static_cast<std::size_t>(comm.rank())] +=
                  "kinds " + std::to_string(from) + " " + std::to_string(to) + "; ";
            }
          }
        }
      });
      for (const std::string& what : wrong) {
        CAPTURE(papcoll::name_of(c), n);
        CHECK(what == "");
      }
    }
  }
}
