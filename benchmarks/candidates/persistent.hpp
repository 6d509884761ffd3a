// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "candidates/problem.hpp"

#include <papcoll/papcoll.hpp>

#include <functional>

namespace bench {

/// As library_call(), of a papcoll::Persistent that is made here.
std::function<void()> persistent_call(const Problem& problem, const Buffers& buffers,
                                      papcoll::Communicator& comm,
                                      const papcoll::Algorithm& algorithm);

}  // namespace bench
