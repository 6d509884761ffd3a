#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/json_reader.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/choice/selection/learner.hpp>
#include <papcoll/choice/selection/selection_inputs.hpp>
#include <papcoll/node/peer_costs.hpp>
#include <papcoll/runtime/setup/selection_texts.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

// A selection file is JSON, UTF-8; docs/selection.schema.json is its schema, docs/tuning.md an
// example. Whatever the schema does not have is refused, with line and field.

namespace detail {

/// What files name, as explain() writes it: rules and what was learned have them by their places.
inline constexpr std::array<std::string_view, 32> kept_algorithms{
    "Accumulator",
    "ArrivalOrder+Chain",
    "Binomial",
    "BlockCopies",
    "BlockCopies by the kernel",
    "BlockCopies in pieces",
    "Bruck",
    "CombiningTree",
    "Dissemination",
    "DynamicLeader",
    "Exchange",
    "Hierarchical",
    "Hierarchical of Ring",
    "Hierarchical of StragglAR",
    "Linear",
    "MultiLeader",
    "Pairwise",
    "PeerSlices",
    "PeerSlices by the kernel",
    "PipelinedChain",
    "PrefixRuns",
    "PrefixRuns by the kernel",
    "Rabenseifner",
    "RecursiveDoubling",
    "RecursiveHalving",
    "ReduceScatterGather",
    "Ring",
    "ScatterAllgather",
    "SplitTail",
    "SpreadOut",
    "Suara",
    "TwoTreeComplete",
};

static_assert(kept_algorithms.size() <= 64);

/// The place of a name there; their number: there is none.
inline std::size_t kept_algorithm(std::string_view name) noexcept {
  return static_cast<std::size_t>(std::find(kept_algorithms.begin(), kept_algorithms.end(), name) -
                                  kept_algorithms.begin());
}

}  // namespace detail

/// Whole numbers, both ends included.
struct RuleRange {
  std::size_t from = 0;
  std::size_t to = SIZE_MAX;

  bool has(std::size_t n) const noexcept { return from <= n && n <= to; }
};

/// By what calls run that it fits.
struct SelectionRule {
  Collective collective = Collective::barrier;
  RuleRange ranks;
  RuleRange ranks_per_node;
  RuleRange bytes;
  std::size_t algorithm = 0;  ///< in kept_algorithms

  bool fits(const Call& call, int size, int on_node) const noexcept {
    return call.collective == collective && ranks.has(static_cast<std::size_t>(size)) &&
           ranks_per_node.has(static_cast<std::size_t>(on_node)) && bytes.has(call.bytes());
  }
};

/// Teams to which it is of use what one of them has learned.
struct TeamLikeness {
  std::size_t ranks = 0;
  std::size_t ranks_per_node = 0;
  std::size_t processors = 0;  ///< that the ranks of a node could run on; 0: unknown

  friend bool operator==(const TeamLikeness&, const TeamLikeness&) = default;
};

/// What was the quickest for calls of a kind.
struct LearnedCall {
  TeamLikeness team;
  std::uint16_t kind = 0;       ///< as CallKind::key()
  std::size_t best = 0;         ///< in kept_algorithms
  std::uint32_t ns = 0;         ///< what it cost
  std::uint64_t very_slow = 0;  ///< bit i: that at place i is not to be tried soon
};

/// What things cost between the ranks of a team.
struct LearnedCosts {
  TeamLikeness team;
  PeerCosts costs;
};

/// Who made a file.
struct MadeBy {
  std::string papcoll;    ///< its version
  std::string processor;  ///< the machine's, the model
  std::string kernel;     ///< the release
  std::size_t processors = 0;

  friend bool operator==(const MadeBy&, const MadeBy&) = default;

  /// This papcoll, on the machine of which add_machine() has told.
  [[gnu::cold]] static MadeBy of_machine(std::string_view texts) {
    const auto plain = [](std::string_view text) {  // without what JSON would have to escape
      std::string s;
      for (const char c : text) {
        if (c != '"' && c != '\\' && c >= ' ' && c <= '~') s += c;
      }
      return s;
    };
    MadeBy m;
    m.papcoll = detail::joined(
        {PAPCOLL_VERSION_MAJOR, ".", PAPCOLL_VERSION_MINOR, ".", PAPCOLL_VERSION_PATCH});
    const std::string_view model = detail::next_text(texts);
    m.processor = plain(model.substr(std::min(model.find(": ") + 2, model.size())));
    const std::string number{detail::next_text(texts)};
    m.processors = std::strtoull(number.c_str(), nullptr, 10);
    m.kernel = plain(detail::next_text(texts));
    return m;
  }
  [[gnu::cold]] static MadeBy here() {
    std::string texts;
    detail::add_machine(texts);
    return of_machine(texts);
  }
};

