// SPDX-License-Identifier: BSD-3-Clause
// Calls whose element type is known at run time only, threads as ranks.

#include "erased_calls.hpp"
#include "outcome.hpp"
#include "team_outcomes.hpp"

#include "catch.hpp"

#include <papcoll/automatic.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/thread_team.hpp>

#include <chrono>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace {

namespace erased = papcoll::erased;
using ErasedRank = papcoll::ThreadTeam::Rank;
using erased::ElementType;
using erased::Layout;
using erased::Layouts;
using erased::Operation;

const papcoll::Options erased_options{.deadline = std::chrono::seconds{20}, .chunk_bytes = 4096};

const erased::Operator sum_of_doubles = erased::reducer(ElementType::float64, Operation::sum);

/// Checks that erased::reducer() and a plain Reducer are what typed calls make of T and op.
template <class T, class Op> bool is_typed(ElementType type, Operation operation, const Op& op) {
  const erased::Operator found = erased::reducer(type, operation);
  if constexpr (papcoll::OperatorFor<Op, T>) {
    const papcoll::Reducer typed = papcoll::reducer<T>(op);
    const std::uint64_t types = papcoll::detail::types_of_reduction<T, Op>(typed);
    const papcoll::Reducer& r = found.reducer();
    const std::uint64_t commutes = r.commutative ? 1 : 0;
    const bool plain_is_known =
        !typed.built_in || (erased::Operator{r}.types() | commutes) == types;
    return r.apply == typed.apply && r.size == typed.size && r.commutative == typed.commutative &&
           r.built_in == typed.built_in && (found.types() | commutes) == types && plain_is_known;
  } else {
    return found.reducer().apply == nullptr;
  }
}

template <class T> void check_operators(ElementType type) {
  CAPTURE(static_cast<int>(type));
  CHECK(is_typed<T>(type, Operation::sum, papcoll::sum));
  CHECK(is_typed<T>(type, Operation::prod, papcoll::prod));
  CHECK(is_typed<T>(type, Operation::min, papcoll::min));
  CHECK(is_typed<T>(type, Operation::max, papcoll::max));
  CHECK(is_typed<T>(type, Operation::bit_and, papcoll::bit_and));
  CHECK(is_typed<T>(type, Operation::bit_or, papcoll::bit_or));
  CHECK(is_typed<T>(type, Operation::bit_xor, papcoll::bit_xor));
  CHECK(is_typed<T>(type, Operation::logical_and, papcoll::logical_and));
  CHECK(is_typed<T>(type, Operation::logical_or, papcoll::logical_or));
  CHECK(is_typed<T>(type, Operation::logical_xor, papcoll::logical_xor));
  CHECK(erased::Element{type}.numbers().types == papcoll::detail::element_bits<T>());
  CHECK(erased::Element{type}.numbers().size == sizeof(T));
}

/// What each rank hears, in its call or later, where rank `odd` passes something wrong.
std::vector<Outcome> erased_outcomes(int ranks, int odd,
                                     const std::function<void(ErasedRank&, bool)>& call) {
  papcoll::ThreadTeam team{ranks, team_outcomes::patient};
  return team_outcomes::heard(team, team_outcomes::outcomes(team, [&](ErasedRank& comm) {
                                call(comm, comm.rank() == odd);
                              }));
}

struct ErasedMistake {
  std::string says;
  std::function<void(ErasedRank&, double*, double*, bool)> call;  ///< with 30 elements each
};

