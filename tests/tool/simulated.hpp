// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "run_tool.hpp"

/// A file that lives as long as the object.
class Written {
 public:
  explicit Written(const std::string& text) {
    static int number = 0;
    name_ = "/tmp/papcoll_tool_test." + std::to_string(getpid()) + "." + std::to_string(number++);
    std::ofstream{name_} << text;
  }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  ~Written() { std::remove(name_.c_str()); }

  const char* name() const { return name_.c_str(); }

 private:
  std::string name_;
};

/// What `papcoll simulate` with these words reports as JSON.
inline nlohmann::json simulated(std::vector<const char*> words) {
  words.insert(words.begin(), "simulate");
  words.push_back("--json");
  const Outcome o = run(std::move(words));
  REQUIRE(o.err == "");
  REQUIRE(o.status == 0);
  return nlohmann::json::parse(o.out);
}
