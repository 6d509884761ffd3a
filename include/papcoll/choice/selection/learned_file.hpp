#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/choice/selection/learner.hpp>
#include <papcoll/choice/selection/selection_file.hpp>
#include <papcoll/node/peer_costs.hpp>
#include <papcoll/runtime/setup/selection_texts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Why what a file has learned is of no use here; nothing: it is.
[[gnu::cold]] inline std::string why_foreign(const MadeBy& made_by, const MadeBy& here) {
  if (made_by.papcoll != here.papcoll) {
    return joined({"papcoll ", made_by.papcoll, " made it, and this is ", here.papcoll});
  }
  if (made_by.kernel != here.kernel) {
    return joined({"it was made under kernel ", made_by.kernel, ", and this is ", here.kernel});
  }
  if (made_by == here) return {};
  return joined({"it was made on another machine, of ", made_by.processors, " processors ",
                 made_by.processor, ", and this one has ", here.processors, " ", here.processor});
}

/// May a file of this text be replaced by what was learned? Not one that has been something else.
[[gnu::cold]] inline bool may_be_replaced(std::string_view text) noexcept {
  return text.find("papcoll_selection") != std::string_view::npos ||
         text.find_first_not_of(" \n") == std::string_view::npos;
}

/// What was learned before, and what became of the files that say so.
struct KeptChoices {
  Vector<LearnedCosts> costs;  ///< of teams that are alike, and of their calls of a kind, the first
  Vector<LearnedCall> calls;   ///< count
  std::string note;            ///< a sentence for explain(); nothing: no file says anything
  std::string learn;           ///< where more is to be kept; nothing: nowhere
  MadeBy here;                 ///< by whom

  [[gnu::cold]] void take(const std::string& source, const SelectionFile& file) {
    if (const std::string foreign = why_foreign(file.made_by, here); !foreign.empty()) {
      return say({"what ", source, " has learned is ignored: ", foreign});
    }
    costs.append(file.costs.data(), file.costs.size());
    calls.append(file.calls.data(), file.calls.size());
    say({source, " has learned ", file.calls.size(), (file.calls.size() == 1 ? " kind" : " kinds"),
         " of calls; each begins with what was the quickest"});
  }
  /// What Options::learn names, then what the tuning file says, which is returned. Throws
  /// argument_error, with line and field, if that says what it must not.
  [[gnu::cold]] SelectionFile take(const SelectionTexts& files) {
    here = files.here;
    take_learned(files);
    if (files.tuning.empty()) return {};
    SelectionFile wanted = parse_selection<>(files.tuning, files.source);
    if (!wanted.calls.empty()) take(files.source, wanted);
    return wanted;
  }

  /// What things cost between the ranks of a team; null: nothing says.
  const PeerCosts* costs_of(const TeamLikeness& team) const noexcept {
    const auto at = std::find_if(costs.begin(), costs.end(),
                                 [&team](const LearnedCosts& t) { return t.team == team; });
    return at != costs.end() ? &at->costs : nullptr;
  }

  /// Tells a learner what was found of calls of a size. `names`: of the candidates, by places in
  /// kept_algorithms.
  [[gnu::cold]] void tell(CallLearner& learner, const TeamLikeness& team, CallKind::Bits kind,
                          const Call& call, const Vector<std::size_t>& names) const {
    // Whether ranks come late and where buffers are may change from call to call, and so may
    // lengths that their own ranks know only.
    const bool by_messages = (kind & CallKind::by_messages_bit) != 0;
    const auto changing = static_cast<CallKind::Bits>(CallKind::imbalanced_bit |
                                                      (by_messages ? 0U : CallKind::in_arena_bit) |
                                                      (call.own_counts ? CallKind::size_bits : 0U));
    for (const LearnedCall& c : calls) {
      if ((c.kind & ~changing) != kind || !(c.team == team)) continue;
      CallLearner::Settled s{c.kind, CallLearner::Settled::none, c.ns, 0};
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == c.best) s.best = static_cast<std::uint8_t>(i);
        if ((c.very_slow >> names[i] & 1U) != 0) s.very_slow |= static_cast<std::uint16_t>(1U << i);
      }
      if (s.best != CallLearner::Settled::none) learner.begin_settled(s);
    }
  }

  [[gnu::cold]] void say(std::initializer_list<MessagePart> parts) {
    note += (note.empty() ? "" : "; ") + joined(parts);
  }

 private:
  [[gnu::cold]] void take_learned(const SelectionTexts& files) {
    learn = files.learn;
    if (learn.empty()) return;
    if (files.learned.empty()) return say({files.learn, " ", files.unread});
    try {
      take(files.learn, parse_selection<>(files.learned, files.learn));
    } catch (const argument_error& e) {
      say({files.learn, " is ignored: ", bare(e.what()),
           (may_be_replaced(files.learned) ? ""
                                           : "; it is no selection file, and stays as it is")});
    }
  }
};

