// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/transport/mpi/mpi.hpp>

namespace bench {

/// How the ranks of a communicator lie on nodes and processors.
class Placement {
 public:
  explicit Placement(MPI_Comm comm);
  ~Placement();
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  MPI_Comm comm() const { return comm_; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  MPI_Comm node_comm() const { return node_comm_; }  ///< the ranks that share this rank's memory
  int node() const { return node_; }                 ///< 0 is the node of rank 0
  int nodes() const { return nodes_; }
  int node_rank() const { return node_rank_; }
  int node_ranks() const { return node_ranks_; }
  int most_node_ranks() const { return most_node_ranks_; }  ///< on the fullest node

  /// Processors that can be busy at once, on all nodes: on each node as many as the affinity masks
  /// of its ranks cover together, but no more than it has ranks.
  int processors() const { return processors_; }

  /// Does any node have more ranks than processors they may run on?
  bool oversubscribed() const { return oversubscribed_; }

  /// Is every rank bound to one core (hardware threads of one core count as one)?
  bool pinned() const { return pinned_; }

 private:
  MPI_Comm comm_;
  MPI_Comm node_comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int ranks_ = 0;
  int node_ = 0;
  int nodes_ = 0;
  int node_rank_ = 0;
  int node_ranks_ = 0;
  int most_node_ranks_ = 0;
  int processors_ = 0;
  bool oversubscribed_ = false;
  bool pinned_ = false;
};

}  // namespace bench
