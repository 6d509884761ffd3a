// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Operators of reductions.
#include <papcoll/base/op.hpp>
