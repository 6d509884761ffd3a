// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Times, parts and calls in words.

#include <papcoll/report/run.hpp>
#include <papcoll/report/unfinished.hpp>

#include <cstdint>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

/// "2.01 ms", of nanoseconds.
std::string time_text(double nanoseconds);

/// "12 %", "0.3 %".
std::string percent_text(double part);

/// "MPI_Allreduce of 8 bytes", "MPI_Barrier".
std::string call_text(profile::MpiCollective collective, std::uint32_t flags, std::uint64_t bytes);

/// The text of a call with its place: "…, call 117 on MPI_COMM_WORLD, at solver.c:88 (step)".
std::string call_text(const Run& run, const CallOf& c);

namespace detail {

std::string capital(std::string text);

}  // namespace detail
}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
