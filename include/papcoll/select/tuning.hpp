#pragma once

#include <papcoll/base/joined.hpp>
#include <papcoll/base/near_names.hpp>
#include <papcoll/config.hpp>
#include <papcoll/error.hpp>
#include <papcoll/runtime/tuning_text.hpp>
#include <papcoll/select/thresholds.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

// A tuning file is JSON, UTF-8, as `papcoll-bench --tune FILE` writes it:
//
//     {
//       "papcoll_tuning": 1,
//       "machine": "any text",
//       "thresholds": {
//         "allreduce": {"multi_leader": {"value": 8192, "measured": "any text"}},
//         "arrivals": {"late_percent": {"value": 150}}
//       }
//     }
//
// The format's number and the thresholds are required, each threshold (of threshold_fields) at most
// once; those that are missing keep their built-in values. Values are whole numbers up to 2^40.
// Anything else is refused.

namespace detail {

/// A strict reader of this one kind of file.
class TuningReader {
 public:
  [[gnu::cold]] TuningReader(std::string_view text, std::string source)
      : text_(text), source_(std::move(source)) {}

  [[gnu::cold]] Thresholds read() {
    bool has_format = false;
    bool has_thresholds = false;
    each_field([&](const std::string& name) {
      if (name == "papcoll_tuning") {
        has_format = true;
        const std::uint64_t format = number();
        if (format != 1) fail(detail::joined({"this is format ", format, ", and 1 is known"}));
      } else if (name == "machine") {
        static_cast<void>(string());
      } else if (name == "thresholds") {
        has_thresholds = true;
        each_field([&](const std::string& group) {
          require_group(group);
          each_field([&](const std::string& threshold) { read_threshold(group, threshold); });
        });
      } else {
        fail("there is no such field: papcoll_tuning, machine and thresholds are known");
      }
    });
    skip_blanks();
    if (at_ != text_.size()) fail("something follows the end");
    if (!has_format) fail("the field papcoll_tuning is missing: is this a tuning file?");
    if (!has_thresholds) fail("the field thresholds is missing");
    return thresholds_;
  }

 private:
  static constexpr std::uint64_t most = std::uint64_t{1} << 40U;

  [[gnu::cold]] void require_group(const std::string& group) const {
    std::vector<std::string_view> groups;
    for (const ThresholdField& f : threshold_fields) {
      if (f.group == group) return;
      if (groups.empty() || groups.back() != f.group) groups.push_back(f.group);
    }
    fail(detail::joined(
        {"there is no such group of thresholds: ", near_names(group, std::move(groups))}));
  }

  [[gnu::cold]] void read_threshold(const std::string& group, const std::string& name) {
    const ThresholdField* const threshold = threshold_named(group, name);
    if (threshold == nullptr) {
      std::vector<std::string_view> names;
      for (const ThresholdField& f : threshold_fields) {
        if (f.group == group) names.push_back(f.name);
      }
      fail(detail::joined({"there is no such threshold: ", near_names(name, std::move(names))}));
    }
    bool has_value = false;
    each_field([&](const std::string& field) {
      if (field == "value") {
        has_value = true;
        threshold->in(thresholds_) = static_cast<std::size_t>(number());
      } else if (field == "measured") {
        static_cast<void>(string());
      } else {
        fail("there is no such field: value and measured are known");
      }
    });
    if (!has_value) fail("the field value is missing");
  }

  /// Reads an object; `f`, called with each field's name, reads its value.
  template <class F>
  [[gnu::cold]] void each_field(F&& f) {
    require('{', "an object");
    if (next_is('}')) return;
    std::vector<std::string> names;
    do {
      const std::size_t outer = field_.size();
      f(new_field(names));
      field_.resize(outer);
    } while (next_is(','));
    require('}', "',' or '}'");
  }

  /// Reads the name of a field, which is none of `names`, and adds it to them.
  [[gnu::cold]] const std::string& new_field(std::vector<std::string>& names) {
    std::string name = string();
    field_ += (field_.empty() ? "" : ".") + name;
    for (const std::string& other : names) {
      if (other == name) fail("it is there twice");
    }
    require(':', "':' and its value");
    names.push_back(std::move(name));
    return names.back();
  }

