// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Collectives without templates, for callers that know the type of their elements at run time only:
// wrappers for C, Fortran or Python, and libraries that stand in for MPI's own functions. What they
// check, choose and run is what the typed calls do, and ranks may mix the two.
#include <papcoll/base/buffers.hpp>
#include <papcoll/base/op.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/call/call_arguments.hpp>
#include <papcoll/call/persistent_call.hpp>
#include <papcoll/call/request.hpp>
#include <papcoll/call/route.hpp>
#include <papcoll/call/team_of.hpp>
#include <papcoll/choice/policies/algorithm_spec.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {
struct ErasedCall;
struct ErasedLayout;

/// What an erased call has to know of its elements. Not a public type: no Operator is an Element.
class ErasedElements {
 protected:
  ErasedElements(const Reducer& reducer, std::uint64_t types) noexcept
      : reducer_(reducer), types_(types) {}

  Reducer reducer_;      ///< of elements that are only moved, their size
  std::uint64_t types_;  ///< Call::types
  friend struct ErasedCall;
};
}  // namespace detail

/// The collectives as plain functions: an element is a number of bytes, an operator a Reducer. For
/// wrappers for other languages, and for types that are known at run time only.
///
/// Each collective has a blocking function, a non-blocking one (iX, see Request) and a persistent
/// one (X_init, see Persistent). They throw what the typed calls throw, with the same texts; a
/// wrapper for a language without exceptions catches papcoll::error. On different ranks an erased
/// and a typed call may match.
///
/// Counts are in elements, which must be aligned as their type. Equal addresses of input and output
/// mean in place: if a rank has one block in one buffer and a block for each rank in the other, its
/// own block is then at its place in the longer one. A buffer that only the root needs is ignored
/// elsewhere.
///
/// Example:
///
///     const auto sum = papcoll::erased::reducer(papcoll::erased::ElementType::float64,
///                                               papcoll::erased::Operation::sum);
///     papcoll::erased::allreduce(comm, pointer, pointer, count, sum);    // in place
namespace erased {

/// The communicator of a call: made of whatever a typed call takes as its first argument, such as a
/// Communicator, or an MPI_Comm if communicator.hpp is included. Borrowed until the call returns.
class Comm {
 public:
  /// An MPI_Comm: its first use is collective, as that of a typed call.
  template <Team C>
  requires(!std::same_as<std::remove_cvref_t<C>, Comm>)
      Comm(C&& team)  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : core_(&detail::core_of(team)) {
    detail::offer_transports<C>(*core_);
  }

  /// For the library.
  TeamCore& core() const noexcept { return *core_; }

 private:
  TeamCore* core_;
};

/// Element types as values, for wrappers for other languages. Integers are identified by size and
/// sign, in typed calls as well.
enum class ElementType : unsigned char {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float32,
  float64,
  boolean,     ///< bool
  complex64,   ///< std::complex<float>
  complex128,  ///< std::complex<double>
};

/// papcoll's operators as values, each like the one of the same name.
enum class Operation : unsigned char {
  sum,
  prod,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  logical_and,
  logical_or,
  logical_xor,
};

/// The element of a call that only moves data: its size, and a number that identifies its type.
class Element : public detail::ErasedElements {
 public:
  /// An element of one of the types above. Any other value is an element of 0 bytes, which calls
  /// refuse.
  Element(ElementType type) noexcept;  // NOLINT(google-explicit-constructor): a type is one
  /// Any `size` bytes. `number` identifies the type when ranks compare their calls: any number that
  /// is equal on all ranks; 0 for bytes of no particular type.
  explicit Element(std::size_t size, std::uint32_t number = 0) noexcept;
  /// The element that typed calls pass for T, so that they match.
  template <class T> static Element of() noexcept { return Element{detail::element_numbers<T>()}; }

  /// For the library.
  detail::ElementNumbers numbers() const noexcept { return {reducer_.size, types_}; }

