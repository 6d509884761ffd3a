// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/function_ref.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/choice/selection/json.hpp>
#include <papcoll/choice/selection/selection_contents.hpp>
#include <papcoll/choice/selection/selection_inputs.hpp>
#include <papcoll/node/peer_probe.hpp>
#include <papcoll/runtime/setup/selection_texts.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

// A selection file is JSON, UTF-8; docs/selection.schema.json is its schema, docs/tuning.md an
// example. Whatever the schema does not have is refused, with line and field.

namespace detail {

inline constexpr std::uint64_t selection_format = 1;

struct NumberField {
  std::string_view name;
  std::uint32_t PeerCosts::*at;
};
inline constexpr std::array cost_fields{
    NumberField{"signal_ns", &PeerCosts::signal_ns}, NumberField{"copy_ps", &PeerCosts::read_ps},
    NumberField{"pull_ns", &PeerCosts::pull_ns}, NumberField{"pull_ps", &PeerCosts::pull_ps}};

/// A property by which calls of a size differ, in bits of CallKind::key(): `bits` are set, and
/// `others` not.
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
    KindTrait{"uneven", CallKind::irregular_bit},
    KindTrait{"by_messages", CallKind::by_messages_bit},
    KindTrait{"non_blocking", CallKind::by_messages_bit | CallKind::non_blocking_bit}};

class SelectionFileReader {
 public:
  [[gnu::cold]] SelectionFileReader(std::string_view text, std::string_view source,
                                    SelectionFile& file)
      : json_(text, source), file_(file) {}

  [[gnu::cold]] void read() {
    bool has_format = false;
    json_.each_field([&](std::string_view name) {
      switch (json_.place_of(name,
                             {"papcoll_selection", "made_by", "thresholds", "rules", "learned"})) {
        case 0:
          has_format = true;
          if (const std::uint64_t format = json_.number(); format != selection_format) {
            json_.fail(
                joined({"this is format ", format, ", and ", selection_format, " is known"}));
          }
          break;
        case 1: read_maker(); break;
        case 2: read_thresholds(); break;
        case 3: json_.each_element([&] { read_rule(); }); break;
        default: json_.each_element([&] { read_team(); });
      }
    });
    json_.end();
    if (!has_format)
      json_.fail("the field papcoll_selection is missing: is this a selection file?");
  }

 private:
  using Names = std::vector<std::string_view>;

  template <class Table> [[gnu::cold]] static Names names_of(const Table& table) {
    Names names;
    for (const auto& row : table) names.push_back(row.name);
    return names;
  }

