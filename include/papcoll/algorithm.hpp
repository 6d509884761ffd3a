#pragma once

// An algorithm by its name.
#include <papcoll/choice/names/algorithm.hpp>