 private:
  explicit Element(detail::ElementNumbers numbers) noexcept
      : ErasedElements(Reducer{.size = numbers.size}, numbers.types) {}
};

/// A Reducer, and the numbers that identify it when ranks compare their calls.
///
/// What Reducer::context points to stays the caller's: it lives until a blocking call returns,
/// until a Request is complete, or as long as a Persistent. Its function is called by this rank
/// only, and must not throw.
class Operator : public detail::ErasedElements {
 public:
  /// An operator. papcoll's own on arithmetic types are recognised; any other is one on elements of
  /// that size and no particular type.
  Operator(const Reducer& reducer) noexcept;  // NOLINT(google-explicit-constructor): it is one
  /// An operator of the caller's, on elements whose size is the reducer's. `number`: as Element's.
  Operator(const Reducer& reducer, const Element& element, std::uint32_t number = 0) noexcept;
  /// The operator that typed calls pass for T under `op`, which is borrowed.
  template <class T, class Op> static Operator of(const Op& op) noexcept {
    Operator o{papcoll::reducer<T>(op), Element::of<T>()};
    o.types_ |= detail::operator_bits<Op>();
    return o;
  }

  /// The function, and the size of an element.
  const Reducer& reducer() const noexcept { return reducer_; }
  /// For the library: Call::types.
  std::uint64_t types() const noexcept { return types_; }

 private:
  friend Operator reducer(ElementType type, Operation operation) noexcept;
};

/// Returns papcoll's own operator on a type: the kernel that the typed call runs. For a pair
/// without a meaning (bits of floating-point numbers, an order of complex ones) it has no function,
/// and calls refuse it.
PAPCOLL_DECL Operator reducer(ElementType type, Operation operation) noexcept;

/// Where the elements of a buffer are: contiguous, or in blocks. What lies between blocks is never
/// written. Cheap to copy.
class Layout {
 public:
  /// Contiguous elements.
  constexpr Layout() noexcept {}  // NOLINT(modernize-use-equals-default): as that of Call
  /// Returns blocks of `block` elements, of which consecutive ones begin `stride` bytes apart;
  /// negative: downwards from the buffer's address. A call's count must be a multiple of `block`.
  static Layout strided(std::size_t block, std::ptrdiff_t stride);
  /// Returns blocks anywhere: `lengths` in elements, `displacements` in bytes from the buffer's
  /// address. Lengths add up to the call's count; blocks of an output must not overlap. Both are
  /// copied.
  static Layout of_blocks(const counts& lengths, const counts& displacements);

  /// For the library: null if elements are contiguous.
  const detail::ErasedLayout* parts() const noexcept { return parts_.get(); }

 private:
  detail::Shared<const detail::ErasedLayout> parts_;
};

/// The layouts of input and output. Each describes all elements that a rank has in that buffer,
/// those of all ranks' blocks one after the other. In place both are equal, and describe the buffer
/// that has more.
struct Layouts {
  constexpr Layouts() noexcept {}  // NOLINT(modernize-use-equals-default): as that of Call
  /// Constructs the same layout for both, as in place.
  Layouts(const Layout& both)  // NOLINT(google-explicit-constructor): one is enough
      : in(both), out(both) {}
  /// Constructs one layout for the input and one for the output.
  Layouts(const Layout& in_, const Layout& out_) : in(in_), out(out_) {}

  Layout in;   ///< of the input
  Layout out;  ///< of the output
};

}  // namespace erased

namespace detail {

/// LayoutArguments::make_views of an erased call's.
PAPCOLL_DECL void make_erased_views(const CallOrigin& origin, LayoutArguments& layouts, Call& call,
                                    std::size_t in_count, std::size_t out_count, bool in_place);

/// The layouts of an erased call: borrowed.
struct ErasedLayouts : LayoutArguments {
  const erased::Layouts* given = nullptr;
};

/// The arguments of an erased call, whichever it is: borrowed.
struct ErasedCall : CallArguments, Pinned {
  /// Constructs a call whose ranks have as many elements.
  ErasedCall(erased::Comm comm, Collective c, const void* in_, void* out_, std::size_t n,
             const ErasedElements& e, const erased::Layouts& l,
             papcoll::root at = papcoll::root{0}) noexcept
      : ErasedCall(comm, c, in_, out_, e, at) {
    count = n;
    layouts_.given = &l;
    if (l.in.parts() != nullptr || l.out.parts() != nullptr) layouts = &layouts_;
  }
  /// Constructs a call whose blocks differ; a buffer with this rank's elements alone has none.
  ErasedCall(erased::Comm comm, Collective c, const void* in_, const blocks& s, void* out_,
             const blocks& r, const ErasedElements& e, papcoll::root at = papcoll::root{0}) noexcept
      : ErasedCall(comm, c, in_, out_, e, at) {
    blocks_ = {maker_of_irregular(c), s, r};
    irregular = &blocks_;
  }
  /// Constructs a call without elements.
  ErasedCall(erased::Comm comm, Collective c) noexcept : CallArguments(c), core(comm.core()) {}