  /// Reads an object that has fields of these names only. `f` reads that which is at a place.
  [[gnu::cold, gnu::noinline]] unsigned fields(const Names& names, unsigned required,
                                               FunctionRef<void(std::size_t)> f) {
    unsigned seen = 0;
    json_.each_field([&](std::string_view name) {
      const std::size_t i = json_.place_of(name, names);
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
      json_.place_of(group, {"network"}, "group of thresholds");
      json_.each_field([&](std::string_view name) {
        const std::size_t i = json_.place_of(name, names_of(threshold_fields), "threshold");
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
        case 0: r.collective = collective(); break;
        case 1: r.algorithm = algorithm(); break;
        default: (i == 2 ? r.ranks : i == 3 ? r.ranks_per_node : r.bytes) = range();
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
        case 0: collective_of = collective(); break;
        case 1: bytes = range().from; break;
        case 2: c.best = algorithm(); break;
        case 3: c.ns = short_number(); break;
        case 4:
          json_.each_element([&] {
            traits = static_cast<CallKind::Bits>(
                traits | kind_traits[json_.one_of(names_of(kind_traits), "trait")].bits);
          });
          break;
        default: json_.each_element([&] { c.very_slow |= std::uint64_t{1} << algorithm(); });
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

[[gnu::cold]] inline void write(JsonWriter& w, const LearnedCall& c) {
  const std::size_t bytes = CallKind::bytes_of(c.kind);
  w.begin('{');
  w.name("collective").string(name_of(CallKind::collective_of(c.kind)));
  w.range("bytes", bytes, bytes == 0 ? 0 : 2 * bytes - 1);
  w.name("traits").begin('[');
  for (const KindTrait& k : kind_traits) {
    if (k.is_of(c.kind)) w.string(k.name);
  }
  w.end(']');
  w.name("best").string(kept_algorithms[c.best]);
  w.name("ns").number(c.ns);
  w.name("very_slow").begin('[');
  for (std::size_t i = 0; i < kept_algorithms.size(); ++i) {
    if ((c.very_slow >> i & 1U) != 0) w.string(kept_algorithms[i]);
  }
  w.end(']');
  w.end('}');
}

/// Returns the teams of which something was learned, each once.
[[gnu::cold]] inline Vector<LearnedCosts> teams_of(const SelectionFile& file) {
  Vector<LearnedCosts> teams = file.costs;
  for (const LearnedCall& c : file.calls) {
    const auto is_it = [&c](const LearnedCosts& t) { return t.team == c.team; };
    if (std::none_of(teams.begin(), teams.end(), is_it)) teams.push_back({c.team, {}});
  }
  return teams;
}

/// The text of a selection file.
template <class = void> [[gnu::cold]] std::string text_of(const SelectionFile& file) {
  JsonWriter w;
  w.begin('{', true);
  w.name("papcoll_selection").number(selection_format);
  w.name("made_by").begin('{');
  w.name("papcoll").string(file.made_by.papcoll);
  w.name("processor").string(file.made_by.processor);
  w.name("processors").number(file.made_by.processors);
  w.name("kernel").string(file.made_by.kernel);
  w.end('}');
  w.name("thresholds").begin('{', true);
  if (!(file.thresholds == Thresholds{})) {
    w.name("network").begin('{');
    for (const ThresholdField& f : threshold_fields) {
      if (f.of(file.thresholds) == f.of(Thresholds{})) continue;
      w.name(f.name).number(f.of(file.thresholds));
    }
    w.end('}');
  }
  w.end('}');
  w.name("rules").begin('[', true);
  for (const SelectionRule& r : file.rules) {
    w.begin('{');
    w.name("collective").string(name_of(r.collective));
    w.range("ranks", r.ranks.from, r.ranks.to);
    w.range("ranks_per_node", r.ranks_per_node.from, r.ranks_per_node.to);
    w.range("bytes", r.bytes.from, r.bytes.to);
    w.name("algorithm").string(kept_algorithms[r.algorithm]);
    w.end('}');
  }
  w.end(']');
  w.name("learned").begin('[', true);
  for (const LearnedCosts& t : teams_of(file)) {
    w.begin('{', true);
    w.name("ranks").number(t.team.ranks);
    w.name("ranks_per_node").number(t.team.ranks_per_node);
    w.name("processors").number(t.team.processors);
    if (t.costs != usual_peer_costs) {
      w.name("costs").begin('{');
      for (const NumberField& f : cost_fields) w.name(f.name).number(t.costs.*f.at);
      w.end('}');
    }
    w.name("calls").begin('[', true);
    for (const LearnedCall& c : file.calls) {
      if (c.team == t.team) write(w, c);
    }
    w.end(']');
    w.end('}');
  }
  w.end(']');
  w.end('}');
  return w.text() + "\n";
}
PAPCOLL_COMPILE_ONCE(std::string text_of<>(const SelectionFile&))

/// What a team's selection files are, see runtime/setup/selection_texts.hpp.
struct SelectionTexts {
  std::string tuning;   ///< the contents of Options::tuning_file; nothing: there is none
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
  options.tuning_file = file;
  const std::string all = detail::read_selection_files(options);
  if (all.empty()) return;
  const detail::SelectionTexts texts{all};
  if (!texts.tuning.empty()) detail::parse_selection<>(texts.tuning, texts.source);
}

}  // namespace papcoll::inline PAPCOLL_ABI