std::vector<ErasedMistake> erased_mistakes() {
  using C = ErasedRank;
  const auto element = erased::Element{ElementType::float64};
  const auto on_layout = [](std::string says, Layouts wrong) {
    return ErasedMistake{std::move(says), [wrong](C& c, double* in, double* out, bool odd) {
                           erased::allreduce(c, in, out, 12, sum_of_doubles,
                                             odd ? wrong : Layouts{});
                         }};
  };
  const auto list = [](std::vector<int> lengths, std::vector<int> places) {
    return Layout::of_blocks(papcoll::counts{lengths}, papcoll::counts{places});
  };
  return {
      {"this operator has no function",
       [](C& c, double* in, double* out, bool odd) {
         const auto bits = erased::reducer(ElementType::float64, Operation::bit_and);
         erased::allreduce(c, in, out, 3, odd ? bits : sum_of_doubles);
       }},
      {"this operator has no function",
       [](C& c, double* in, double* out, bool odd) {
         const auto none = erased::reducer(ElementType::float64, static_cast<Operation>(99));
         erased::scan(c, in, out, 3, odd ? none : sum_of_doubles);
       }},
      {"an element of 0 bytes is none",
       [element](C& c, double* in, double* out, bool odd) {
         const erased::Element none{static_cast<ElementType>(99)};
         erased::allgather(c, in, out, 3, odd ? none : element);
       }},
      {"root -1 is not a rank",
       [element](C& c, double* in, double*, bool odd) {
         erased::bcast(c, in, 3, element, papcoll::root{odd ? -1 : 0});
       }},
      {"the input is a null pointer",
       [](C& c, double* in, double* out, bool odd) {
         erased::allreduce(c, odd ? nullptr : in, out, 3, sum_of_doubles);
       }},
      {"input and output overlap",
       [](C& c, double* in, double* out, bool odd) {
         erased::allreduce(c, odd ? out + 1 : in, out, 3, sum_of_doubles);
       }},
      {"is too much for 3 ranks",
       [element](C& c, double* in, double* out, bool odd) {
         const std::size_t n = odd ? static_cast<std::size_t>(-1) : 3;
         erased::alltoall(c, in, out, n, element);
       }},
      {"the count of rank 1's block in the output is -2: they start at 0",
       [element](C& c, double* in, double* out, bool odd) {
         const std::vector<int> sizes{3, odd ? -2 : 3, 3};
         erased::allgatherv(c, in, out, papcoll::counts{sizes}, element);
       }},
      {"the input has 2 counts for 3 ranks",
       [](C& c, double* in, double* out, bool odd) {
         const std::vector<int> sizes(odd ? 2 : 3, 3);
         erased::reduce_scatter(c, in, out, papcoll::counts{sizes}, sum_of_doubles);
       }},
      {"has blocks of 2 elements, which do not make up the count of 9",
       [element](C& c, double* in, double* out, bool odd) {
         const Layouts pairs{Layout{}, Layout::strided(2, 16)};
         erased::allgather(c, in, out, 3, element, odd ? pairs : Layouts{});
       }},
      {"input and output are one buffer with two layouts",
       [](C& c, double* in, double* out, bool odd) {
         const Layouts two{Layout{}, Layout::strided(1, 16)};
         erased::scan(c, odd ? out : in, out, 3, sum_of_doubles, odd ? two : Layouts{});
       }},
      {"overlap: they are 8 bytes apart, and each has 16",
       [element](C& c, double* in, double*, bool odd) {
         const Layouts wrong{Layout::strided(2, 8)};
         erased::bcast(c, in, 4, element, papcoll::root{0}, odd ? wrong : Layouts{});
       }},
      on_layout("blocks of 5 elements, which do not make up the count of 12",
                Layout::strided(5, 40)),
      on_layout("has blocks of 0 elements", Layout::strided(0, 8)),
      on_layout("the blocks of the input overlap: they are 8 bytes apart, and each has 16",
                {Layout::strided(2, 8), Layout{}}),
      on_layout("spans more than PTRDIFF_MAX bytes",
                {Layout{}, Layout::strided(1, PTRDIFF_MAX / 2)}),
      on_layout("the length of block 1 of the output is -3: lengths start at 0",
                {Layout{}, list({12, -3}, {0, 160})}),
      on_layout("has 2 lengths and 1 displacements", list({6, 6}, {0})),
      on_layout("have 11 elements, and the count is 12", list({6, 5}, {0, 80})),
      on_layout("blocks 0 and 1 of the output overlap, at byte 40",
                {Layout{}, list({6, 6}, {40, 0})}),
      {"input and output are one buffer with two layouts",
       [](C& c, double* in, double* out, bool odd) {
         const Layouts two{Layout{}, Layout::strided(1, 16)};
         erased::allreduce(c, odd ? out : in, out, 12, sum_of_doubles, odd ? two : Layouts{});
       }},
      {"input and output overlap: pass one buffer",
       [list](C& c, double* in, double* out, bool odd) {
         const Layouts two{list({6, 6}, {0, 96}), Layout{}};
         erased::allreduce(c, odd ? out + 1 : in, out, 12, sum_of_doubles, odd ? two : Layouts{});
       }},
  };
}

}  // namespace