  TeamCore& core;

 private:
  ErasedCall(erased::Comm comm, Collective c, const void* in_, void* out_, const ErasedElements& e,
             papcoll::root at) noexcept
      : ErasedCall(comm, c) {
    in_place_if_same = by_count = true;
    root = at.rank;
    in = static_cast<const std::byte*>(in_);
    out = static_cast<std::byte*>(out_);
    in_length = out_length = any_length;
    reducer = e.reducer_;
    types = e.types_;
  }

  ErasedLayouts layouts_{{.make_views = make_erased_views, .has_lengths = true}};
  IrregularArguments blocks_;
};

/// Runs a call of that collective.
template <Collective C> void run_erased(ErasedCall&& c, const Algorithm& algorithm);
PAPCOLL_DECL Request start_erased(ErasedCall&& c, const Algorithm& algorithm);
PAPCOLL_DECL Persistent prepare_erased(ErasedCall&& c, const Algorithm& algorithm);

}  // namespace detail

namespace erased {

// A collective's functions: name() runs a call, iname() starts a non-blocking one, name_init()
// makes a persistent one.
#define PAPCOLL_ERASED(name, collective, parameters, ...)                                   \
  inline void name parameters {                                                             \
    detail::run_erased<Collective::collective>({comm, Collective::collective, __VA_ARGS__}, \
                                               algorithm);                                  \
  }                                                                                         \
  [[nodiscard]] inline Request i##name parameters {                                         \
    return detail::start_erased({comm, Collective::collective, __VA_ARGS__}, algorithm);    \
  }                                                                                         \
  [[nodiscard]] inline Persistent name##_init parameters {                                  \
    return detail::prepare_erased({comm, Collective::collective, __VA_ARGS__}, algorithm);  \
  }

/// Combines `count` elements of every rank, position by position, and gives every rank the result;
/// as papcoll::allreduce.
PAPCOLL_ERASED(allreduce, allreduce,
               (Comm comm, const void* in, void* out, std::size_t count, const Operator& op,
                const Layouts& layouts = {}, const Algorithm& algorithm = {}),
               in, out, count, op, layouts)

/// Combines `count` elements of every rank, and gives the result to the root; as papcoll::reduce.
PAPCOLL_ERASED(reduce, reduce,
               (Comm comm, const void* in, void* out, std::size_t count, const Operator& op,
                root to, const Layouts& layouts = {}, const Algorithm& algorithm = {}),
               in, out, count, op, layouts, to)

/// Gives rank r the combination of the `count` elements of ranks 0 to r; as papcoll::scan.
PAPCOLL_ERASED(scan, scan,
               (Comm comm, const void* in, void* out, std::size_t count, const Operator& op,
                const Layouts& layouts = {}, const Algorithm& algorithm = {}),
               in, out, count, op, layouts)

/// Gives rank r the combination of the `count` elements of ranks 0 to r − 1; rank 0's output is not
/// modified. As papcoll::exscan.
PAPCOLL_ERASED(exscan, exscan,
               (Comm comm, const void* in, void* out, std::size_t count, const Operator& op,
                const Layouts& layouts = {}, const Algorithm& algorithm = {}),
               in, out, count, op, layouts)

/// Combines size() blocks of `count` elements of every rank, and gives each rank one block of the
/// result; as papcoll::reduce_scatter.
PAPCOLL_ERASED(reduce_scatter, reduce_scatter,
               (Comm comm, const void* in, void* out, std::size_t count, const Operator& op,
                const Layouts& layouts = {}, const Algorithm& algorithm = {}),
               in, out, count, op, layouts)

/// Gives every rank the root's `count` elements; as papcoll::bcast.
PAPCOLL_ERASED(bcast, bcast,
               (Comm comm, void* data, std::size_t count, const Element& element, root from,
                const Layouts& layouts = {}, const Algorithm& algorithm = {}),
               data, data, count, element, layouts, from)

