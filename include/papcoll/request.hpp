// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The handle of a non-blocking call.
#include <papcoll/call/request.hpp>