TEST_CASE("erased and typed calls may meet", "[team]") {
  for (const int ranks : {1, 2, 3, 5}) {
    papcoll::ThreadTeam team{ranks, erased_options};
    std::mutex mutex;
    std::string problems;
    team.run([&](ErasedRank& comm) {
      for (const std::size_t count : {std::size_t{0}, std::size_t{3}, std::size_t{1500}}) {
        const std::string mine = problems_of_erased_calls(comm, count);
        const std::lock_guard lock{mutex};
        problems += mine;
      }
    });
    INFO(ranks << " ranks");
    CHECK(problems == "");
  }
}

TEST_CASE("erased operators are those of typed calls", "[base]") {
  check_operators<std::int8_t>(ElementType::int8);
  check_operators<std::int16_t>(ElementType::int16);
  check_operators<std::int32_t>(ElementType::int32);
  check_operators<std::int64_t>(ElementType::int64);
  check_operators<std::uint8_t>(ElementType::uint8);
  check_operators<std::uint16_t>(ElementType::uint16);
  check_operators<std::uint32_t>(ElementType::uint32);
  check_operators<std::uint64_t>(ElementType::uint64);
  check_operators<float>(ElementType::float32);
  check_operators<double>(ElementType::float64);
  check_operators<bool>(ElementType::boolean);
  check_operators<std::complex<float>>(ElementType::complex64);
  check_operators<std::complex<double>>(ElementType::complex128);
  CHECK(papcoll::detail::element_bits<long long>() == papcoll::detail::element_bits<long>());
  CHECK(papcoll::detail::element_bits<unsigned>() != papcoll::detail::element_bits<int>());
}

TEST_CASE("an erased operator of the caller's combines in rank order", "[team]") {
  // Affine maps x -> a x + b; the context is a number that is added to each b.
  struct Map {
    double a;
    double b;
  };
  const double extra = 0.5;
  papcoll::Reducer compose;
  compose.apply = [](std::byte* out, const std::byte* low, const std::byte* high, std::size_t n,
                     const void* context) noexcept {
    for (std::size_t i = 0; i < n; ++i) {
      Map f;
      Map g;
      std::memcpy(&f, low + i * sizeof f, sizeof f);
      std::memcpy(&g, high + i * sizeof g, sizeof g);
      const Map both{f.a * g.a, g.a * f.b + g.b + *static_cast<const double*>(context)};
      std::memcpy(out + i * sizeof both, &both, sizeof both);
    }
  };
  compose.context = &extra;
  compose.size = sizeof(Map);
  compose.commutative = false;
  for (const std::string name : {"", "RecursiveDoubling", "CombiningTree"}) {
    const papcoll::Algorithm algorithm =
        name.empty() ? papcoll::Algorithm{} : papcoll::algorithm(name);
    papcoll::ThreadTeam team{2, erased_options};
    std::vector<std::vector<Map>> got(2, std::vector<Map>(700));
    team.run([&](ErasedRank& comm) {
      const double r = comm.rank();
      const std::vector<Map> in(700, Map{2 + r, 1 + r});
      auto& out = got[static_cast<std::size_t>(comm.rank())];
      erased::allreduce(comm, in.data(), out.data(), in.size(),
                        {compose, erased::Element{sizeof(Map), 1}, 1}, {}, algorithm);
    });
    INFO(name);
    for (const auto& out : got) {
      CHECK(out[699].a == 6.0);
      CHECK(out[699].b == 3.0 * 1 + 2 + 0.5);
    }
  }
}

TEST_CASE("an erased call that is wrong on one rank is reported to all", "[team]") {
  for (const ErasedMistake& mistake : erased_mistakes()) {
    for (const int odd : {0, 2}) {
      INFO(mistake.says << ", rank " << odd);
      const auto all = erased_outcomes(3, odd, [&](ErasedRank& comm, bool wrong) {
        std::vector<double> in(60, 1.0);
        std::vector<double> out(60, -1.0);
        mistake.call(comm, in.data(), out.data(), wrong);
      });
      for (int r = 0; r < 3; ++r) {
        const Outcome& o = all[static_cast<std::size_t>(r)];
        CAPTURE(r, o);
        CHECK(o.kind == (r == odd ? "argument_error" : "peer_error"));
        CHECK((o.says(mistake.says) || (r != odd && o.says("its exception said why"))));
      }
    }
  }
}

