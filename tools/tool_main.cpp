// The main of the command papcoll, for programs whose files define PAPCOLL_TOOL_COMPILED.

#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/tools/tool_main.hpp>

[[gnu::used]] static int (*const compiled_here)(int, const char* const*,
                                                papcoll::Catalogue) = &papcoll::tool_main;
