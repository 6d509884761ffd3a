// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/profile/call_log.hpp>
#include <papcoll/profile/communicators.hpp>
#include <papcoll/profile/handles.hpp>
#include <papcoll/profile/mpi_calls.hpp>
#include <papcoll/profile/rank_file.hpp>

#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {
namespace profile {

/// All that records the calls of one rank: its log, and what it knows of MPI's handles.
class Recorder {
 public:
  /// As CallLog.
  Recorder(std::string path, const TableSizes& sizes, const MpiCalls& mpi, std::string library,
           bool multiple)
      : log_(std::move(path), sizes, std::move(library), multiple),
        communicators_(log_.file(), mpi),
        types_(mpi),
        mpi_(mpi) {}

  CallLog& log() noexcept { return log_; }
  const CallLog& log() const noexcept { return log_; }
  RankFile& file() noexcept { return log_.file(); }
  const RankFile& file() const noexcept { return log_.file(); }
  Communicators& communicators() noexcept { return communicators_; }
  const Types& types() const noexcept { return types_; }
  const Ops& ops() const noexcept { return ops_; }
  const MpiCalls& mpi() const noexcept { return mpi_; }

 private:
  CallLog log_;
  Communicators communicators_;
  Types types_;
  Ops ops_;
  const MpiCalls& mpi_;
};

}  // namespace profile
}  // namespace papcoll::inline PAPCOLL_ABI
