// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Calls that are prepared once and made again and again.
#include <papcoll/call/persistent_call.hpp>
