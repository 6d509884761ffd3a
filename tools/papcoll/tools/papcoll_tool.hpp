// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The command papcoll, for any catalogue: `list` shows its algorithms; `verify` proves its static
// schedules, `simulate` times them in virtual time and `draw` makes pictures of them; `explain`
// says what the library would run, `topology` shows machines, and `map` says what orders along them
// gain; `report` says who arrives late in a recorded run, and `what-if` what recorded calls would
// have taken by other algorithms; `tune` starts papcoll-bench, which makes a selection file. It
// needs CLI11 and nlohmann-json, and no MPI. A program with algorithms of its own passes its rows:
//
//     #include <papcoll/choice/names/catalogue.hpp>
//     #include <papcoll/tools/papcoll_tool.hpp>
//     constexpr std::array mine{papcoll::static_row<Mine>(), papcoll::static_row<papcoll::Ring>()};
//     int main(int argc, char** argv) { return papcoll::tool_main(argc, argv, mine); }
//
// Exit status: 0 all is well, 1 a fault was found, 2 bad input (with a message on stderr).

#include <papcoll/base/config.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/tools/parts_of_program.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// The main of the command papcoll, over the algorithms of a catalogue.
int tool_main(int argc, const char* const* argv, Catalogue catalogue);

}  // namespace papcoll::inline PAPCOLL_ABI
