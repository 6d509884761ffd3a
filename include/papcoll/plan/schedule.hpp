#pragma once

#include <papcoll/plan/builder.hpp>
#include <papcoll/policy.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// S says with an emit() overload that it serves the collective.
template <class S, class Tag>
concept Emits = requires(const S& s, Builder& b) { s.emit(Tag{}, b); };

/// A schedule of the plan floor: a regular value whose members are its parameters, that can emit
/// at least one collective for any number of positions.
///
/// Required: `policy_kind = SchedulePolicyKind`, `name` (a string_view), `sentence` (one, for the
/// catalogue), `commutative_only` (true if it combines contributions out of rank order).
/// Optional: `arguments()`, the text of its parameters where they differ from the defaults;
/// `segment(element_size)`, elements of the blocks it pipelines allreduce, reduce and bcast in.
template <class S>
concept StaticSchedule =
    PolicyOfKind<S, SchedulePolicyKind> && std::regular<S> &&
    requires {
      { S::name } -> std::convertible_to<std::string_view>;
      { S::sentence } -> std::convertible_to<std::string_view>;
      { S::commutative_only } -> std::convertible_to<bool>;
    } &&
    (Emits<S, Allreduce> || Emits<S, Reduce> || Emits<S, Bcast> || Emits<S, Allgather> ||
     Emits<S, ReduceScatter> || Emits<S, Gather> || Emits<S, Scatter> || Emits<S, Barrier>);

/// What the library knows of a schedule once its type is gone.
struct ScheduleTable {
  std::string_view name;
  std::string_view sentence;
  bool commutative_only;
  std::string (*arguments)(const void*);
  std::size_t (*segment)(const void*, std::size_t element_size);  ///< 0: does not pipeline
  bool (*equal)(const void*, const void*);
  std::array<void (*)(const void*, Builder&), collective_count> emit;  ///< null: does not serve it

  bool serves(Collective c) const noexcept { return emit[static_cast<std::size_t>(c)] != nullptr; }
};

namespace detail {

template <class S, class Tag>
constexpr auto emit_entry() -> void (*)(const void*, Builder&) {
  if constexpr (Emits<S, Tag>) {
    return [](const void* self, Builder& b) { static_cast<const S*>(self)->emit(Tag{}, b); };
  } else {
    return nullptr;
  }
}

template <StaticSchedule S>
inline constexpr ScheduleTable schedule_table{
    S::name,
    S::sentence,
    S::commutative_only,
    [](const void* self) -> std::string {
      if constexpr (requires(const S& s) { s.arguments(); }) {
        return static_cast<const S*>(self)->arguments();
      } else {
        return {};
      }
    },
    [](const void* self, std::size_t element_size) -> std::size_t {
      if constexpr (requires(const S& s) { s.segment(element_size); }) {
        return static_cast<const S*>(self)->segment(element_size);
      } else {
        return 0;
      }
    },
    [](const void* a, const void* b) {
      return *static_cast<const S*>(a) == *static_cast<const S*>(b);
    },
    {emit_entry<S, Allreduce>(), emit_entry<S, Reduce>(), emit_entry<S, Bcast>(),
     emit_entry<S, Allgather>(), emit_entry<S, ReduceScatter>(), emit_entry<S, Gather>(),
     emit_entry<S, Scatter>(), emit_entry<S, Barrier>()}};

template <class S>
inline constexpr S default_schedule{};

}  // namespace detail

/// Any schedule of the plan floor, as a value.
class AnySchedule {
 public:
  AnySchedule() = default;

  template <StaticSchedule S>
  AnySchedule(S schedule)  // NOLINT(google-explicit-constructor): a schedule is one of any
      : table_(&detail::schedule_table<S>),
        owner_(std::make_shared<const S>(std::move(schedule))),
        self_(owner_.get()) {}

  /// The schedule with its default parameters; no allocation.
  template <StaticSchedule S>
  static AnySchedule of() noexcept {
    AnySchedule s;
    s.table_ = &detail::schedule_table<S>;
    s.self_ = &detail::default_schedule<S>;
    return s;
  }

  explicit operator bool() const noexcept { return table_ != nullptr; }
  std::string_view base_name() const noexcept { return table_->name; }
  std::string_view sentence() const noexcept { return table_->sentence; }
  bool commutative_only() const noexcept { return table_->commutative_only; }
  bool serves(Collective c) const noexcept { return table_->serves(c); }
  std::size_t segment(std::size_t element_size) const {
    return table_->segment(self_, element_size);
  }

  /// The name with its parameters, as papcoll::algorithm() reads it: "KNomial:4".
  std::string name() const {
    const std::string arguments = table_->arguments(self_);
    return std::string(table_->name) + (arguments.empty() ? "" : ":" + arguments);
  }

  /// Writes the steps of b's position; the schedule must serve c.
  void emit(Collective c, Builder& b) const {
    table_->emit[static_cast<std::size_t>(c)](self_, b);
  }

  friend bool operator==(const AnySchedule& a, const AnySchedule& b) {
    return a.table_ == b.table_ && (a.self_ == b.self_ || a.table_->equal(a.self_, b.self_));
  }

 private:
  const ScheduleTable* table_ = nullptr;
  std::shared_ptr<const void> owner_;
  const void* self_ = nullptr;
};

}  // namespace papcoll::inline PAPCOLL_ABI
