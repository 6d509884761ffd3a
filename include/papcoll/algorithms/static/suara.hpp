#pragma once

#include <papcoll/algorithms/static/arguments.hpp>
#include <papcoll/algorithms/static/grid.hpp>
#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/base/joined.hpp>
#include <papcoll/config.hpp>
#include <papcoll/error.hpp>
#include <papcoll/schedule/parameter.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

// A long header: it has two policies, whose grid the caller gives or the cost model chooses.

namespace detail {

template <class Dimension>
inline constexpr bool suara_dimension_serves_allreduce =
    StaticSchedule<Dimension>&& Emits<Dimension, Allreduce>;

/// The schedule along a dimension, or where that is wrong another, so that no more is said of it.
template <class Dimension>
using SuaraDimension =
    std::conditional_t<suara_dimension_serves_allreduce<Dimension>, Dimension, Ring>;

template <class S>
inline constexpr bool combines_in_any_order = [] {
  if constexpr (requires(const S& s) { s.commutative_only(); }) {
    return S{}.commutative_only();
  } else {
    return bool{S::commutative_only};
  }
}();

/// The bytes of the vector that a builder speaks of.
inline std::size_t bytes_of(const auto& b) noexcept { return b.whole().size() * b.element_size(); }

inline constexpr std::string_view suara_sentence =
    "An allreduce along each dimension of a grid, one after the other.";

/// "4x8", then ",folded".
inline std::vector<std::string> suara_arguments(std::vector<std::string> names,
                                                std::span<const int> extents, bool folded) {
  std::string text;
  for (const int e : extents) {
    if (e != 0) text.append(text.empty() ? "" : "x").append(std::to_string(e));
  }
  if (!text.empty()) names.push_back(std::move(text));
  if (folded) names.emplace_back("folded");
  return names;
}

/// Where every dimension pipelines, the longest of the blocks they pipeline in; else each cuts for
/// itself. segment(i, n): of the i-th dimension among n positions.
template <class Segment>
std::size_t suara_segment(int size, std::span<const int> extents, std::size_t dimensions,
                          const Segment& segment) {
  if (extents.empty() || extents.front() == 0) return 0;
  std::size_t longest = 0;
  int n = size;
  for (std::size_t d = dimensions; d-- > 0;) {
    const auto given = extents.first(std::min(d + 1, extents.size()));
    const int rows = d == 0 ? n : rows_of_grid(n, given, d + 1);
    const std::size_t one = segment(d, rows);
    if (one == 0) return 0;
    longest = std::max(longest, one);
    n /= rows;
  }
  return longest;
}

/// A grid without its algorithms.
struct SuaraGrid {
  std::vector<int> extents;
  bool folded = false;
};

// Templates, so that a file compiles them only for a Suara that it runs.

/// The best grid by the closed forms, or one as square as can be, for given algorithms. In
/// suara_parts.hpp.
template <class = void>
SuaraGrid grid_for(const std::vector<std::string_view>& names, int p, std::size_t bytes);

/// What Suara alone takes for m bytes among p positions, by the published network. As grid_for().
template <class = void>
AnySchedule chosen_suara(int p, double m);

/// Tells what an allreduce along one dimension of a grid after the other sends, as emit_grid() does
/// it. In grid_traffic.hpp.
template <class = void>
void tell_grid_traffic(Traffic& traffic, std::span<const AnySchedule> along, bool folded,
                       std::span<const int> extents);

/// The extents that were given; the last is left out as 0.
inline std::span<const int> given_extents(std::span<const int> extents) noexcept {
  return !extents.empty() && extents.back() == 0 ? extents.first(extents.size() - 1) : extents;
}

}  // namespace detail

