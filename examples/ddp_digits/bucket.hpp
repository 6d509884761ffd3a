// SPDX-License-Identifier: BSD-3-Clause
// The gradients of all layers, fused into one buffer that is reduced at once: one collective a step
// instead of one a layer.
#pragma once

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/papcoll.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace ddp {

/// Sums a buffer over all ranks: by the MPI library ("mpi"), or by papcoll, with the algorithm of a
/// name or ("auto") one that papcoll chooses.
class Allreduce {
 public:
  explicit Allreduce(const std::string& name) : native_(name == "mpi") {
    if (!native_ && name != "auto") algorithm_ = papcoll::algorithm(name);
  }

  void operator()(papcoll::Communicator& comm, std::span<float> data) const {
    if (native_) {
      MPI_Allreduce(MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
    } else {
      papcoll::allreduce(comm, data, papcoll::sum, algorithm_);
    }
  }

 private:
  bool native_;
  papcoll::Algorithm algorithm_;
};

/// A step's gradient; the loss rides along in the last element.
class Bucket {
 public:
  explicit Bucket(std::size_t weights) : data_(weights + 1) {}

  std::span<float> gradient() { return std::span{data_}.first(data_.size() - 1); }
  float& loss() { return data_.back(); }
  std::span<float> all() { return data_; }

  void clear() { std::fill(data_.begin(), data_.end(), 0.0F); }

  /// Makes a sum over a batch a mean.
  void divide_by(std::size_t batch) {
    for (float& x : data_) x /= static_cast<float>(batch);
  }

 private:
  std::vector<float> data_;
};

}  // namespace ddp
