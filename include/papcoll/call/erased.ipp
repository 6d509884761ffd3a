#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/call/automatic.hpp>
#include <papcoll/call/block_arguments.hpp>
#include <papcoll/call/erased.hpp>
#include <papcoll/call/overlap.hpp>
#include <papcoll/call/passed.hpp>
#include <papcoll/runtime/call_blocks.hpp>
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
};

/// An operator without state.
template <class Op>
inline constexpr Op stateless{};

template <class T, class Op>
constexpr PairRow pair_row() noexcept {
  PairRow row;
  if constexpr (OperatorFor<Op, T>) {
    for (std::size_t i = 0; i < std::size(instruction_sets); ++i) {
      if constexpr (Vectorizable<T, Op>) {
        row.kernels[i] = vector_kernel<T, Op>(instruction_sets[i]);
      } else {
        row.kernels[i] = plain_kernel<T, Op>;
        row.context = &stateless<Op>;
      }
    }
    row.size = sizeof(T);
    row.commutative = is_commutative<Op, T>;
    row.pair = built_in_pair<T, Op>;
  }
  return row;
}

/// Call::types of papcoll's own operators, in the order of erased::Operation and of their numbers.
template <class... Ops>
constexpr std::array<std::uint64_t, sizeof...(Ops)> bits_of_operators(TypeList<Ops...>) noexcept {
  return {operator_bits<Ops>()...};
}
inline constexpr std::array operator_types = bits_of_operators(BuiltInOperators{});

/// A row for each operator.
template <class T, class... Ops>
constexpr std::array<PairRow, sizeof...(Ops)> pair_rows(TypeList<Ops...>) noexcept {
  return {pair_row<T, Ops>()...};
}
template <class... Ts>
const PairRow* find_pair_row(TypeList<Ts...>, std::size_t type, std::size_t operation) noexcept {
  static constexpr std::array rows{pair_rows<Ts>(BuiltInOperators{})...};
  return type < rows.size() && operation < rows[type].size() ? &rows[type][operation] : nullptr;
}

template <class... Ts>
ElementNumbers find_element_numbers(TypeList<Ts...>, std::size_t type) noexcept {
  static constexpr std::array rows{element_numbers<Ts>()...};
  return type < rows.size() ? rows[type] : ElementNumbers{0, 0};
}

/// Call::types of papcoll's own pair of an arithmetic type and an operator.
inline std::uint64_t types_of(BuiltInPair pair) noexcept {
  static constexpr auto of_type = []<class... Ts>(TypeList<Ts...>) {
    return std::array{std::pair{type_number<Ts>(), element_bits<Ts>()}...};
  }(BuiltInTypes{});
  if (!pair) return 0;
  std::uint64_t types = operator_types[(pair.number >> 8U) - 1U];
  for (const auto& [number, bits] : of_type) {
    if (number == (pair.number & 0xffU)) types |= bits;
  }
  return types;
}

// -- Layouts

/// What a Layout that is not Layout{} says.
struct ParsedLayout {
  struct Block {
    std::int64_t length;  ///< elements
    std::ptrdiff_t at;    ///< bytes
  };

  bool is_list = false;
  std::size_t block = 0;
  std::ptrdiff_t stride = 0;
  detail::Vector<Block> blocks;
  std::size_t displacements = 0;  ///< as many as lengths, if the list is right
  BufferView view;
};

/// A buffer and where its elements lie, while they are checked.
struct CheckedBuffer {
  const char* name;  ///< for messages: "input"
  const void* data;
  const ParsedLayout* parts;
  std::size_t count;
  std::size_t size;  ///< bytes of an element
  bool is_written;
};

inline bool is_same_layout(const ParsedLayout* a, const ParsedLayout* b) noexcept {
  if (a == b) return true;
  if (a == nullptr || b == nullptr || a->is_list != b->is_list) return false;
  if (!a->is_list) return a->block == b->block && a->stride == b->stride;
  return std::equal(a->blocks.begin(), a->blocks.end(), b->blocks.begin(), b->blocks.end(),
                    [](const auto& x, const auto& y) {
                      return x.length == y.length && (x.length == 0 || x.at == y.at);
                    });
}

inline void check_strided(const Caller& caller, const CheckedBuffer& b) {
  const ParsedLayout& p = *b.parts;
  if (p.block == 0 || b.count % p.block != 0) {
    caller.refuse(joined({"the layout of the ", b.name, " has blocks of ", p.block,
                          " elements, which do not make up the count of ", b.count,
                          ": pass a count that is a multiple of a block"}));
  }
  const std::size_t blocks = b.count / p.block;
  if (blocks <= 1) return;
  const auto forwards = static_cast<std::size_t>(p.stride);
  const std::size_t apart = p.stride < 0 ? 0 - forwards : forwards;
  if (apart < p.block * b.size) {
    caller.refuse(joined({"the blocks of the ", b.name, " overlap: they are ", apart,
                          " bytes apart, and each has ", p.block * b.size,
                          "; pass a stride of at least a block's bytes"}));
  }
  std::size_t extent = 0;
  if (__builtin_mul_overflow(blocks, apart, &extent) || extent > PTRDIFF_MAX) {
    caller.refuse(joined({"the layout of the ", b.name, ", ", blocks, " blocks ", apart,
                          " bytes apart, spans more than PTRDIFF_MAX bytes: pass fewer blocks, or "
                          "a shorter stride"}));
  }
}

