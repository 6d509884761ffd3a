// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/policies.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/floating_order.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/base/text.hpp>

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// P predicts when a rank will arrive from when it arrived before: a regular value whose members
/// are its parameters. What it has observed is in a History, one for each rank.
///
/// Ranks are compared by their predictions, and no rank knows what the others saw. So a prediction
/// has to be a weighted mean of the observations, with the same weights wherever as many were made:
/// whatever all ranks have in common, such as the time between calls, then drops out.
///
/// Required: `name`; `History`; `observe(history, seconds)`; `predict(history)` in seconds, asked
/// only after an observation. Optional, as for schedules: `arguments()` and a static `parse(text)`.
template <class P> concept Predictor = requires { typename P::History; }
&&RegularPolicy<P>&& requires(const P& p, typename P::History& h, const typename P::History& seen,
                              double seconds) {
  { P::name } -> std::convertible_to<std::string_view>;
  static_cast<void>(typename P::History{});
  p.observe(h, seconds);
  { p.predict(seen) } -> std::same_as<double>;
};

/// Predicts that the next arrival is like the last one. Follows a change at once, and every
/// disturbance, too.
struct LastValue {
  static constexpr std::string_view name = "LastValue";
  struct History {
    double last = 0;
  };

  void observe(History& h, double seconds) const noexcept { h.last = seconds; }
  double predict(const History& h) const noexcept { return h.last; }

  friend bool operator==(const LastValue&, const LastValue&) = default;
};
static_assert(Predictor<LastValue>);

/// Predicts the mean of the last `window` arrivals (simple moving average; Marendić et al. 2016).
/// Follows a change after `window` calls.
struct MovingAverage {
  static constexpr std::string_view name = "MovingAverage";
  /// Calls. Half of the calls between two exchanges, so that each one is about the present.
  std::uint32_t window = 8;

  class History {
    friend MovingAverage;
    std::vector<double> seen_;  ///< at most `window`
    std::size_t oldest_ = 0;
  };

  void observe(History& h, double seconds) const {
    if (h.seen_.size() < window) {
      h.seen_.push_back(seconds);
      return;
    }
    h.seen_[h.oldest_] = seconds;
    h.oldest_ = (h.oldest_ + 1) % window;
  }
  double predict(const History& h) const noexcept {
    const double origin = h.seen_.front();  // clock readings are large, their differences small
    double offsets = 0;
    for (const double s : h.seen_) offsets += s - origin;
    return origin + offsets / static_cast<double>(h.seen_.size());
  }

  std::string arguments() const { return *this == MovingAverage{} ? "" : std::to_string(window); }
  static MovingAverage parse(std::string_view text) {
    MovingAverage p;
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, p.window);
    if (failure != std::errc{} || stop != end || p.window == 0 || p.window > 65536) {
      detail::throw_error<argument_error>(
          {"papcoll: MovingAverage needs a window of 1 to 65536 calls, but was "
           "given '",
           text, "'"});
    }
    return p;
  }

  friend bool operator==(const MovingAverage&, const MovingAverage&) = default;
};
static_assert(Predictor<MovingAverage>);

/// Predicts a mean in which each arrival counts (1 − weight) times as much as the one after it.
struct Exponential {
  static constexpr std::string_view name = "Exponential";
  /// The weight of the last arrival, in (0, 1]. The default forgets as MovingAverage{8} does: 2 /
  /// (8 + 1).
  double weight = 0.22;

  struct History {
    double mean = 0;
    bool begun = false;
  };

  void observe(History& h, double seconds) const noexcept {
    h.mean = h.begun ? h.mean + weight * (seconds - h.mean) : seconds;
    h.begun = true;
  }
  double predict(const History& h) const noexcept { return h.mean; }

  std::string arguments() const {
    if (*this == Exponential{}) return {};
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, weight).ptr};
  }
  static Exponential parse(std::string_view text) {
    Exponential p;
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = detail::from_chars(text.data(), end, p.weight);
    if (failure != std::errc{} || stop != end || !(p.weight > 0 && p.weight <= 1)) {
      detail::throw_error<argument_error>(
          {"papcoll: Exponential needs a weight above 0 and at most 1, but was "
           "given '",
           text, "'"});
    }
    return p;
  }

  friend bool operator==(const Exponential&, const Exponential&) = default;
};
static_assert(Predictor<Exponential>);

/// What a predictor saw of one rank, whatever the predictor.
class ArrivalHistory : Pinned {
 public:
  virtual ~ArrivalHistory() = default;

  virtual void observe(double seconds) = 0;  ///< takes note of an arrival
  virtual double predict() const = 0;        ///< the next arrival, in seconds
};

/// Any predictor, as a value; or none.
class AnyPredictor {
 public:
  AnyPredictor() = default;

  /// A predictor with its parameters.
  template <Predictor P>
  AnyPredictor(P predictor)  // NOLINT(google-explicit-constructor): a predictor is one of any
      : table_(&table_of<P>),
        owner_(detail::make_shared<const P>(std::move(predictor))),
        self_(owner_.get()) {}