/// Gives every rank the `count` elements of each, in rank order; as papcoll::allgather.
PAPCOLL_ERASED(allgather, allgather,
               (Comm comm, const void* in, void* out, std::size_t count, const Element& element,
                const Layouts& layouts = {}, const Algorithm& algorithm = {}),
               in, out, count, element, layouts)

/// Gives the root the `count` elements of each rank, in rank order; as papcoll::gather.
PAPCOLL_ERASED(gather, gather,
               (Comm comm, const void* in, void* out, std::size_t count, const Element& element,
                root to, const Layouts& layouts = {}, const Algorithm& algorithm = {}),
               in, out, count, element, layouts, to)

/// Gives each rank its block of `count` of the root's elements, in rank order; as papcoll::scatter.
PAPCOLL_ERASED(scatter, scatter,
               (Comm comm, const void* in, void* out, std::size_t count, const Element& element,
                root from, const Layouts& layouts = {}, const Algorithm& algorithm = {}),
               in, out, count, element, layouts, from)

/// Sends block r of `in` to rank r, and receives block r of `out` from rank r, each of `count`
/// elements; as papcoll::alltoall.
PAPCOLL_ERASED(alltoall, alltoall,
               (Comm comm, const void* in, void* out, std::size_t count, const Element& element,
                const Layouts& layouts = {}, const Algorithm& algorithm = {}),
               in, out, count, element, layouts)

/// Sends and receives a block for each rank, of any lengths; as papcoll::alltoallv. The buffers of
/// this and of the following functions end where their blocks do.
PAPCOLL_ERASED(alltoallv, alltoall,
               (Comm comm, const void* in, const blocks& sent, void* out, const blocks& received,
                const Element& element, const Algorithm& algorithm = {}),
               in, sent, out, received, element)

/// Gives every rank the contributions of all, where these differ in length; as papcoll::allgatherv.
PAPCOLL_ERASED(allgatherv, allgather,
               (Comm comm, const void* in, void* out, const blocks& each, const Element& element,
                const Algorithm& algorithm = {}),
               in, counts{}, out, each, element)

/// Gives the root the contributions of all, where these differ in length; as papcoll::gatherv. All
/// ranks pass the lengths.
PAPCOLL_ERASED(gatherv, gather,
               (Comm comm, const void* in, void* out, const blocks& each, const Element& element,
                root to, const Algorithm& algorithm = {}),
               in, counts{}, out, each, element, to)

/// Gives each rank its block of the root's elements, where blocks differ in length; as
/// papcoll::scatterv. All ranks pass the lengths.
PAPCOLL_ERASED(scatterv, scatter,
               (Comm comm, const void* in, void* out, const blocks& each, const Element& element,
                root from, const Algorithm& algorithm = {}),
               in, each, out, counts{}, element, from)

/// As above, for blocks that differ in length: `each` has the number of elements that every rank
/// gets, and is equal on all ranks.
PAPCOLL_ERASED(reduce_scatter, reduce_scatter,
               (Comm comm, const void* in, void* out, const counts& each, const Operator& op,
                const Algorithm& algorithm = {}),
               in, counts{}, out, each, op)

/// Returns when all ranks have called it.
PAPCOLL_ERASED(barrier, barrier, (Comm comm, const Algorithm& algorithm = {}))

#undef PAPCOLL_ERASED

/// Takes the place of a blocking call that this rank cannot make, for example for want of memory to
/// pack its elements: the other ranks do not wait for it, and their calls throw peer_error, which
/// quotes `why`. Throws argument_error.
[[noreturn]] inline void refuse(Comm comm, Collective collective, const std::string& why) {
  detail::CallOrigin{comm.core(), collective}.refuse(why);
}

}  // namespace erased
}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/erased.ipp>
#endif

namespace papcoll::inline PAPCOLL_ABI::detail {

#define PAPCOLL_ONCE_FOR(c) \
  PAPCOLL_COMPILE_ONCE(void run_erased<Collective::c>(ErasedCall&&, const Algorithm&))
PAPCOLL_FOR_EACH_COLLECTIVE(PAPCOLL_ONCE_FOR)
#undef PAPCOLL_ONCE_FOR

}  // namespace papcoll::inline PAPCOLL_ABI::detail