/// From the first byte to the one after the last, of each block that has any; in ascending order.
inline detail::Vector<std::pair<std::intptr_t, std::intptr_t>> sorted_ranges(
    const CheckedBuffer& b) {
  detail::Vector<std::pair<std::intptr_t, std::intptr_t>> ranges;
  const auto base = reinterpret_cast<std::intptr_t>(b.data);
  for (const ParsedLayout::Block& block : b.parts->blocks) {
    if (block.length == 0) continue;
    const std::intptr_t first = base + block.at;
    ranges.emplace_back(first, first + block.length * static_cast<std::intptr_t>(b.size));
  }
  // In each call, and most lists are in order.
  if (!std::is_sorted(ranges.begin(), ranges.end())) std::sort(ranges.begin(), ranges.end());
  return ranges;
}

inline void check_list(const Caller& caller, const CheckedBuffer& b) {
  const ParsedLayout& p = *b.parts;
  if (p.displacements != p.blocks.size()) {
    caller.refuse(joined({"the layout of the ", b.name, " has ", p.blocks.size(), " lengths and ",
                          p.displacements, " displacements: pass one of each for every block"}));
  }
  std::size_t total = 0;
  for (std::size_t i = 0; i < p.blocks.size(); ++i) {
    const auto [length, at] = p.blocks[i];
    const auto size = static_cast<std::ptrdiff_t>(b.size);
    std::ptrdiff_t end = 0;
    if (length < 0) {
      caller.refuse(joined({"the length of block ", i, " in the layout of the ", b.name, " is ",
                            length, ": they start at 0"}));
    }
    if (__builtin_mul_overflow(length, size, &end) || __builtin_add_overflow(end, at, &end) ||
        __builtin_add_overflow(total, static_cast<std::size_t>(length), &total)) {
      caller.refuse(joined({"block ", i, " in the layout of the ", b.name,
                            " ends beyond PTRDIFF_MAX bytes: pass shorter blocks, or smaller "
                            "displacements"}));
    }
  }
  if (total != b.count) {
    caller.refuse(joined({"the blocks in the layout of the ", b.name, " have ", total,
                          " elements, and the count is ", b.count, ": pass the same number"}));
  }
  if (!b.is_written) return;
  const auto ranges = sorted_ranges(b);
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first >= ranges[i - 1].second) continue;
    const auto base = reinterpret_cast<std::intptr_t>(b.data);
    caller.refuse(joined({"the blocks of the ", b.name, " that begin ", ranges[i - 1].first - base,
                          " and ", ranges[i].first - base,
                          " bytes after its address overlap: pass displacements at least a block's "
                          "bytes apart"}));
  }
}

inline void check_layout(const Caller& caller, const CheckedBuffer& b) {
  if (b.parts == nullptr || b.count == 0) return;
  if (b.parts->is_list) return check_list(caller, b);
  check_strided(caller, b);
}

/// Which bytes a buffer has.
inline Region region_of(const CheckedBuffer& b) noexcept {
  Region r;
  r.first = reinterpret_cast<std::uintptr_t>(b.data);
  r.bytes = b.count * b.size;
  if (b.parts == nullptr) return r;
  const ParsedLayout& p = *b.parts;
  if (p.is_list) {
    r.runs = &p.view.runs();
    r.element_size = b.size;
  } else if (p.block != b.count) {
    r.bytes = p.block * b.size;
    r.add(b.count / p.block, p.stride);
  }
  return r;
}

inline void check_laid_out_apart(const Caller& caller, const CheckedBuffer& in,
                                 const CheckedBuffer& out) {
  if (in.count == 0 || out.count == 0) return;
  caller.require(!share_bytes(region_of(in), region_of(out)),
                 "input and output overlap: pass the same buffer and layout twice (in place), or "
                 "two that have no element in common");
}

PAPCOLL_DECL void lay_erased(const Caller& caller, LayoutArguments& arguments, Call& call,
                             std::size_t in_count, std::size_t out_count, bool in_place) {
  const erased::Layouts& layouts = *static_cast<ErasedLayouts&>(arguments).given;
  const std::size_t size = call.reducer.size;
  const std::size_t larger = std::max(in_count, out_count);
  const CheckedBuffer in{"input", call.in, layouts.in.parts(), in_place ? larger : in_count,
                         size,    in_place};
  const CheckedBuffer out{"output", call.out, layouts.out.parts(), in_place ? larger : out_count,
                          size,     true};
  check_pointers(caller, call.in, in.count, call.out, out.count);
  try {
    check_layout(caller, in);
    if (in_place) {
      caller.require(larger == 0 || is_same_layout(in.parts, out.parts),
                     "input and output are one buffer with two layouts: pass the same one for both "
                     "(in place), or two buffers");
    } else {
      check_layout(caller, out);
      if constexpr (assertion_level != 0) check_laid_out_apart(caller, in, out);
    }
  } catch (const std::bad_alloc& problem) {  // the peers are in the call, or will be
    if (!caller.non_blocking) caller.core.fail_everywhere(problem);
    throw;
  }
  if (in.parts != nullptr && in.count != 0) call.in_view = &in.parts->view;
  if (out.parts != nullptr && out.count != 0) call.out_view = &out.parts->view;
  call.apart = call.in_view != nullptr || call.out_view != nullptr;
}