TEST_CASE("a rank that cannot make its erased call refuses it", "[team]") {
  const auto all = erased_outcomes(3, 1, [](ErasedRank& comm, bool odd) {
    std::vector<double> data(60, 1.0);
    if (odd) erased::refuse(comm, papcoll::Collective::bcast, "there is no memory");
    erased::bcast(comm, data.data(), 60, erased::ElementType::float64, papcoll::root{1});
  });
  for (int r = 0; r < 3; ++r) {
    const Outcome& o = all[static_cast<std::size_t>(r)];
    CAPTURE(r, o);
    CHECK(o.kind == (r == 1 ? "argument_error" : "peer_error"));
    CHECK((o.says("bcast on rank 1 of 3: there is no memory") || o.says("its exception said why")));
  }
}

TEST_CASE("erased calls of types or operators that differ are found", "[team]") {
  const auto all = erased_outcomes(2, 1, [](ErasedRank& comm, bool odd) {
    double in = 1;
    double out = 0;
    const erased::Element a{8, 1};
    const erased::Element b{8, 2};
    const papcoll::Reducer r = papcoll::reducer<double>(papcoll::sum);
    erased::allreduce(comm, &in, &out, 1, {r, odd ? a : b});
  });
  for (const Outcome& o : all) {
    CAPTURE(o);
    CHECK(o.kind == "peer_error");
    CHECK(o.says("their element types differ"));
  }
}

TEST_CASE("an erased allreduce combines elements where they lie", "[team]") {
  const std::size_t n = 600;
  const std::vector<int> lengths{200, 0, 1, 399};
  const std::vector<int> at{8 * 700, 0, 16, 8 * 100};
  const std::vector<std::pair<std::string, Layout>> layouts{
      {"one piece", {}},
      {"columns", Layout::strided(2, 3 * 8)},
      {"downwards", Layout::strided(1, -8)},
      {"one block", Layout::strided(n, 8)},
      {"list", Layout::of_blocks(papcoll::counts{lengths}, papcoll::counts{at})}};
  const auto place = [&](std::size_t layout, std::size_t i) -> std::ptrdiff_t {
    const auto k = static_cast<std::ptrdiff_t>(i);
    switch (layout) {
      case 1: return k / 2 * 3 + k % 2;
      case 2: return -k;
      case 4: return k < 200 ? 700 + k : k == 200 ? 2 : 100 + k - 201;
      default: return k;
    }
  };
  for (std::size_t from = 0; from < layouts.size(); ++from) {
    for (std::size_t to = 0; to < layouts.size(); ++to) {
      for (const std::string name : {"", "Ring", "DynamicLeader"}) {
        for (const ErasedForm form :
             {ErasedForm::blocking, ErasedForm::non_blocking, ErasedForm::persistent}) {
          if (form == ErasedForm::non_blocking && name == "DynamicLeader") continue;
          INFO(layouts[from].first << " to " << layouts[to].first << " by " << name << ", form "
                                   << static_cast<int>(form));
          papcoll::ThreadTeam team{3, erased_options};
          std::vector<std::vector<double>> outs(3, std::vector<double>(3 * n, -1.0));
          std::vector<std::vector<double>> ins = outs;
          team.run([&](ErasedRank& comm) {
            const auto me = static_cast<std::size_t>(comm.rank());
            double* const out = outs[me].data() + n;
            const bool in_place = from == to && from != 0;
            double* const in = in_place ? out : ins[me].data() + n;
            for (std::size_t i = 0; i < n; ++i) {
              in[place(from, i)] = static_cast<double>(i + me);
            }
            const Layouts both{layouts[from].second, layouts[to].second};
            const papcoll::Algorithm algorithm =
                name.empty() ? papcoll::Algorithm{} : papcoll::algorithm(name);
            if (form == ErasedForm::blocking) {
              erased::allreduce(comm, in, out, n, sum_of_doubles, both, algorithm);
            } else if (form == ErasedForm::non_blocking) {
              erased::iallreduce(comm, in, out, n, sum_of_doubles, both, algorithm).wait();
            } else {
              erased::allreduce_init(comm, in, out, n, sum_of_doubles, both, algorithm)();
            }
          });
          for (const auto& out : outs) {
            std::vector<double> expected(3 * n, -1.0);
            for (std::size_t i = 0; i < n; ++i) {
              expected[n + static_cast<std::size_t>(place(to, i))] = static_cast<double>(3 * i + 3);
            }
            CHECK(out == expected);
          }
        }
      }
    }
  }
}
