// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/automatic.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/call/blocks.hpp>
#include <papcoll/call/layouts.hpp>
#include <papcoll/erased.hpp>
#include <papcoll/runtime/call_records.hpp>
#include <papcoll/runtime/team.hpp>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {

// -- Elements and operators

/// A caller's number, spread over bits that ranks compare.
inline std::uint64_t caller_bits(std::uint32_t number, unsigned bits) noexcept {
  return number == 0 ? 0 : (number * 2654435761U) >> (32U - bits);
}

/// In the order of erased::ElementType.
using ErasedTypes = TypeList<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                             std::uint16_t, std::uint32_t, std::uint64_t, float, double, bool,
                             std::complex<float>, std::complex<double>>;

/// All that makes a papcoll::erased::Operator of a type and an operator, so that each pair is data
/// and no code.
struct PairRow {
  Kernel* kernels[std::size(instruction_sets)]{};  ///< null: the pair has no meaning
  const void* context = nullptr;
  std::uint8_t size = 0;
  bool commutative = false;
  BuiltInPair pair;
  std::uint64_t types = 0;  ///< in Call::types, but for the bit of whether the operator commutes
};

/// An operator without state.
template <class Op> inline constexpr Op stateless{};

template <class T, class Op> constexpr PairRow pair_row() noexcept {
  PairRow row;
  row.size = sizeof(T);
  row.types = element_bits<T>() | operator_bits<Op>();
  if constexpr (OperatorFor<Op, T>) {
    for (std::size_t i = 0; i < std::size(instruction_sets); ++i) {
      if constexpr (Vectorizable<T, Op>) {
        row.kernels[i] = vector_kernel<T, Op>(instruction_sets[i]);
      } else {
        row.kernels[i] = plain_kernel<T, Op>;
        row.context = &stateless<Op>;
      }
    }
    row.commutative = is_commutative<Op, T>;
    row.pair = built_in_pair<T, Op>;
  }
  return row;
}

/// A row for each operator, in the order of erased::Operation and of their numbers.
template <class T, class... Ops>
constexpr std::array<PairRow, sizeof...(Ops)> pair_rows(TypeList<Ops...>) noexcept {
  return {pair_row<T, Ops>()...};
}
inline constexpr auto all_pair_rows = []<class... Ts>(TypeList<Ts...>) {
  return std::array{pair_rows<Ts>(BuiltInOperators{})...};
}(ErasedTypes{});

/// Null: there is no such pair.
inline const PairRow* find_pair_row(std::size_t type, std::size_t operation) noexcept {
  const bool is_known = type < ErasedTypes::size && operation < BuiltInOperators::size;
  return is_known ? &all_pair_rows[type][operation] : nullptr;
}

inline ElementNumbers find_element_numbers(std::size_t type) noexcept {
  const PairRow* const row = find_pair_row(type, 0);
  if (row == nullptr) return {0, 0};
  return {row->size, row->types >> 18U << 18U};
}

/// Call::types of a reduction of which no more is known than this.
inline std::uint64_t types_of(const Reducer& reducer) noexcept {
  const std::uint64_t commutes = reducer.commutative ? 1 : 0;
  if (!reducer.built_in) return commutes;
  for (const auto& of_type : all_pair_rows) {
    const PairRow& row = of_type[(reducer.built_in.number >> 8U) - 1U];
    if (row.pair == reducer.built_in) return commutes | row.types;
  }
  return commutes;
}

// -- Layouts

/// The contents of a Layout other than Layout{}: blocks of contiguous elements, in bytes.
struct ErasedLayout {
  std::size_t block = 0;      ///< elements of each, unless it is a list
  std::ptrdiff_t stride = 0;  ///< from one to the next
  bool is_list = false;
  Vector<std::int64_t> lengths;          ///< of a list, elements
  Vector<std::ptrdiff_t> displacements;  ///< of a list, as many if it is right
  BufferView view;                       ///< of a list

  /// The layout of so many elements of `size` bytes, which are not 0.
  BufferLayout of(const char* name, std::size_t count, std::size_t size) const {
    BufferLayout l{.name = name, .is_list = is_list, .unit = 1};
    if (is_list) {
      l.lengths = counts{lengths};
      l.displacements = counts{displacements};
      l.cached_view = &view;
    } else {
      l.dimensions = 2;
      l.extents = {count / block, block};
      l.strides = {stride, static_cast<std::ptrdiff_t>(size)};
    }
    return l;
  }
};

/// Returns the view of `count` elements of one of a call's buffers.
inline const BufferView* view_of_erased(const CallOrigin& origin, const char* name,
                                        const erased::Layout& layout, std::size_t count,
                                        std::size_t size, bool is_written, BufferView& room) {
  const ErasedLayout* const parts = layout.parts();
  if (parts == nullptr || count == 0) return nullptr;
  if (!parts->is_list && (parts->block == 0 || count % parts->block != 0)) {
    origin.refuse(joined({"the layout of the ", name, " has blocks of ", parts->block,
                          " elements, which do not make up the count of ", count,
                          ": pass a count that is a multiple of a block"}));
  }
  const CheckedLayout checked =
      check_layout(origin, parts->of(name, count, size), size, is_written, room);
  if (checked.count != count) {
    origin.refuse(joined({"the blocks in the layout of the ", name, " have ", checked.count,
                          " elements, and the count is ", count, ": pass the same number"}));
  }
  return checked.view;
}

