// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/thread_team.hpp>

#include <mutex>
#include <string>

/// Runs body(rank) on each rank of a team; what the ranks say was wrong, one after the other.
template <class Body> std::string problems(papcoll::ThreadTeam& team, Body&& body) {
  std::mutex mutex;
  std::string text;
  team.run([&](papcoll::ThreadTeam::Rank& comm) {
    const std::string problem = body(comm);
    const std::lock_guard lock{mutex};
    text += problem;
  });
  return text;
}
