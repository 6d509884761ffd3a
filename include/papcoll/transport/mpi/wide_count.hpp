#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/transport/mpi/check.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/nonblocking_collectives.hpp>

#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// A number of bytes as the (count, datatype) pair that MPI-3 functions take, whose counts are
/// ints: plain bytes, or above 1 GiB one element of a datatype made for the message.
class WideCount : Pinned {
 public:
  explicit WideCount(std::size_t bytes) {
    constexpr std::size_t plain = std::size_t{1} << 30;
    if (bytes <= plain) {
      count_ = static_cast<int>(bytes);
    } else {
      make_type(bytes);
    }
  }
  ~WideCount() {
    if (made_) MPI_Type_free(&type_);
  }

  int count() const noexcept { return count_; }
  MPI_Datatype type() const noexcept { return type_; }

 private:
  [[gnu::cold, gnu::noinline]] void make_type(std::size_t bytes) {
    constexpr std::size_t unit = std::size_t{1} << 20;
    const char* const where = "papcoll's message of more than 1 GiB";
    MPI_Datatype mebibyte = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(static_cast<int>(unit), MPI_BYTE, &mebibyte), "MPI_Type_contiguous",
          where);
    int lengths[2] = {static_cast<int>(bytes / unit), static_cast<int>(bytes % unit)};
    MPI_Aint offsets[2] = {0, static_cast<MPI_Aint>(bytes / unit * unit)};
    MPI_Datatype types[2] = {mebibyte, MPI_BYTE};
    check(MPI_Type_create_struct(2, lengths, offsets, types, &type_), "MPI_Type_create_struct",
          where);
    check(MPI_Type_commit(&type_), "MPI_Type_commit", where);
    check(MPI_Type_free(&mebibyte), "MPI_Type_free", where);
    made_ = true;
  }

  int count_ = 1;
  MPI_Datatype type_ = MPI_BYTE;
  bool made_ = false;
};

/// The length of a message received as a WideCount.
inline MPI_Count received_bytes(const MPI_Status& status, const char* where) {
  MPI_Count bytes = 0;
  check(get_bytes(status, bytes), "MPI_Get_elements_x", where);
  return bytes;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