PAPCOLL_DECL void make_erased_views(const CallOrigin& origin, LayoutArguments& arguments,
                                    Call& call, std::size_t in_count, std::size_t out_count,
                                    bool in_place) {
  const erased::Layouts& given = *static_cast<ErasedLayouts&>(arguments).given;
  const std::size_t size = call.reducer.size;
  if (in_place) in_count = out_count = std::max(in_count, out_count);
  check_pointers(origin, call.in, in_count, call.out, out_count);
  CallBlocks& views = blocks_of(origin);
  call.in_view = view_of_erased(origin, "input", given.in, in_count, size, in_place, views.in);
  call.out_view = view_of_erased(origin, "output", given.out, out_count, size, true, views.out);
  call.is_noncontiguous = call.in_view != nullptr || call.out_view != nullptr;
  if (!in_place) return check_disjoint(origin, call, in_count, out_count);
  origin.require(lie_alike(call.in_view, call.out_view),
                 "input and output are one buffer with two layouts: pass the same one for both "
                 "(in place), or two buffers");
}

// -- Calls

/// Checks what typed calls know.
inline void check_erased(const CallOrigin& origin, const ErasedCall& c) {
  if (!has_data(c.collective)) return;
  origin.require(c.reducer.apply != nullptr || !is_reduction(c.collective),
                 "this operator has no function: papcoll's own have none for types on which they "
                 "mean nothing, such as bits of floating-point numbers; pass another pair, or a "
                 "Reducer with a function");
  origin.require(c.reducer.size != 0 && c.reducer.size <= PTRDIFF_MAX,
                 "an element of 0 bytes is none: pass an erased::ElementType, or the size of your "
                 "type");
}

/// The route of a call of that collective.
template <Way W, Collective... Cs>
const Route& erased_route(CollectiveList<Cs...>, Collective c) noexcept {
  static constexpr Route routes[] = {route_of<W, Cs, true>()...};
  return routes[static_cast<std::size_t>(c)];
}

[[gnu::noinline]] inline void run_erased_call(ErasedCall& c, const Algorithm& algorithm,
                                              const Route& route) {
  check_erased({c.core, c.collective, false, c.irregular != nullptr}, c);
  c.algorithm = &algorithm;
  run_call(c.core, c, route);
}

template <Collective C> void run_erased(ErasedCall&& c, const Algorithm& algorithm) {
  static constexpr Route route = route_of<Way::blocking, C, true>();
  run_erased_call(c, algorithm, route);
}

PAPCOLL_DECL Request start_erased(ErasedCall&& c, const Algorithm& algorithm) {
  check_erased({c.core, c.collective, true, c.irregular != nullptr}, c);
  c.algorithm = &algorithm;
  return start_call(c.core, c, erased_route<Way::non_blocking>(AllCollectives{}, c.collective),
                    nullptr);
}

PAPCOLL_DECL Persistent prepare_erased(ErasedCall&& c, const Algorithm& algorithm) {
  check_erased({c.core, c.collective, false, c.irregular != nullptr}, c);
  c.algorithm = &algorithm;
  return prepare_call(c.core, c, erased_route<Way::persistent>(AllCollectives{}, c.collective),
                      nullptr);
}

}  // namespace detail

namespace erased {

PAPCOLL_DECL Element::Element(ElementType type) noexcept
    : Element(detail::find_element_numbers(static_cast<std::size_t>(type))) {}

PAPCOLL_DECL Element::Element(std::size_t size, std::uint32_t number) noexcept
    : Element(detail::ElementNumbers{size, detail::caller_bits(number, 21) << 18U}) {}

PAPCOLL_DECL Operator::Operator(const Reducer& reducer) noexcept
    : ErasedElements(reducer, detail::types_of(reducer)) {}

PAPCOLL_DECL Operator::Operator(const Reducer& reducer, const Element& element,
                                std::uint32_t number) noexcept
    : ErasedElements(reducer, element.numbers().types | detail::caller_bits(number, 17) << 1U |
                                  (reducer.commutative ? 1U : 0U)) {}

PAPCOLL_DECL Operator reducer(ElementType type, Operation operation) noexcept {
  using namespace detail;
  const PairRow* const row =
      find_pair_row(static_cast<std::size_t>(type), static_cast<std::size_t>(operation));
  if (row == nullptr || row->kernels[0] == nullptr) return Reducer{};
  Operator found{Reducer{row->kernels[static_cast<std::size_t>(best_instruction_set())],
                         row->context, row->size, row->commutative, row->pair}};
  found.types_ |= row->types;
  return found;
}

PAPCOLL_DECL Layout Layout::strided(std::size_t block, std::ptrdiff_t stride) {
  auto parts = detail::make_shared<detail::ErasedLayout>();
  parts->block = block;
  parts->stride = stride;
  Layout layout;
  layout.parts_ = std::move(parts);
  return layout;
}

PAPCOLL_DECL Layout Layout::of_blocks(const counts& lengths, const counts& displacements) {
  auto parts = detail::make_shared<detail::ErasedLayout>();
  parts->is_list = true;
  for (std::size_t i = 0; i < displacements.size(); ++i) {
    parts->displacements.push_back(static_cast<std::ptrdiff_t>(displacements[i]));
  }
  detail::Vector<BufferView::Run> runs;
  std::size_t first = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    parts->lengths.push_back(static_cast<std::int64_t>(lengths[i]));
    if (parts->lengths.back() <= 0 || i >= displacements.size()) continue;
    runs.push_back({first, parts->displacements[i]});
    first += lengths[i];
  }
  parts->view = BufferView::of_runs(std::move(runs));
  Layout layout;
  layout.parts_ = std::move(parts);
  return layout;
}

}  // namespace erased
}  // namespace papcoll::inline PAPCOLL_ABI
