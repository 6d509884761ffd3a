// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What a call says of its buffers: root, counts, blocks, strided and indexed elements.
#include <papcoll/base/buffers.hpp>
