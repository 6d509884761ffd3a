// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "candidates/problem.hpp"

#include <papcoll/papcoll.hpp>

#include <functional>
#include <string>

namespace bench {

/// papcoll's collective with an algorithm chosen at run time, ready to be called; a default
/// Algorithm stands for a call without policies. `comm` must outlive the call.
std::function<void()> library_call(const Problem& problem, const Buffers& buffers,
                                   papcoll::Communicator& comm,
                                   const papcoll::Algorithm& algorithm);

/// The name of what runs in that call, with everything that was left to papcoll filled in.
std::string library_name(const Problem& problem, papcoll::Communicator& comm,
                         const papcoll::Algorithm& algorithm);

}  // namespace bench
