// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Exceptions of papcoll.
#include <papcoll/base/error.hpp>