// -- Calls

/// Checks what typed calls know.
inline void check_erased(const Caller& caller, const ErasedCall& c) {
  if (!has_data(c.collective)) return;
  caller.require(c.reducer.apply != nullptr || !is_reduction(c.collective),
                 "this operator has no function: papcoll's own have none for types on which they "
                 "mean nothing, such as bits of floating-point numbers; pass another pair, or a "
                 "Reducer with a function");
  caller.require(c.reducer.size != 0 && c.reducer.size <= PTRDIFF_MAX,
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
  check_erased({c.core, c.collective, false, c.uneven != nullptr}, c);
  c.algorithm = &algorithm;
  run_call(c.core, c, route);
}

template <Collective C>
void run_erased(ErasedCall&& c, const Algorithm& algorithm) {
  static constexpr Route route = route_of<Way::blocking, C, true>();
  run_erased_call(c, algorithm, route);
}

PAPCOLL_DECL Request start_erased(ErasedCall&& c, const Algorithm& algorithm) {
  check_erased({c.core, c.collective, true, c.uneven != nullptr}, c);
  c.algorithm = &algorithm;
  return start_call(c.core, c, erased_route<Way::non_blocking>(AllCollectives{}, c.collective),
                    nullptr);
}

PAPCOLL_DECL Persistent prepare_erased(ErasedCall&& c, const Algorithm& algorithm) {
  check_erased({c.core, c.collective, false, c.uneven != nullptr}, c);
  c.algorithm = &algorithm;
  return prepare_call(c.core, c, erased_route<Way::persistent>(AllCollectives{}, c.collective),
                      nullptr);
}

}  // namespace detail

namespace erased {

PAPCOLL_DECL Element::Element(ElementType type) noexcept
    : numbers_(papcoll::detail::find_element_numbers(papcoll::detail::ErasedTypes{},
                                                     static_cast<std::size_t>(type))) {}

PAPCOLL_DECL Element::Element(std::size_t size, std::uint32_t number) noexcept
    : numbers_{size, papcoll::detail::caller_bits(number, 21) << 18U} {}

PAPCOLL_DECL Operator::Operator(const Reducer& reducer) noexcept
    : reducer_(reducer), types_(papcoll::detail::types_of(reducer.built_in)) {}

PAPCOLL_DECL Operator::Operator(const Reducer& reducer, const Element& element,
                                std::uint32_t number) noexcept
    : reducer_(reducer),
      types_(element.numbers().types | papcoll::detail::caller_bits(number, 17) << 1U) {}

PAPCOLL_DECL Operator reducer(ElementType type, Operation operation) noexcept {
  using namespace papcoll::detail;
  const auto i = static_cast<std::size_t>(operation);
  const PairRow* const row = find_pair_row(ErasedTypes{}, static_cast<std::size_t>(type), i);
  if (row == nullptr || row->kernels[0] == nullptr) return Reducer{};
  Operator found{Reducer{row->kernels[static_cast<std::size_t>(best_instruction_set())],
                         row->context, row->size, row->commutative, row->pair},
                 Element{type}};
  found.types_ |= operator_types[i];
  return found;
}

PAPCOLL_DECL Layout Layout::strided(std::size_t block, std::ptrdiff_t stride) {
  auto parts = detail::make_shared<papcoll::detail::ParsedLayout>();
  parts->block = block;
  parts->stride = stride;
  parts->view = BufferView::strided(std::max<std::size_t>(block, 1), stride);
  Layout layout;
  layout.parts_ = std::move(parts);
  return layout;
}

PAPCOLL_DECL Layout Layout::of_blocks(const counts& lengths, const counts& displacements) {
  auto parts = detail::make_shared<papcoll::detail::ParsedLayout>();
  parts->is_list = true;
  parts->displacements = displacements.size();
  detail::Vector<BufferView::Run> runs;
  std::size_t first = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto length = static_cast<std::int64_t>(lengths[i]);
    const std::size_t at = i < displacements.size() ? displacements[i] : 0;
    parts->blocks.push_back({length, static_cast<std::ptrdiff_t>(at)});
    if (length <= 0) continue;
    runs.push_back({first, parts->blocks.back().at});
    first += lengths[i];
  }
  parts->view = BufferView::of_runs(std::move(runs));
  Layout layout;
  layout.parts_ = std::move(parts);
  return layout;
}

}  // namespace erased

}  // namespace papcoll::inline PAPCOLL_ABI
