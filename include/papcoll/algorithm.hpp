// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// An algorithm by its name.
#include <papcoll/choice/names/algorithm.hpp>
