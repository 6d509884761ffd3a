// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The command papcoll, run in this process.

#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>

#include <string>
#include <string_view>
#include <vector>

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

/// Runs it with these arguments.
Outcome run(std::vector<const char*> arguments, papcoll::Catalogue rows = papcoll::catalogue());

/// Runs it with arguments that it must refuse: with a message on stderr, and status 2.
void refused(std::vector<const char*> arguments, std::string_view message);

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