/// Allreduce in L ≥ 2 steps over an L-dimensional grid of the positions: in step i everybody takes
/// part in an allreduce of the whole vector along dimension i, all lines in parallel.
///
/// Phases: those of each step; where all dimensions pipeline, different blocks' steps overlap.
/// Cost: the sum of what each dimension's allreduce costs among its extent. On an R × C grid two
///   rings take 2(R + C − 2)α rather than 2(RC − 1)α, for nearly twice the data: about 4βm and 2γm.
/// Prefer it where P is large and m/P small, so that a flat ring waits for latencies, and
///   Rabenseifner does not suit, because P is no power of two or its long distances are dear.
///   choose_suara() in model/suara_choice.hpp says by the closed forms what is best, and by how
///   much.
/// Limits: L times the data of a flat Ring: long vectors on few positions want that. Works for
///   operators that do not commute if all its dimensions do: rows are neighbours.
///
///     Suara<Ring, Ring>{{3}}, P = 6          0      1      2          3      4      5
///                                            a      b      c          d      e      f
///     along rows, {0 1 2} and {3 4 5}        abc    abc    abc        def    def    def
///     along columns, {0 3} {1 4} {2 5}       a–f    a–f    a–f        a–f    a–f    a–f
///
/// `extents` are the lengths of the dimensions, the inmost first. The last may be left out (0): as
/// many rows as P has of at least that length, which are longer where it does not divide P (20
/// positions in rows of 8 are two rows of 10). If the last is given it alone says how many rows
/// there are, and the others follow from P. All left out: the best by the closed forms with the
/// published parameters, messages under way sharing their ports, from P and the bytes of the call
/// alone; for other algorithms than SuaraPart names, a grid as square as can be.
///
/// Any number of positions: where P has no such factors, rows differ in length by one, and the
/// position behind the last column of a longer row gets the result from its neighbours at the end;
/// or, `folded`, such positions give their vectors to neighbours before, and get the result after.
/// The latter is cheaper where rows of a power of two are.
///
/// The name has the dimensions' algorithms as parameters, then the extents:
/// Suara:Ring,Rabenseifner,8 has rows of 8 or more, Suara:Ring,Ring,Ring,4x8 blocks of 4 × 8, and
/// Suara:Ring,Rabenseifner,16x64,folded 64 rows.
/// Suara alone chooses the algorithms, too.
///
/// Source: Nuriyev, Manumachu, Aseeri, Verma, Lastovetsky, "SUARA: A scalable universal allreduce
/// communication algorithm", JPDC 183, 2024, where P = R·C; the gaps are ours.
///
/// Suara<Ring, Rabenseifner> is a policy, Suara<Ring, Rabenseifner>{{8}} has rows of 8,
/// Suara<Ring, Rabenseifner>{{16, 64}, true} is folded, and both are for papcoll::algorithm().
/// AnySuara is the one that chooses the algorithms, too.
template <class... Dims>
struct Suara {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "Suara";
  static constexpr std::string_view sentence = detail::suara_sentence;
  static constexpr bool commutative_only =
      (detail::combines_in_any_order<detail::SuaraDimension<Dims>> || ...);
  static constexpr std::size_t dimensions = sizeof...(Dims);  ///< of the grid

  /// Lengths of the dimensions, the inmost first; 0: left out.
  std::array<int, dimensions> extents{};
  bool folded = false;  ///< positions beyond the grid give theirs to neighbours first
  /// The schedule along each dimension, the inmost first.
  std::tuple<detail::SuaraDimension<Dims>...> along{};

  std::string arguments() const {
    std::vector<std::string> names;
    each([&](const auto& dim) { names.push_back(AnySchedule(dim).name()); });
    return join_arguments(detail::suara_arguments(std::move(names), extents, folded));
  }

  std::size_t segment(int size, std::size_t element_size) const {
    std::vector<AnySchedule> dims;
    each([&](const auto& dim) { dims.emplace_back(dim); });
    return detail::suara_segment(
        size, detail::given_extents(extents), dimensions,
        [&](std::size_t d, int n) { return dims[d].segment(n, element_size); });
  }

  void emit(Allreduce, auto& b) const {
    static_assert(
        sizeof...(Dims) >= 2,
        "papcoll: Suara needs a schedule for each of two or more dimensions: write "
        "Suara<Ring, Rabenseifner>, or papcoll::algorithm(Suara<Ring, Rabenseifner>{{8}}) "
        "for rows of 8, or AnySuara, which chooses the schedules, too");
    static_assert((detail::suara_dimension_serves_allreduce<Dims> && ...),
                  "papcoll: Suara runs an allreduce along each dimension of its grid, and one of "
                  "these is no static schedule that serves it: take Ring, Rabenseifner, "
                  "RecursiveDoubling or another that docs/policies.md shows for allreduce");
    const detail::AlongDimension run{this,
                                     [](const void* self, std::size_t dimension, Builder& line) {
                                       std::size_t d = 0;
                                       static_cast<const Suara*>(self)->each([&](const auto& dim) {
                                         if (d++ == dimension) dim.emit(Allreduce{}, line);
                                       });
                                     }};
    const Suara grid = resolved(b.size(), detail::bytes_of(b));
    const auto lengths = detail::given_extents(grid.extents);
    detail::emit_suara(b, lengths, dimensions, grid.folded, run);
  }

  /// With the extents of the grid that it chooses, if it was given none.
  Suara resolved(int size, std::size_t bytes) const {
    if (extents[0] != 0) return *this;
    std::vector<std::string_view> names;
    each([&](const auto& dim) { names.push_back(dim.name); });
    const detail::SuaraGrid grid = detail::grid_for(names, size, bytes);
    Suara s = *this;
    std::copy(grid.extents.begin(), grid.extents.end(), s.extents.begin());
    s.folded = grid.folded;
    return s;
  }

