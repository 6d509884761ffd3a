#pragma once

#include <papcoll/automatic.hpp>
#include <papcoll/base/collective_list.hpp>
#include <papcoll/base/joined.hpp>
#include <papcoll/entry/block_arguments.hpp>
#include <papcoll/entry/passed.hpp>
#include <papcoll/entry/shared_bytes.hpp>
#include <papcoll/erased.hpp>
#include <papcoll/runtime/call_blocks.hpp>
#include <papcoll/runtime/team.hpp>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

// -- Elements and operators

/// A caller's number, spread over bits that ranks compare.
inline std::uint64_t caller_bits(std::uint32_t number, unsigned bits) noexcept {
  return number == 0 ? 0 : (number * 2654435761U) >> (32U - bits);
}

/// f.operator()<T>() for the type of that value; `none` if there is no such type.
template <class R, class F>
R with_element_type(erased::ElementType type, const R& none, F&& f) {
  using enum erased::ElementType;
  switch (type) {
    case int8:
      return f.template operator()<std::int8_t>();
    case int16:
      return f.template operator()<std::int16_t>();
    case int32:
      return f.template operator()<std::int32_t>();
    case int64:
      return f.template operator()<std::int64_t>();
    case uint8:
      return f.template operator()<std::uint8_t>();
    case uint16:
      return f.template operator()<std::uint16_t>();
    case uint32:
      return f.template operator()<std::uint32_t>();
    case uint64:
      return f.template operator()<std::uint64_t>();
    case float32:
      return f.template operator()<float>();
    case float64:
      return f.template operator()<double>();
    case boolean:
      return f.template operator()<bool>();
    case complex64:
      return f.template operator()<std::complex<float>>();
    case complex128:
      return f.template operator()<std::complex<double>>();
  }
  return none;
}

/// What a pair without meaning gives: it has no function.
inline erased::Operator no_operator() noexcept { return Reducer{}; }

template <class T, class Op>
erased::Operator operator_if_any(const Op& op) noexcept {
  if constexpr (OperatorFor<Op, T>) return erased::Operator::of<T>(op);
  return no_operator();
}

template <class T>
erased::Operator operator_on(erased::Operation operation) noexcept {
  switch (operation) {
    case erased::Operation::sum:
      return operator_if_any<T>(sum);
    case erased::Operation::prod:
      return operator_if_any<T>(prod);
    case erased::Operation::min:
      return operator_if_any<T>(min);
    case erased::Operation::max:
      return operator_if_any<T>(max);
    case erased::Operation::bit_and:
      return operator_if_any<T>(bit_and);
    case erased::Operation::bit_or:
      return operator_if_any<T>(bit_or);
    case erased::Operation::bit_xor:
      return operator_if_any<T>(bit_xor);
    case erased::Operation::logical_and:
      return operator_if_any<T>(logical_and);
    case erased::Operation::logical_or:
      return operator_if_any<T>(logical_or);
    case erased::Operation::logical_xor:
      return operator_if_any<T>(logical_xor);
  }
  return no_operator();
}

/// Call::types of papcoll's own pair of an arithmetic type and an operator.
inline std::uint64_t types_of(BuiltInPair pair) noexcept {
  static constexpr std::array of_operator{operator_bits<Sum>(),       operator_bits<Prod>(),
                                          operator_bits<Min>(),       operator_bits<Max>(),
                                          operator_bits<BitAnd>(),    operator_bits<BitOr>(),
                                          operator_bits<BitXor>(),    operator_bits<LogicalAnd>(),
                                          operator_bits<LogicalOr>(), operator_bits<LogicalXor>()};
  static constexpr std::array of_type{
      std::pair{type_number<std::int8_t>(), element_bits<std::int8_t>()},
      std::pair{type_number<std::int16_t>(), element_bits<std::int16_t>()},
      std::pair{type_number<std::int32_t>(), element_bits<std::int32_t>()},
      std::pair{type_number<std::int64_t>(), element_bits<std::int64_t>()},
      std::pair{type_number<std::uint8_t>(), element_bits<std::uint8_t>()},
      std::pair{type_number<std::uint16_t>(), element_bits<std::uint16_t>()},
      std::pair{type_number<std::uint32_t>(), element_bits<std::uint32_t>()},
      std::pair{type_number<std::uint64_t>(), element_bits<std::uint64_t>()},
      std::pair{type_number<float>(), element_bits<float>()},
      std::pair{type_number<double>(), element_bits<double>()}};
  if (!pair) return 0;
  std::uint64_t types = of_operator[(pair.number >> 8U) - 1U];
  for (const auto& [number, bits] : of_type) {
    if (number == (pair.number & 0xffU)) types |= bits;
  }
  return types;
}