struct SelectionFile {
  MadeBy made_by;
  Thresholds thresholds;
  detail::Vector<SelectionRule> rules;
  detail::Vector<LearnedCosts> costs;
  detail::Vector<LearnedCall> calls;
};

namespace detail {

inline constexpr std::uint64_t selection_format = 1;

struct NumberField {
  std::string_view name;
  std::uint32_t PeerCosts::*at;
};
inline constexpr std::array cost_fields{
    NumberField{"signal_ns", &PeerCosts::signal_ns}, NumberField{"copy_ps", &PeerCosts::read_ps},
    NumberField{"pull_ns", &PeerCosts::pull_ns}, NumberField{"pull_ps", &PeerCosts::pull_ps}};

/// What tells calls of a size apart, by bits of CallKind::key(): `bits` are set, and `others` not.
struct KindTrait {
  std::string_view name;
  CallKind::Bits bits;
  CallKind::Bits others = 0;

  bool is_of(CallKind::Bits kind) const noexcept {
    return (kind & bits) == bits && (kind & others) == 0;
  }
};
inline constexpr std::array kind_traits{
    KindTrait{"imbalanced", CallKind::imbalanced_bit},
    KindTrait{"in_arena", CallKind::in_arena_bit, CallKind::by_messages_bit},
    KindTrait{"rank_order", CallKind::rank_order_bit},
    KindTrait{"reproducible", CallKind::reproducible_bit},
    KindTrait{"uneven", CallKind::uneven_bit},
    KindTrait{"by_messages", CallKind::by_messages_bit},
    KindTrait{"non_blocking", CallKind::by_messages_bit | CallKind::non_blocking_bit}};

/// Reads a selection file.
class SelectionFileReader {
 public:
  [[gnu::cold]] SelectionFileReader(std::string_view text, std::string_view source,
                                    SelectionFile& file)
      : json_(text, source), file_(file) {}

  [[gnu::cold]] void read() {
    bool has_format = false;
    json_.each_field([&](std::string_view name) {
      switch (place_of(name, {"papcoll_selection", "made_by", "thresholds", "rules", "learned"})) {
        case 0:
          has_format = true;
          if (const std::uint64_t format = json_.number(); format != selection_format) {
            json_.fail(
                joined({"this is format ", format, ", and ", selection_format, " is known"}));
          }
          break;
        case 1:
          read_maker();
          break;
        case 2:
          read_thresholds();
          break;
        case 3:
          json_.each_element([&] { read_rule(); });
          break;
        default:
          json_.each_element([&] { read_team(); });
      }
    });
    json_.end();
    if (!has_format)
      json_.fail("the field papcoll_selection is missing: is this a selection file?");
  }

 private:
  using Names = std::vector<std::string_view>;

  [[gnu::cold, gnu::noinline]] std::size_t place_of(std::string_view name, const Names& names,
                                                    const char* what = "field") const {
    return json_.place_of(name, names, what);
  }

  template <class Table>
  [[gnu::cold]] static Names names_of(const Table& table) {
    Names names;
    for (const auto& row : table) names.push_back(row.name);
    return names;
  }

  /// Reads an object that has fields of these names only. `f` reads that which is at a place.
  [[gnu::cold, gnu::noinline]] unsigned fields(const Names& names, unsigned required,
                                               FunctionRef<void(std::size_t)> f) {
    unsigned seen = 0;
    json_.each_field([&](std::string_view name) {
      const std::size_t i = place_of(name, names);
      seen |= 1U << i;
      f(i);
    });
    for (std::size_t i = 0; i < names.size(); ++i) {
      if ((required & ~seen) >> i & 1U) json_.fail(joined({"the field ", names[i], " is missing"}));
    }
    return seen;
  }

  [[gnu::cold]] void read_maker() {
    MadeBy& m = file_.made_by;
    const std::array texts{&m.papcoll, &m.processor, &m.kernel};
    fields({"papcoll", "processor", "kernel", "processors"}, 0, [&](std::size_t i) {
      if (i < texts.size()) {
        *texts[i] = json_.string();
      } else {
        m.processors = static_cast<std::size_t>(json_.number());
      }
    });
  }

  [[gnu::cold]] void read_thresholds() {
    json_.each_field([&](std::string_view group) {
      place_of(group, {"network"}, "group of thresholds");
      json_.each_field([&](std::string_view name) {
        const std::size_t i = place_of(name, names_of(threshold_fields), "threshold");
        file_.thresholds.network.*threshold_fields[i].at = static_cast<std::size_t>(json_.number());
      });
    });
  }

  [[gnu::cold]] RuleRange range() {
    std::array<std::size_t, 2> ends{};
    std::size_t n = 0;
    json_.each_element([&] {
      if (n == ends.size()) json_.fail("a range is two numbers");
      ends[n++] = static_cast<std::size_t>(json_.number());
    });
    if (n != ends.size() || ends[0] > ends[1])
      json_.fail("a range is two numbers, the lower first");
    return {ends[0], ends[1]};
  }

