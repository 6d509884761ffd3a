// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/algorithms/declared.hpp>
#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/choice/names/name_parser.hpp>
#include <papcoll/runtime/team_context.hpp>
#include <papcoll/verify/sweep.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "catch.hpp"
#include "sanitizer.hpp"

using namespace papcoll;

namespace {

/// Calls f(schedule, collective) for all that the catalogue has in the schedule engine.
template <class F> void for_each_static(F&& f) {
  for (const CatalogueRow& row : catalogue()) {
    if (row.plan == nullptr) continue;
    for (std::size_t i = 0; i < collective_count; ++i) {
      const auto collective = static_cast<Collective>(i);
      if (row.serves(collective)) f(row, collective);
    }
  }
}

const CatalogueRow& row_named(std::string_view name) {
  for (const CatalogueRow& row : catalogue()) {
    if (row.name == name) return row;
  }
  throw unknown_algorithm(std::string(name));
}

bool is_sentence(std::string_view text) {
  return !text.empty() && text.front() >= 'A' && text.front() <= 'Z' && text.back() == '.';
}

}  // namespace

TEST_CASE("no two algorithms look alike when calls are compared") {
  std::set<std::uint64_t> seen;
  const Call call;
  for (const CatalogueRow& row : catalogue()) {
    INFO(row.name);
    if (row.algorithm != nullptr)
      CHECK(seen.insert(fingerprint_of(call, row.algorithm->id).packed).second);
    if (row.plan == nullptr) continue;
    for (const char* transport : {"MpiTransport", "ShmTransport", "ThreadTransport"}) {
      TransportTable table{};
      table.name = transport;
      CHECK(seen.insert(PlanFingerprints{}.of(call, row.plan(), table).packed).second);
    }
  }
}

TEST_CASE("every schedule is declared where calls name it") {
#define PAPCOLL_NAME(Schedule) #Schedule,
  const std::set<std::string_view> declared{PAPCOLL_DECLARED_SCHEDULES(PAPCOLL_NAME)};
#undef PAPCOLL_NAME
  // Templates and aliases of templates, which a declaration of a class cannot name.
  const std::set<std::string_view> others{"PipelinedChain",  "PipelinedBinaryTree", "SegmentedRing",
                                          "ReduceThenBcast", "GatherThenBcast",     "Suara",
                                          "Hierarchical"};
  std::set<std::string_view> known;
  for (const CatalogueRow& row : papcoll::detail::catalogue_rows<ArrivalAlgorithms>) {
    INFO(row.name);
    CHECK(declared.contains(row.schedule) != others.contains(row.schedule));
    known.insert(row.schedule);
  }
  for (const std::string_view name : declared) {
    INFO(name);
    CHECK((known.contains(name) || name == "DirectAllgather"));  // which Linear is made of
  }
}

TEST_CASE("every row is complete") {
  std::set<std::string_view> names;
  for (const CatalogueRow& row : catalogue()) {
    INFO(row.name);
    CHECK(names.insert(row.name).second);
    CHECK(is_sentence(row.sentence));
    if (row.algorithm != nullptr) CHECK(is_sentence(row.algorithm->sentence));
    CHECK(row.arrival.empty() == row.is_hierarchical);
    CHECK_FALSE(row.schedule.empty());
    CHECK(int(row.plan != nullptr) + int(row.algorithm != nullptr) + int(row.is_hierarchical) == 1);
    CHECK(row.strongest >= row.contract);
    bool serves_any = false;
    for (std::size_t i = 0; i < collective_count; ++i) {
      serves_any |= row.serves(static_cast<Collective>(i));
    }
    CHECK(serves_any);
    if (row.plan != nullptr) CHECK(row.plan().base_name() == row.name);
  }
}

TEST_CASE("every collective has an algorithm on every transport") {
  for (std::size_t i = 0; i < collective_count; ++i) {
    for (const TransportName& transport : transport_names) {
      bool served = false;
      for (const CatalogueRow& row : catalogue()) {
        served |= row.serves(static_cast<Collective>(i)) && runs_on(row, transport);
      }
      INFO(name_of(static_cast<Collective>(i)) << " on " << transport.name);
      CHECK(served);
    }
  }
}