/// Writes objects and lists of JSON, one element a line down to a depth.
class JsonWriter {
 public:
  [[gnu::cold]] JsonWriter& name(std::string_view name) {
    next();
    text_ += joined({"\"", name, "\": "});
    has_name_ = true;
    return *this;
  }
  [[gnu::cold]] void number(std::size_t n) {
    next();
    text_ += std::to_string(n);
  }
  [[gnu::cold]] void string(std::string_view s) {
    next();
    text_ += joined({"\"", s, "\""});
  }
  [[gnu::cold]] void begin(char bracket, bool in_lines = false) {
    next();
    text_ += bracket;
    levels_ += in_lines ? '\1' : '\0';
    is_first_ = true;
  }
  [[gnu::cold]] void end(char bracket) {
    const bool in_lines = levels_.back() != 0;
    levels_.pop_back();
    if (in_lines && !is_first_) new_line();
    text_ += bracket;
    is_first_ = false;
  }
  [[gnu::cold]] void range(std::string_view of, std::size_t from, std::size_t to) {
    name(of).begin('[');
    number(from);
    number(std::min<std::size_t>(to, JsonReader::most));
    end(']');
  }
  const std::string& text() const noexcept { return text_; }

 private:
  [[gnu::cold]] void next() {
    if (!std::exchange(has_name_, false)) {
      if (!is_first_) text_ += levels_.back() != 0 ? "," : ", ";
      if (!levels_.empty() && levels_.back() != 0) new_line();
    }
    is_first_ = false;
  }
  [[gnu::cold]] void new_line() { text_ += "\n" + std::string(2 * levels_.size(), ' '); }

  std::string text_;
  std::string levels_;  ///< those that are open: 1 of one with a line for each element, else 0
  bool is_first_ = true;
  bool has_name_ = false;
};

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

/// Those of which something was learned, each once.
[[gnu::cold]] inline Vector<LearnedCosts> teams_of(const SelectionFile& file) {
  Vector<LearnedCosts> teams = file.costs;
  for (const LearnedCall& c : file.calls) {
    const auto is_it = [&c](const LearnedCosts& t) { return t.team == c.team; };
    if (std::none_of(teams.begin(), teams.end(), is_it)) teams.push_back({c.team, {}});
  }
  return teams;
}

/// The text of a selection file.
template <class = void>
[[gnu::cold]] std::string text_of(const SelectionFile& file) {
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

/// Replaces a file whole, by another one that is written beside it; nobody ever sees a part of it.
/// False: it cannot be written, and is as it was.
[[gnu::cold]] inline bool replace_file(const std::string& name, const std::string& text) {
  char* const real = realpath(name.c_str(), nullptr);  // a link stays one
  const std::string file = real != nullptr ? real : name;
  std::free(real);
  std::string beside = file + ".XXXXXX";
  const int descriptor = mkostemp(beside.data(), O_CLOEXEC);
  if (descriptor < 0) return false;
  const OpenFile out{fdopen(descriptor, "w")};
  const bool is_written = out &&
                          std::fwrite(text.data(), 1, text.size(), out.get()) == text.size() &&
                          std::fflush(out.get()) == 0 && fchmod(descriptor, 0644) == 0;
  if (!out) static_cast<void>(::close(descriptor));
  if (is_written && std::rename(beside.c_str(), file.c_str()) == 0) return true;
  static_cast<void>(unlink(beside.c_str()));
  return false;
}

/// Puts what teams have learned into a file, beside what it says of others and of other calls; of
/// one that is damaged, or of another machine, nothing stays.
template <class = void>
[[gnu::cold]] void write_learned(const std::string& name, SelectionFile& learned) {
  SelectionFile file;
  std::string before;
  if (read_selection_file(name.c_str(), before) == 0) {
    if (!may_be_replaced(before)) return;
    try {
      SelectionFileReader{before, name, file}.read();
    } catch (const argument_error&) {
      file.made_by = {};
    }
    if (file.made_by != learned.made_by) file = SelectionFile{};
  }
  for (const LearnedCosts& t : file.costs) {
    const auto is_newer = [&t](const LearnedCosts& n) { return n.team == t.team; };
    if (std::none_of(learned.costs.begin(), learned.costs.end(), is_newer)) {
      learned.costs.push_back(t);
    }
  }
  for (const LearnedCall& c : file.calls) {
    const auto is_newer = [&c](const LearnedCall& n) {
      return n.team == c.team && n.kind == c.kind;
    };
    if (std::none_of(learned.calls.begin(), learned.calls.end(), is_newer)) {
      learned.calls.push_back(c);
    }
  }
  learned.thresholds = file.thresholds;
  learned.rules = std::move(file.rules);
  static_cast<void>(replace_file(name, text_of<>(learned)));
}
PAPCOLL_COMPILE_ONCE(void write_learned<>(const std::string&, SelectionFile&))

}  // namespace papcoll::inline PAPCOLL_ABI::detail
