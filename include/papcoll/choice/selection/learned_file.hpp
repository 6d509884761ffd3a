// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/choice/selection/learner.hpp>
#include <papcoll/choice/selection/selection_contents.hpp>
#include <papcoll/choice/selection/selection_file.hpp>
#include <papcoll/choice/selection/selection_inputs.hpp>
#include <papcoll/node/peer_probe.hpp>
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

/// Returns why what a file has learned cannot be used here; empty if it can.
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

/// Returns true if a file with this text may be replaced by what was learned: it is empty, or was
/// written as such a file.
[[gnu::cold]] inline bool may_be_replaced(std::string_view text) noexcept {
  return text.find("papcoll_selection") != std::string_view::npos ||
         text.find_first_not_of(" \n") == std::string_view::npos;
}

/// What was learned before, and what became of the files with it.
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
  /// Reads the file that Options::learn names, then the tuning file, and returns the latter. Throws
  /// argument_error, with line and field, if that is invalid.
  [[gnu::cold]] SelectionFile take(const SelectionTexts& files) {
    here = files.here;
    take_learned(files);
    if (files.tuning.empty()) return {};
    SelectionFile wanted = parse_selection<>(files.tuning, files.source);
    if (!wanted.calls.empty()) take(files.source, wanted);
    return wanted;
  }

  /// Returns what operations cost between the ranks of a team; null if it is not known.
  const PeerCosts* costs_of(const TeamLikeness& team) const noexcept {
    const auto at = std::find_if(costs.begin(), costs.end(),
                                 [&team](const LearnedCosts& t) { return t.team == team; });
    return at != costs.end() ? &at->costs : nullptr;
  }

  /// Tells a learner what was found of calls of a size. `names`: of the candidates, by places in
  /// kept_algorithms.
  [[gnu::cold]] void teach(CallLearner& learner, const TeamLikeness& team, CallKind::Bits kind,
                           const Call& call, const Vector<std::size_t>& names) const {
    // Whether ranks arrive late and where buffers are may change from call to call, and so may
    // lengths that their own ranks know only.
    const bool by_messages = (kind & CallKind::by_messages_bit) != 0;
    const auto changing = static_cast<CallKind::Bits>(
        CallKind::imbalanced_bit | (by_messages ? 0U : CallKind::in_arena_bit) |
        (call.local_counts ? CallKind::size_bits : 0U));
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

/// Replaces a file whole, by another one that is written beside it; no reader ever sees a part of
/// it. Returns false if it cannot be written, and leaves it unchanged.
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

/// Writes what teams have learned into a file, and keeps what it has of others and of other calls.
/// A file that is damaged, or of another machine, is replaced.
template <class = void>
[[gnu::cold]] void write_learned(const std::string& name, SelectionFile& learned) {
  SelectionFile file;
  std::string before;
  if (read_selection_file(name.c_str(), before) == 0) {
    if (!may_be_replaced(before)) return;
    try {
      file = parse_selection<>(before, name);
    } catch (const argument_error&) {  // NOLINT(bugprone-empty-catch): nothing of it stays
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