TEST_CASE("requirements are data") {
  const CatalogueRow& ring = row_named("Ring");
  CHECK(needs_of_call(ring, Collective::allreduce) == requirement::commutative_operator);
  CHECK(needs_of_call(ring, Collective::allgather) == 0);
  const CatalogueRow& leader = row_named("DynamicLeader");
  CHECK(needs_of_call(leader, Collective::bcast) ==
        needs_of_algorithm(arrival_traits<DynamicLeader, LeaderFan>).bits);
  CHECK(contract_of(leader, Collective::allreduce) == NumericalContract::rank_consistent);
  CHECK(contract_of(leader, Collective::bcast) == NumericalContract::reproducible);
  for (const CatalogueRow& row : catalogue()) {
    unsigned known = 0;
    for (const Requirement& r : requirements) known |= r.bit;
    CHECK((row.needs & ~known) == 0);
  }
}

TEST_CASE("a row says itself whether its operator must commute") {
  for (const CatalogueRow& row : catalogue()) {
    if (row.plan == nullptr) continue;
    const bool says = (row.needs & requirement::commutative_operator) != 0;
    CHECK(says == row.plan().commutative_only());
  }
}

TEST_CASE("every static schedule of the catalogue is proven") {
  for_each_static([](const CatalogueRow& row, Collective collective) {
    const Proof proof =
        verify_up_to(row.plan(), collective, under_tsan ? 9 : 17, {.contract = row.contract});
    INFO(row.name << ", " << describe(proof.shape) << ": " << proof.verdict.sentence);
    CHECK(proof);
  });
}

TEST_CASE("reduce-then-bcast of any pair is proven") {
  for_each_static([](const CatalogueRow& first, Collective reduce) {
    if (reduce != Collective::reduce) return;
    for_each_static([&first](const CatalogueRow& second, Collective bcast) {
      if (bcast != Collective::bcast) return;
      const std::string name =
          "ReduceThenBcast:" + std::string(first.name) + "," + std::string(second.name);
      const Proof proof = verify_up_to(schedule_named(name, catalogue()), Collective::allreduce, 8);
      INFO(name << ", " << describe(proof.shape) << ": " << proof.verdict.sentence);
      CHECK(proof);
    });
  });
}

TEST_CASE("gather-then-bcast of any pair is proven") {
  for_each_static([](const CatalogueRow& first, Collective gather) {
    if (gather != Collective::gather) return;
    for_each_static([&first](const CatalogueRow& second, Collective bcast) {
      if (bcast != Collective::bcast) return;
      const std::string name =
          "GatherThenBcast:" + std::string(first.name) + "," + std::string(second.name);
      const Proof proof = verify_up_to(schedule_named(name, catalogue()), Collective::allgather, 8);
      INFO(name << ", " << describe(proof.shape) << ": " << proof.verdict.sentence);
      CHECK(proof);
    });
  });
}

namespace {
struct Nothing {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "Nothing";
  static constexpr std::string_view sentence = "Does nothing.";
  static constexpr bool commutative_only = true;
  void emit(Bcast, Builder&) const {}
  friend bool operator==(const Nothing&, const Nothing&) = default;
};
}  // namespace

TEST_CASE("a program has a catalogue of its own with one line an algorithm") {
  static constexpr std::array mine{static_row<Nothing>(), static_row<Ring>()};
  const ParsedName n = parse_name("Nothing", mine);
  CHECK(n.row == &mine[0]);
  CHECK(n.row->serves(Collective::bcast));
  CHECK_FALSE(n.row->serves(Collective::reduce));
  CHECK(n.row->needs == requirement::commutative_operator);
  CHECK_THROWS_AS(parse_name("Bruck", mine), unknown_algorithm);
}

namespace {
/// Its default parameter is known at run time only.
struct WithRadix : Nothing {
  static constexpr std::string_view name = "WithRadix";
  WithRadix() : radix(std::stoi("3")) {}
  friend bool operator==(const WithRadix&, const WithRadix&) = default;
  int radix;
};
}  // namespace

TEST_CASE("a row's schedule may have a default that is not constant") {
  static constexpr CatalogueRow row = static_row<WithRadix>();
  CHECK(row.plan().name() == "WithRadix");
  CHECK(row.plan() == AnySchedule{WithRadix{}});
}
