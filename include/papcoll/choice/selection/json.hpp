// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/function_ref.hpp>
#include <papcoll/base/text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Reads JSON, UTF-8, of which it is known what must come: objects whose fields are known, each at
/// most once, lists, texts, and whole numbers up to 2^40. The field `comment` of any object is
/// skipped: it is a text. Where something else is there, throws argument_error with line and field.
class JsonReader {
 public:
  static constexpr std::uint64_t most = std::uint64_t{1} << 40U;

  [[gnu::cold]] JsonReader(std::string_view text, std::string_view source)
      : text_(text), source_(source) {}

  /// Reads an object; `f`, called with each field's name, reads its value.
  [[gnu::cold, gnu::noinline]] void each_field(FunctionRef<void(std::string_view)> f) {
    require('{', "an object");
    if (next_is('}')) return;
    std::vector<std::string> names;
    do {
      const std::size_t outer = field_.size();
      std::string name = string();
      field_ += (field_.empty() ? "" : ".") + name;
      if (std::find(names.begin(), names.end(), name) != names.end()) fail("it is there twice");
      require(':', "':' and its value");
      if (name == "comment") {
        static_cast<void>(string());
      } else {
        f(name);
      }
      names.push_back(std::move(name));
      field_.resize(outer);
    } while (next_is(','));
    require('}', "',' or '}'");
  }

  /// Reads a list; `f`, called for each of its elements, reads it.
  [[gnu::cold, gnu::noinline]] void each_element(FunctionRef<void()> f) {
    require('[', "a list");
    if (next_is(']')) return;
    const std::size_t outer = field_.size();
    std::size_t number = 0;
    do {
      field_ += joined({"[", number++, "]"});
      f();
      field_.resize(outer);
    } while (next_is(','));
    require(']', "',' or ']'");
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
      fail(joined({"a whole number from 0 up is expected", found()}));
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

  /// Reads a text that is one of these names; `what` they are, such as "collective".
  [[gnu::cold]] std::size_t one_of(const std::vector<std::string_view>& names, const char* what) {
    return place_of(string(), names, what);
  }
  /// The place of a name among these.
  [[gnu::cold]] std::size_t place_of(std::string_view name,
                                     const std::vector<std::string_view>& names,
                                     const char* what = "field") const {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) {
      fail(joined({"there is no such ", what, ": ", similar_names(name, names)}));
    }
    return static_cast<std::size_t>(at - names.begin());
  }

  /// Checks, after all that was to be read, that nothing follows.
  [[gnu::cold]] void end() {
    skip_blanks();
    if (at_ != text_.size()) fail("something follows the end");
  }

  /// Throws argument_error with what is wrong where it has read last.
  [[noreturn, gnu::cold, gnu::noinline]] void fail(const std::string& what) const {
    constexpr std::size_t most_shown = 200;  // of a name, which may be as long as the file
    const std::string_view field = std::string_view(field_).substr(0, most_shown);
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    throw_error<argument_error>({"papcoll: ", source_, ", line ", line,
                                 (field.empty() ? "" : ", field "), field, ": ", what});
  }

 private:
  /// Returns the character of an escape sequence; names need none, so characters other than ASCII
  /// may be lost.
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
    if (!next_is(c)) fail(joined({what, " is expected", found()}));
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
    return shows ? joined({", not '", std::string_view(&c, 1), "'"}) : "";
  }

  std::string_view text_;
  std::string_view source_;
  std::size_t at_ = 0;
  std::string field_;  ///< where it is: "rules[0].bytes[1]"
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

}  // namespace papcoll::inline PAPCOLL_ABI::detail