// -- Layouts

/// What a Layout that is not Layout{} says.
struct LayoutParts {
  struct Block {
    std::int64_t length;  ///< elements
    std::ptrdiff_t at;    ///< bytes
  };

  bool is_list = false;
  std::size_t block = 0;
  std::ptrdiff_t stride = 0;
  std::vector<Block> blocks;
  std::size_t displacements = 0;  ///< as many as lengths, if the list is right
  DataView view;
};

/// A buffer and where its elements lie, while they are checked.
struct LaidOut {
  const char* name;  ///< for messages: "input"
  const void* data;
  const LayoutParts* parts;
  std::size_t count;
  std::size_t size;  ///< bytes of an element
  bool is_written;
};

inline bool is_same_layout(const LayoutParts* a, const LayoutParts* b) noexcept {
  if (a == b) return true;
  if (a == nullptr || b == nullptr || a->is_list != b->is_list) return false;
  if (!a->is_list) return a->block == b->block && a->stride == b->stride;
  return std::equal(a->blocks.begin(), a->blocks.end(), b->blocks.begin(), b->blocks.end(),
                    [](const auto& x, const auto& y) {
                      return x.length == y.length && (x.length == 0 || x.at == y.at);
                    });
}

inline void check_strided(const Caller& caller, const LaidOut& b) {
  const LayoutParts& p = *b.parts;
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
inline std::vector<std::pair<std::intptr_t, std::intptr_t>> sorted_ranges(const LaidOut& b) {
  std::vector<std::pair<std::intptr_t, std::intptr_t>> ranges;
  const auto base = reinterpret_cast<std::intptr_t>(b.data);
  for (const LayoutParts::Block& block : b.parts->blocks) {
    if (block.length == 0) continue;
    const std::intptr_t first = base + block.at;
    ranges.emplace_back(first, first + block.length * static_cast<std::intptr_t>(b.size));
  }
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

inline void check_list(const Caller& caller, const LaidOut& b) {
  const LayoutParts& p = *b.parts;
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

inline void check_layout(const Caller& caller, const LaidOut& b) {
  if (b.parts == nullptr || b.count == 0) return;
  if (b.parts->is_list) return check_list(caller, b);
  check_strided(caller, b);
}

/// The bytes of a buffer that is no list.
inline Region region_of(const LaidOut& b) noexcept {
  Region r;
  r.first = reinterpret_cast<std::uintptr_t>(b.data);
  if (b.parts == nullptr || b.parts->block == b.count) {
    r.bytes = b.count * b.size;
    return r;
  }
  const LayoutParts& p = *b.parts;
  r.bytes = p.block * b.size;
  r.add(b.count / p.block, p.stride);
  return r;
}

/// Do two buffers with elements, of which one at least is a list, have a byte in common?
inline bool lists_share_bytes(const LaidOut& a, const LaidOut& b) {
  const auto is_list = [](const LaidOut& x) { return x.parts != nullptr && x.parts->is_list; };
  if (!is_list(a)) return lists_share_bytes(b, a);
  const auto ranges = sorted_ranges(a);
  if (!is_list(b)) {
    const Region region = region_of(b);
    return std::any_of(ranges.begin(), ranges.end(), [&](const auto& r) {
      return has_one_of(region, static_cast<std::uintptr_t>(r.first),
                        static_cast<std::size_t>(r.second - r.first));
    });
  }
  const auto others = sorted_ranges(b);
  for (std::size_t i = 0, j = 0; i < ranges.size() && j < others.size();) {
    if (ranges[i].second <= others[j].first) {
      ++i;
    } else if (others[j].second <= ranges[i].first) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

inline void check_laid_out_apart(const Caller& caller, const LaidOut& in, const LaidOut& out) {
  if (in.count == 0 || out.count == 0) return;
  const auto is_list = [](const LaidOut& x) { return x.parts != nullptr && x.parts->is_list; };
  const bool overlap = is_list(in) || is_list(out)
                           ? lists_share_bytes(in, out)
                           : pieces_share_bytes(region_of(in), region_of(out));
  caller.require(!overlap,
                 "input and output overlap: pass the same buffer and layout twice (in place), or "
                 "two that have no element in common");
}

/// The elements that an erased call looks at in its buffers.
struct ErasedCounts {
  std::size_t in;
  std::size_t out;
  bool in_place;  ///< one buffer, of the larger number
};

/// Tells a call where its elements lie, if one of its buffers has them apart.
inline void lay_out(const Caller& caller, Call& call, const erased::Layouts& layouts,
                    const ErasedCounts& n) {
  const std::size_t size = call.reducer.size;
  const std::size_t larger = std::max(n.in, n.out);
  const LaidOut in{"input", call.in,   layouts.in.parts(), n.in_place ? larger : n.in,
                   size,    n.in_place};
  const LaidOut out{"output", call.out, layouts.out.parts(), n.in_place ? larger : n.out,
                    size,     true};
  check_pointers(caller, call.in, in.count, call.out, out.count);
  try {
    check_layout(caller, in);
    if (n.in_place) {
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

inline void check_elements(const Caller& caller, std::size_t size) {
  caller.require(size != 0 && size <= PTRDIFF_MAX,
                 "an element of 0 bytes is none: pass an erased::ElementType, or the size of your "
                 "type");
}

/// Elements of all ranks together, each with `count` of them.
inline std::size_t count_of_all(const Caller& caller, const ErasedCall& c, std::size_t size) {
  caller.require_few_bytes(c.count, size);
  return c.count * caller.ranks();
}

/// The local checks of a call's buffers.
inline void check_erased_buffers(const Caller& caller, Call& call, const erased::Layouts& layouts,
                                 const ErasedCounts& n) {
  if (layouts.in.parts() != nullptr || layouts.out.parts() != nullptr) {
    return lay_out(caller, call, layouts, n);
  }
  if (n.in_place && !is_reduction(call.collective)) {
    // A block of one's own at its place in the other buffer is no second buffer.
    return n.in < n.out ? check_buffers(caller, call, 0, n.out)
                        : check_buffers(caller, call, n.in, 0);
  }
  check_buffers(caller, call, n.in, n.out);
}

inline Call erased_movement(const Caller& caller, const ErasedCall& c) {
  check_elements(caller, c.element.size);
  Call call = call_of(c.collective, c.in, c.out, c.count, c.element);
  if (is_rooted(c.collective)) check_root(caller, c.at);
  call.root = c.at.rank;
  const std::size_t all = c.collective == Collective::bcast
                              ? (caller.require_few_bytes(c.count, c.element.size), c.count)
                              : count_of_all(caller, c, c.element.size);
  const bool is_root = !is_rooted(c.collective) || caller.rank() == c.at.rank;
  const bool in_place = c.in == c.out && is_root;
  switch (c.collective) {
    case Collective::allgather:
    case Collective::gather:
      if (!is_root) call.out = nullptr;
      check_erased_buffers(caller, call, *c.layouts, {c.count, is_root ? all : 0, in_place});
      if (in_place && c.in != nullptr) begin_with_own_block(call, caller.rank());
      break;
    case Collective::scatter:
      if (!is_root) call.in = nullptr;
      check_erased_buffers(caller, call, *c.layouts, {is_root ? all : 0, c.count, in_place});
      call.input_in_output = in_place;
      break;
    case Collective::bcast:
      check_erased_buffers(caller, call, *c.layouts, {all, all, true});
      break;
    default:
      check_erased_buffers(caller, call, *c.layouts, {all, all, in_place});
  }
  return call;
}

inline bool has_blocks(const ErasedCall& c) noexcept {
  return c.sent != nullptr || c.received != nullptr;
}

inline Call erased_blocks(const Caller& caller, const ErasedCall& c, CallBlocks& numbers) {
  constexpr std::size_t any = BlockedBuffer::any_length;
  check_elements(caller, c.element.size);
  if (c.collective == Collective::alltoall) {
    return alltoallv_call(caller, {c.in, any, *c.sent, c.out, any, *c.received, c.element},
                          numbers);
  }
  const blocks& each = c.sent != nullptr ? *c.sent : *c.received;
  const BlocksOfOneBuffer buffers{c.in, any, c.out, any, each, c.in == c.out, c.element};
  if (c.collective == Collective::allgather) return allgatherv_call(caller, buffers, numbers);
  if (c.collective == Collective::gather) return gatherv_call(caller, c.at, buffers, numbers);
  return scatterv_call(caller, c.at, buffers, numbers);
}

inline Call erased_reduction(const Caller& caller, const ErasedCall& c, CallBlocks* numbers) {
  const Reducer& reducer = c.op->reducer();
  caller.require(reducer.apply != nullptr,
                 "this operator has no function: papcoll's own have none for types on which they "
                 "mean nothing, such as bits of floating-point numbers; pass another pair, or a "
                 "Reducer with a function");
  check_elements(caller, reducer.size);
  Call call = call_of(c.collective, c.in, c.out, c.count, {reducer.size, c.op->types()});
  call.reducer = reducer;
  call.types |= reducer.commutative ? 1U : 0U;
  if (is_rooted(c.collective)) check_root(caller, c.at);
  call.root = c.at.rank;
  if (c.each != nullptr) {
    std::size_t* const sizes = room_for_blocks(caller, *numbers, 1);
    std::size_t* const places = sizes + caller.ranks();
    call.count = check_blocks(caller, {"input", *c.each, BlockedBuffer::any_length}, reducer.size,
                              sizes, places, nullptr)
                     .total;
    call.counts = sizes;
    call.split = hash_of_counts({sizes, caller.ranks()});
    check_buffers(caller, call, call.count, sizes[static_cast<std::size_t>(caller.rank())]);
    return call;
  }
  std::size_t in = c.count;
  std::size_t out = c.count;
  if (c.collective == Collective::reduce_scatter) {
    in = count_of_all(caller, c, reducer.size);
  } else {
    caller.require_few_bytes(c.count, reducer.size);
    if (is_rooted(c.collective) && caller.rank() != c.at.rank) out = 0;
  }
  check_erased_buffers(caller, call, *c.layouts, {in, out, c.in == c.out && out != 0});
  return call;
}

/// What an erased call borrows that a request or a prepared call keeps.
struct ErasedParts {
  erased::Layouts layouts;
  CallBlocks blocks;
  std::byte token{};
};

/// Checks a call, which borrows what `c` points to, `numbers` and `token`.
inline Call erased_call(const Caller& caller, const ErasedCall& c, CallBlocks* numbers,
                        std::byte& token) {
  if (c.collective == Collective::barrier) return barrier_call(&token);
  const bool differ = c.sent != nullptr || c.received != nullptr || c.each != nullptr;
  if (differ && numbers == nullptr) numbers = &blocks_of(caller);
  if (c.op != nullptr) return erased_reduction(caller, c, numbers);
  return differ ? erased_blocks(caller, c, *numbers) : erased_movement(caller, c);
}

/// The same of a call that outlives the one of its function.
inline Call owned_erased_call(const Caller& caller, ErasedCall c, ErasedParts& parts) {
  if (c.layouts != nullptr) parts.layouts = *c.layouts;
  c.layouts = &parts.layouts;
  return erased_call(caller, c, &parts.blocks, parts.token);
}

template <Collective C>
void run_erased(const ErasedCall& c, const Algorithm& algorithm) {
  const Caller caller{c.core, C, false, has_blocks(c)};
  std::byte token{};
  Call call = erased_call(caller, c, nullptr, token);
  run<CollectiveTag<C>, true>(caller, call, algorithm);
}

PAPCOLL_DECL Request start_erased(const ErasedCall& c, const Algorithm& algorithm) {
  const Caller caller{c.core, c.collective, true, has_blocks(c)};
  auto owned = std::make_shared<ErasedParts>();
  Call call = owned_erased_call(caller, c, *owned);
  Request request;
  with_collective(AllCollectives{}, c.collective, [&]<Collective C>() {
    request = start<CollectiveTag<C>, true>(caller, call, algorithm, std::move(owned));
  });
  return request;
}

PAPCOLL_DECL Persistent prepare_erased(const ErasedCall& c, const Algorithm& algorithm) {
  const Caller caller{c.core, c.collective, false, has_blocks(c)};
  auto owned = std::make_shared<ErasedParts>();
  Call call = owned_erased_call(caller, c, *owned);
  Persistent prepared;
  with_collective(AllCollectives{}, c.collective, [&]<Collective C>() {
    prepared = prepare<CollectiveTag<C>, true>(caller, call, algorithm, std::move(owned));
  });
  return prepared;
}

}  // namespace detail

namespace erased {

PAPCOLL_DECL Element::Element(ElementType type) noexcept
    : numbers_(papcoll::detail::with_element_type(
          type, papcoll::detail::ElementNumbers{0, 0},
          []<class T>() { return papcoll::detail::element_numbers<T>(); })) {}

PAPCOLL_DECL Element::Element(std::size_t size, std::uint32_t number) noexcept
    : numbers_{size, papcoll::detail::caller_bits(number, 21) << 18U} {}

PAPCOLL_DECL Operator::Operator(const Reducer& reducer) noexcept
    : reducer_(reducer), types_(papcoll::detail::types_of(reducer.built_in)) {}

PAPCOLL_DECL Operator::Operator(const Reducer& reducer, const Element& element,
                                std::uint32_t number) noexcept
    : reducer_(reducer),
      types_(element.numbers().types | papcoll::detail::caller_bits(number, 17) << 1U) {}

PAPCOLL_DECL Operator reducer(ElementType type, Operation operation) noexcept {
  return papcoll::detail::with_element_type(type, papcoll::detail::no_operator(), [&]<class T>() {
    return papcoll::detail::operator_on<T>(operation);
  });
}

PAPCOLL_DECL Layout Layout::strided(std::size_t block, std::ptrdiff_t stride) {
  auto parts = std::make_shared<papcoll::detail::LayoutParts>();
  parts->block = block;
  parts->stride = stride;
  parts->view = DataView::strided(std::max<std::size_t>(block, 1), stride);
  Layout layout;
  layout.parts_ = std::move(parts);
  return layout;
}

PAPCOLL_DECL Layout Layout::of_blocks(const counts& lengths, const counts& displacements) {
  auto parts = std::make_shared<papcoll::detail::LayoutParts>();
  parts->is_list = true;
  parts->displacements = displacements.size();
  std::vector<DataView::Run> runs;
  std::size_t first = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto length = static_cast<std::int64_t>(lengths[i]);
    const std::size_t at = i < displacements.size() ? displacements[i] : 0;
    parts->blocks.push_back({length, static_cast<std::ptrdiff_t>(at)});
    if (length <= 0) continue;
    runs.push_back({first, parts->blocks.back().at});
    first += lengths[i];
  }
  parts->view = DataView::of_runs(std::move(runs));
  Layout layout;
  layout.parts_ = std::move(parts);
  return layout;
}

}  // namespace erased

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
