// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/topology/processor_set.hpp>
#include <papcoll/topology/sysfs.hpp>

#include <string>
#include <vector>

#include "catch.hpp"

using papcoll::ProcessorSet;
using papcoll::detail::BoundProcessors;
using papcoll::detail::count_processors;
using papcoll::detail::outnumber;
using papcoll::detail::set_of;

namespace {

/// On how many processors ranks may run that are bound to these lists.
std::size_t count_of(const std::vector<std::string>& lists) {
  std::vector<BoundProcessors> ranks;
  for (const std::string& list : lists) ranks.push_back(BoundProcessors::of(set_of(list)));
  return count_processors(ranks);
}

}  // namespace

TEST_CASE("a set of processors has those beyond the 1024th, too") {
  ProcessorSet set = set_of("3,1000-1002,5000");
  CHECK(set.count() == 5);
  CHECK(set.lowest() == 3);
  CHECK(set.has(5000));
  CHECK_FALSE(set.has(5001));
  CHECK_FALSE(set.has(-1));
  CHECK_FALSE(set.has(1 << 20));
  CHECK(set.end() > 5000);
  CHECK(set.has_all(set_of("1000,5000")));
  CHECK_FALSE(set_of("1000").has_all(set));
  CHECK_FALSE(set.has_all(set_of("6000")));
  set.add(ProcessorSet::most);
  set.add(-1);
  CHECK(set == set_of("3,1000-1002,5000"));
  CHECK(ProcessorSet{}.lowest() == -1);
  CHECK(ProcessorSet{} == set_of("nothing of the kind"));
  CHECK(ProcessorSet::of_this_thread().count() >= 1);
}

TEST_CASE("what a rank may run on is told in ranges") {
  const auto told = BoundProcessors::of(set_of("0-2,8-9,40,60-61,90"));
  CHECK(told.runs[0].first == 0);
  CHECK(told.runs[0].count == 3);
  CHECK(told.runs[1].first == 8);
  CHECK(told.runs[1].count == 2);
  CHECK(told.runs[2].count == 1);
  CHECK(told.runs[3].first == 60);
  // The last one stands for all that are left.
  CHECK(told.runs[3].count == (BoundProcessors::scattered | 3));
  CHECK(BoundProcessors::of(set_of("0-2,8-9,40,60-61")).runs[3].count == 2);
}

TEST_CASE("processors that ranks may run on are counted once, and none is missed") {
  CHECK(count_of({"0", "0", "0"}) == 1);
  CHECK(count_of({"0-3", "2-5", "9"}) == 7);
  CHECK(count_of({"2000-2003", "2001", "8000"}) == 5);
  // Two packages of which each has every other processor.
  std::string even = "0";
  std::string odd = "1";
  for (int p = 2; p < 64; p += 2) {
    even += "," + std::to_string(p);
    odd += "," + std::to_string(p + 1);
  }
  CHECK(count_of({even, even, odd, odd}) == 64);
  CHECK(count_of({even}) == 32);
}

TEST_CASE("an unknown number of processors is not none") {
  CHECK(count_of({"0-3", ""}) == 0);
  CHECK_FALSE(outnumber(2, count_of({"0-3", ""})));
  CHECK_FALSE(outnumber(2, 2));
  CHECK(outnumber(3, 2));
}
