// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "candidates/irregular.hpp"
#include "candidates/layout.hpp"

#include <papcoll/base/collective.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace bench {

using papcoll::Collective;

enum class Type : unsigned char { float64, float32, int32, int64, uint8 };
enum class Op : unsigned char { sum, prod, min, max };

inline constexpr std::array<std::string_view, 5> type_names{"double", "float", "int32", "int64",
                                                            "uint8"};
inline constexpr std::array<std::string_view, 4> op_names{"sum", "prod", "min", "max"};

constexpr std::string_view name_of(Type type) { return type_names[static_cast<std::size_t>(type)]; }
constexpr std::string_view name_of(Op op) { return op_names[static_cast<std::size_t>(op)]; }

/// Calls f(std::type_identity<T>{}) with the element type that `type` stands for.
template <class F> decltype(auto) with_type(Type type, F&& f) {
  switch (type) {
    case Type::float64: return f(std::type_identity<double>{});
    case Type::float32: return f(std::type_identity<float>{});
    case Type::int32: return f(std::type_identity<std::int32_t>{});
    case Type::int64: return f(std::type_identity<std::int64_t>{});
    case Type::uint8: return f(std::type_identity<std::uint8_t>{});
  }
  std::abort();
}

inline std::size_t size_of(Type type) {
  return with_type(type, []<class T>(std::type_identity<T>) { return sizeof(T); });
}

/// The name of a collective, or of its form whose blocks differ in length.
inline std::string name_of_form(Collective collective, bool is_irregular) {
  return std::string(papcoll::name_of(collective)) + (is_irregular ? "v" : "");
}

/// One call to be timed, whoever carries it out: the arguments that all ranks agree on. `count` is
/// the count of the MPI function: a block for those that gather or scatter, and the mean of the
/// blocks where they differ.
struct Problem {
  Collective collective = Collective::allreduce;
  Type type = Type::float64;
  Op op = Op::sum;
  std::size_t count = 0;
  int root = 0;
  bool in_place = false;
  int rank = 0;
  int ranks = 1;
  Layout layout{};                               ///< of both buffers
  std::shared_ptr<const Irregular> irregular{};  ///< null: blocks of one length

  bool is_root() const { return rank == root; }
  std::size_t bytes() const { return count * size_of(type); }
  std::string name() const { return name_of_form(collective, irregular != nullptr); }

  /// Elements this rank passes in, in a buffer of its own; 0 where the output holds them. Gaps
  /// between blocks that differ count, those of a layout do not.
  std::size_t input_count() const {
    return in_place || papcoll::has_one_buffer(collective) ? 0 : held(buffers().in);
  }

  /// Elements of this rank's output, which is the only buffer of a call in place.
  std::size_t output_count() const {
    const std::size_t out = held(buffers().out);
    return in_place ? std::max(out, held(buffers().in)) : out;
  }

  /// Elements that the buffers have room for, all gaps included.
  std::size_t input_extent() const { return layout.extent(input_count()); }
  std::size_t output_extent() const { return layout.extent(output_count()); }

 private:
  papcoll::CollectiveTraits::Buffers buffers() const {
    return papcoll::buffers_of(collective, is_root());
  }

  std::size_t held(papcoll::Holds what) const {
    using papcoll::Holds;
    if (what == Holds::nothing || !papcoll::has_data(collective)) return 0;
    if (irregular != nullptr) {
      if (what == Holds::own_block) return irregular->lengths[static_cast<std::size_t>(rank)];
      return (what == Holds::blocks_from_all ? irregular->received : irregular->sent).extent;
    }
    return what == Holds::own_block || papcoll::is_elementwise(collective)
               ? count
               : count * static_cast<std::size_t>(ranks);
  }
};

/// Memory of a buffer, and how to free it.
using Memory = std::shared_ptr<std::byte>;

/// Page-aligned memory of this rank alone.
inline Memory allocate_private(std::size_t bytes) {
  constexpr std::size_t page = 4096;
  void* p = std::aligned_alloc(page, (bytes / page + 1) * page);
  if (p == nullptr) {
    throw std::runtime_error("there is no memory for " + std::to_string(bytes) + " bytes");
  }
  return {static_cast<std::byte*>(p), [](std::byte* q) { std::free(q); }};
}

/// The two buffers of a problem on this rank.
class Buffers {
 public:
  template <class Allocate>
  Buffers(const Problem& problem, Allocate&& allocate)
      : input_bytes_(problem.input_extent() * size_of(problem.type)),
        output_bytes_(problem.output_extent() * size_of(problem.type)),
        input_(allocate(input_bytes_)),
        output_(allocate(output_bytes_)) {}

  std::byte* input() const { return input_.get(); }
  std::byte* output() const { return output_.get(); }
  std::size_t input_bytes() const { return input_bytes_; }
  std::size_t output_bytes() const { return output_bytes_; }

 private:
  std::size_t input_bytes_;
  std::size_t output_bytes_;
  Memory input_;
  Memory output_;
};

}  // namespace bench