  [[gnu::cold]] Collective collective() {
    Names names;
    for (std::size_t c = 0; c < collective_count; ++c) {
      names.push_back(name_of(static_cast<Collective>(c)));
    }
    return static_cast<Collective>(json_.one_of(names, "collective"));
  }

  [[gnu::cold, gnu::noinline]] std::size_t algorithm() {
    return json_.one_of({kept_algorithms.begin(), kept_algorithms.end()}, "algorithm");
  }

  [[gnu::cold]] void read_rule() {
    SelectionRule r;
    fields({"collective", "algorithm", "ranks", "ranks_per_node", "bytes"}, 3, [&](std::size_t i) {
      switch (i) {
        case 0:
          r.collective = collective();
          break;
        case 1:
          r.algorithm = algorithm();
          break;
        default:
          (i == 2 ? r.ranks : i == 3 ? r.ranks_per_node : r.bytes) = range();
      }
    });
    file_.rules.push_back(r);
  }

  [[gnu::cold]] void read_team() {
    TeamLikeness t;
    const std::array numbers{&t.ranks, &t.ranks_per_node, &t.processors};
    const std::size_t before = file_.calls.size();
    std::optional<PeerCosts> costs;
    fields({"ranks", "ranks_per_node", "processors", "costs", "calls"}, 7, [&](std::size_t i) {
      if (i < numbers.size()) {
        *numbers[i] = static_cast<std::size_t>(json_.number());
      } else if (i == 3) {
        costs = read_costs();
      } else {
        json_.each_element([&] { file_.calls.push_back(learned_call()); });
      }
    });
    if (costs) file_.costs.push_back({t, *costs});
    for (std::size_t i = before; i < file_.calls.size(); ++i) file_.calls[i].team = t;
  }

  [[gnu::cold]] PeerCosts read_costs() {
    PeerCosts costs;
    fields(names_of(cost_fields), 0,
           [&](std::size_t i) { costs.*cost_fields[i].at = short_number(); });
    costs.write_ps = costs.read_ps;
    return costs;
  }

  [[gnu::cold]] std::uint32_t short_number() {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(json_.number(), UINT32_MAX));
  }

  [[gnu::cold]] LearnedCall learned_call() {
    LearnedCall c;
    Collective collective_of = Collective::barrier;
    std::size_t bytes = 0;
    CallKind::Bits traits = 0;
    fields({"collective", "bytes", "best", "ns", "traits", "very_slow"}, 15, [&](std::size_t i) {
      switch (i) {
        case 0:
          collective_of = collective();
          break;
        case 1:
          bytes = range().from;
          break;
        case 2:
          c.best = algorithm();
          break;
        case 3:
          c.ns = short_number();
          break;
        case 4:
          json_.each_element([&] {
            traits = static_cast<CallKind::Bits>(
                traits | kind_traits[json_.one_of(names_of(kind_traits), "trait")].bits);
          });
          break;
        default:
          json_.each_element([&] { c.very_slow |= std::uint64_t{1} << algorithm(); });
      }
    });
    c.kind = CallKind::key_of(collective_of, bytes, traits);
    return c;
  }

  JsonReader json_;
  SelectionFile& file_;
};

/// Throws argument_error, with line and field.
template <class = void>
[[gnu::cold]] SelectionFile parse_selection(std::string_view text, const std::string& source) {
  SelectionFile file;
  SelectionFileReader{text, source, file}.read();
  return file;
}
PAPCOLL_COMPILE_ONCE(SelectionFile parse_selection<>(std::string_view, const std::string&))

/// What a team's selection files are, see runtime/setup/selection_texts.hpp.
struct SelectionTexts {
  std::string tuning;   ///< the contents of Options::tuning; nothing: there is none
  std::string source;   ///< for messages: "tuning file F"
  std::string learned;  ///< the contents of Options::learn; nothing: there are none
  std::string learn;    ///< its name
  std::string unread;   ///< why it has no contents
  MadeBy here;          ///< rank 0

  [[gnu::cold]] explicit SelectionTexts(std::string_view all) {
    for (std::string* const text : {&tuning, &source, &learned, &learn, &unread}) {
      *text = next_text(all);
    }
    here = MadeBy::of_machine(all);
  }
};

}  // namespace detail

/// Throws what the first call of a team with this tuning file would throw, or without one, with
/// that which PAPCOLL_TUNING names: argument_error (with line and field) and system_error.
inline void check_tuning(const std::string& file) {
  Options options;
  options.tuning = file;
  const std::string all = detail::read_selection_files(options);
  if (all.empty()) return;
  const detail::SelectionTexts texts{all};
  if (!texts.tuning.empty()) detail::parse_selection<>(texts.tuning, texts.source);
}

}  // namespace papcoll::inline PAPCOLL_ABI