  [[gnu::cold]] std::uint64_t number() {
    skip_blanks();
    const std::size_t begin = at_;
    std::uint64_t n = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      n = n * 10 + static_cast<std::uint64_t>(text_[at_] - '0');
      if (n > most) fail("the number is larger than 2^40");
    }
    const std::string_view digits = text_.substr(begin, at_ - begin);
    const char next = at_ < text_.size() ? text_[at_] : ' ';
    if (digits.empty() || (digits.size() > 1 && digits[0] == '0') || next == '.' || next == 'e' ||
        next == 'E') {
      fail(detail::joined({"a whole number from 0 up is expected", found()}));
    }
    return n;
  }

  [[gnu::cold]] std::string string() {
    require('"', "text in quotation marks");
    std::string s;
    for (;;) {
      if (at_ == text_.size() || text_[at_] == '\n') fail("the text has no closing '\"'");
      const char c = text_[at_++];
      if (c == '"') return s;
      if (static_cast<unsigned char>(c) < 0x20) fail("a control character in a text");
      s += c == '\\' ? escaped() : c;
    }
  }

  /// What a backslash stands for; names need none, so that other characters than ASCII may be lost.
  [[gnu::cold]] char escaped() {
    constexpr std::string_view letters = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    const char c = at_ < text_.size() ? text_[at_++] : '\n';
    if (const std::size_t i = letters.find(c); i != std::string_view::npos) return meanings[i];
    constexpr std::size_t digits = 4;
    const std::string_view code = text_.substr(at_, digits);
    if (c != 'u' || code.size() != digits ||
        code.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) {
      fail("an unknown escape sequence in a text");
    }
    at_ += digits;
    return '?';
  }

  [[gnu::cold]] void require(char c, const char* what) {
    if (!next_is(c)) fail(detail::joined({what, " is expected", found()}));
  }

  [[gnu::cold]] bool next_is(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  [[gnu::cold]] std::string found() const {
    if (at_ == text_.size()) return ", and the file ends";
    const char c = text_[at_];
    const bool shows = c > 0x20 && c < 0x7f;
    return shows ? detail::joined({", not '", std::string_view(&c, 1), "'"}) : "";
  }

  [[noreturn, gnu::cold]] void fail(const std::string& what) const {
    constexpr std::size_t most_shown = 200;  // of a name, which may be as long as the file
    const std::string_view field = std::string_view(field_).substr(0, most_shown);
    const std::string_view before = text_.substr(0, at_);
    std::size_t line = 1;
    for (const char c : before) line += c == '\n' ? 1 : 0;
    detail::throw_error<argument_error>(
        {"papcoll: ", source_, ", line ", line,
         (field.empty() ? std::string{} : detail::joined({", field ", field})), ": ", what});
  }

  std::string_view text_;
  std::string source_;
  std::size_t at_ = 0;
  std::string field_;  ///< where it is: "thresholds.allreduce.multi_leader.value"
  Thresholds thresholds_;
};

template <class = void>
[[gnu::cold]] Thresholds parse_tuning(std::string_view text, const std::string& source) {
  return TuningReader{text, source}.read();
}
PAPCOLL_COMPILE_ONCE(Thresholds parse_tuning<>(std::string_view, const std::string&))

/// The thresholds that a team made with this file, or none, has. Throws argument_error (with line
/// and field) and system_error.
inline Thresholds tuned_thresholds(const std::string& file) {
  const TuningText text = tuning_text(file);
  return text.json.empty() ? Thresholds{} : parse_tuning<>(text.json, text.source);
}

}  // namespace detail

/// Throws what the first call of a team with this tuning file would throw, or without one, with
/// that which PAPCOLL_TUNING names: argument_error (with line and field) and system_error.
inline void check_tuning(const std::string& file) {
  static_cast<void>(detail::tuned_thresholds(file));
}

}  // namespace papcoll::inline PAPCOLL_ABI