  /// Of the grid that was chosen or given.
  void traffic(Collective /*c*/, auto& t) const {
    if (extents[0] == 0) return;
    std::vector<AnySchedule> dims;
    each([&](const auto& dim) { dims.emplace_back(dim); });
    detail::tell_grid_traffic(t, dims, folded, detail::given_extents(extents));
  }

  friend bool operator==(const Suara&, const Suara&) = default;

 private:
  template <class F>
  void each(F&& f) const {
    std::apply([&](const auto&... dim) { (f(dim), ...); }, along);
  }
};

/// The same of parts that are known at run time; without any, the best by the closed forms. emit()
/// throws argument_error if one of them serves no allreduce.
struct AnySuara {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "Suara";
  static constexpr std::string_view sentence = detail::suara_sentence;
  static constexpr std::array parameters{
      Parameter{"along rows", "", 0, "a schedule that serves allreduce"},
      Parameter{"along columns", "", 0, "another one, and so on"},
      Parameter{"extents", "", 1,
                "the least length of a row, or of more dimensions: 4x8; then folded"}};

  std::vector<AnySchedule> along;  ///< the schedule along each dimension; empty: all are chosen
  std::vector<int> extents;        ///< as in Suara; empty: chosen
  bool folded = false;             ///< positions beyond the grid give theirs to neighbours first

  template <class = void>
  bool commutative_only() const {
    return along.empty() || std::any_of(along.begin(), along.end(), [](const AnySchedule& s) {
             return s && s.commutative_only();
           });
  }

  template <class = void>
  std::string arguments() const {
    std::vector<std::string> names;
    for (const AnySchedule& s : along) names.push_back(s ? s.name() : "");
    return join_arguments(detail::suara_arguments(std::move(names), extents, folded));
  }

  template <class = void>
  std::size_t segment(int size, std::size_t element_size) const {
    return detail::suara_segment(size, extents, along.size(), [&](std::size_t d, int n) {
      return along[d] ? along[d].segment(n, element_size) : 0;
    });
  }

  void emit(Allreduce, auto& b) const {
    if (along.empty())
      return resolved(b.size(), detail::bytes_of(b)).emit(Collective::allreduce, b);
    for (const AnySchedule& s : along) require(s);
    const detail::AlongDimension run{
        this, [](const void* self, std::size_t dimension, Builder& line) {
          static_cast<const AnySuara*>(self)->along[dimension].emit(Collective::allreduce, line);
        }};
    const AnySuara grid = on_grid(b.size(), detail::bytes_of(b));
    detail::emit_suara(b, grid.extents, along.size(), grid.folded, run);
  }

  /// The choice, or the same schedules on the grid that was chosen for them.
  template <class = void>
  AnySchedule resolved(int size, std::size_t bytes) const {
    if (!along.empty()) return on_grid(size, bytes);
    if (!extents.empty() || folded) {
      throw argument_error(
          "papcoll: Suara has extents of a grid, or 'folded', and no schedules: give one for each "
          "dimension, or leave them out and it chooses the grid, too");
    }
    return detail::chosen_suara(size, static_cast<double>(bytes));
  }

  /// Of the grid that was chosen or given.
  template <class = void>
  void traffic(Collective /*c*/, auto& t) const {
    if (extents.empty()) return;
    for (const AnySchedule& s : along) require(s);
    detail::tell_grid_traffic(t, along, folded, extents);
  }

  friend bool operator==(const AnySuara&, const AnySuara&) = default;

 private:
  template <class = void>
  AnySuara on_grid(int size, std::size_t bytes) const {
    if (!extents.empty()) return *this;
    std::vector<std::string_view> names;
    for (const AnySchedule& s : along) names.push_back(s ? s.base_name() : std::string_view{});
    const detail::SuaraGrid grid = detail::grid_for(names, size, bytes);
    AnySuara s = *this;
    s.extents = grid.extents;
    s.folded = grid.folded;
    return s;
  }

  template <class = void>
  static void require(const AnySchedule& part) {
    if (part && part.serves(Collective::allreduce)) return;
    throw argument_error(detail::joined(
        {"papcoll: Suara needs schedules that serve allreduce along its dimensions",
         (part ? detail::joined({", and ", part.name(), " does not"}) : std::string{})}));
  }
};

PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<AnySuara>() noexcept)

}  // namespace PAPCOLL_ABI
}  // namespace papcoll

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/algorithms/static/grid_traffic.hpp>
#include <papcoll/algorithms/static/suara_parts.hpp>
#endif
