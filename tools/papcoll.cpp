// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/tools/papcoll_tool.hpp>

int main(int argc, char** argv) { return papcoll::tool_main(argc, argv, papcoll::catalogue()); }