  /// The predictor with its default parameters; no allocation.
  template <Predictor P> static AnyPredictor of() noexcept {
    AnyPredictor p;
    p.table_ = &table_of<P>;
    p.self_ = &default_of<P>;
    return p;
  }

  /// Returns true if there is a predictor.
  explicit operator bool() const noexcept { return table_ != nullptr; }

  /// With its parameters, as parse() reads it: "MovingAverage:16".
  std::string name() const {
    const std::string arguments = table_->arguments(self_);
    return detail::joined(
        {table_->name, (arguments.empty() ? "" : detail::joined({":", arguments}))});
  }

  /// Returns one of the library's by its name with parameters. Throws argument_error. A template,
  /// so that who reads no names does not instantiate every predictor.
  template <class = void> static AnyPredictor parse(std::string_view text) {
    const std::string_view name = text.substr(0, text.find(':'));
    const bool bare = name.size() == text.size();
    const std::string_view arguments = bare ? std::string_view{} : text.substr(name.size() + 1);
    if (name == MovingAverage::name) {
      return bare ? of<MovingAverage>() : AnyPredictor{MovingAverage::parse(arguments)};
    }
    if (name == Exponential::name) {
      return bare ? of<Exponential>() : AnyPredictor{Exponential::parse(arguments)};
    }
    if (name == LastValue::name && bare) return of<LastValue>();
    detail::throw_error<argument_error>(
        {"papcoll: there is no predictor '", text,
         "': take MovingAverage:window, Exponential:weight or LastValue"});
  }

  /// Returns a new history of one rank's arrivals; empty at first.
  detail::Owned<ArrivalHistory> new_history() const { return table_->new_history(self_); }

  friend bool operator==(const AnyPredictor& a, const AnyPredictor& b) {
    return a.table_ == b.table_ && (a.self_ == b.self_ || a.table_->equal(a.self_, b.self_));
  }

 private:
  struct Table {
    std::string_view name;
    std::string (*arguments)(const void*);
    bool (*equal)(const void*, const void*);
    detail::Owned<ArrivalHistory> (*new_history)(const void*);
  };

  template <class P> class HistoryOf final : public ArrivalHistory {
   public:
    explicit HistoryOf(P predictor) : predictor_(std::move(predictor)) {}
    void observe(double seconds) override { predictor_.observe(history_, seconds); }
    double predict() const override { return predictor_.predict(history_); }

   private:
    P predictor_;
    typename P::History history_;
  };

  template <class P> static const P& as(const void* self) noexcept {
    return *static_cast<const P*>(self);
  }
  template <class P> [[gnu::cold]] static std::string arguments_of(const void* self) {
    if constexpr (requires(const P& p) { p.arguments(); }) return as<P>(self).arguments();
    return {};
  }
  template <class P> static bool equal_of(const void* a, const void* b) {
    return as<P>(a) == as<P>(b);
  }
  template <class P> static detail::Owned<ArrivalHistory> history_of(const void* self) {
    return detail::make_owned<HistoryOf<P>>(as<P>(self));
  }

  template <class P> static constexpr P default_of{};
  template <class P>
  static constexpr Table table_of{P::name, &arguments_of<P>, &equal_of<P>, &history_of<P>};

  const Table* table_ = nullptr;
  detail::Shared<const void> owner_;
  const void* self_ = nullptr;
};

/// Positions follow the order in which the ranks are expected to arrive, predicted from earlier
/// calls. For any static schedule: in reductions the latest are nearest to position 0, where the
/// result comes together; in the others, where data come from there, the earliest are.
///
/// Each rank records its own arrivals in the blocking calls under this policy with this predictor.
/// Every 16th such call (less often with more than 32 ranks) the ranks begin to exchange what they
/// predict, 8 bytes each; the new order is in force as many calls later, on all ranks from the same
/// call on. Before the first one, for operators that do not commute and under Reproducible the
/// order is rank order. Non-blocking calls run in the order in force, and record nothing.
///
/// Cost: a counter and a reading of the clock a call, two readings if the team is on several nodes.
/// What is recorded there is less exact: see Predictions.
///
/// Source: Proficz, "Improving all-reduce collective operations for imbalanced process arrival
/// patterns", J. Supercomputing 74(7), 2018.
template <Predictor P = MovingAverage> struct PredictedOrder {
  using policy_kind = ArrivalPolicyKind;
  static constexpr std::string_view name = "PredictedOrder";
  static constexpr unsigned offers = capability::positions | capability::forecast;
  static AnyPredictor predictor() noexcept { return AnyPredictor::of<P>(); }
};
static_assert(ArrivalPolicy<PredictedOrder<>>);

/// "PredictedOrder", with the predictor unless it is the default: "PredictedOrder:Exponential:0.5".
[[gnu::cold]] inline std::string predicted_order_name(const AnyPredictor& predictor) {
  const std::string name{PredictedOrder<>::name};
  return predictor == PredictedOrder<>::predictor() ? name
                                                    : detail::joined({name, ":", predictor.name()});
}

}  // namespace papcoll::inline PAPCOLL_ABI
