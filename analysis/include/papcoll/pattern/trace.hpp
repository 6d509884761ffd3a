// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/floating_order.hpp>
#include <papcoll/pattern/imbalance_factors.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::pattern {

/// The text of a trace is malformed; what() names line and column, both counted from 1.
struct trace_error : argument_error {
  /// For the library.
  trace_error(const std::string& text, std::size_t line_, std::size_t column_)
      : argument_error("arrival trace, line " + std::to_string(line_) + ", column " +
                       std::to_string(column_) + ": " + text),
        line(line_),
        column(column_) {}
  std::size_t line;    ///< from 1
  std::size_t column;  ///< from 1
};

/// Recorded arrival times, played back call by call and over again from the start.
struct Trace {
  std::size_t ranks = 0;        ///< of each call
  std::vector<double> seconds;  ///< call after call, `ranks` arrival times each

  /// Returns the number of calls that were recorded.
  std::size_t calls() const noexcept { return ranks == 0 ? 0 : seconds.size() / ranks; }

  /// The recorded times of call number `call` modulo calls(); there must be one.
  std::span<const double> recorded(std::uint64_t call) const noexcept {
    return std::span(seconds).subspan(static_cast<std::size_t>(call % calls()) * ranks, ranks);
  }

  /// Writes arrivals[r], the arrival of rank r in that call in seconds after the earliest rank.
  /// arrivals.size() must equal `ranks`.
  void operator()(std::uint64_t call, std::span<double> arrivals) const noexcept {
    const auto times = recorded(call);
    double earliest = times[0];
    for (const double t : times) earliest = t < earliest ? t : earliest;
    for (std::size_t r = 0; r < ranks; ++r) arrivals[r] = times[r] - earliest;
  }

  /// The largest Ω of all calls, in seconds.
  double spread() const noexcept { return maximum_imbalance_factor(seconds, ranks, 1.0); }

  /// All times multiplied by one factor so that spread() becomes `wanted` seconds (a balanced trace
  /// stays as it is).
  Trace scaled_to(double wanted) const {
    Trace scaled = *this;
    const double now = spread();
    if (now <= 0) return scaled;
    for (double& t : scaled.seconds) t *= wanted / now;
    return scaled;
  }
};

namespace detail {
/// Splits one line of a trace into numbers; comma, semicolon, space and tab part them.
class TraceLine {
 public:
  TraceLine(std::string_view text, std::size_t line) : text_(text), line_(line) { skip_blanks(); }

  bool done() const noexcept { return at_ == text_.size() || text_[at_] == '#'; }

  double number() {
    const char* begin = text_.data() + at_;
    double value = 0;
    const auto [end, code] = papcoll::detail::from_chars(begin, text_.data() + text_.size(), value);
    const auto length = static_cast<std::size_t>(end - begin);
    const bool ends = at_ + length == text_.size() || is_separator(text_[at_ + length]);
    if (code == std::errc::result_out_of_range) fail("the number is out of range");
    if (code != std::errc{} || !ends || !papcoll::detail::is_finite(value)) {
      for (const char c : word()) {
        if (static_cast<unsigned char>(c) < ' ')
          fail("there is a control character: it is no text");
      }
      fail(std::string("'").append(word()).append(
          "' is not a time in seconds (comments start with #)"));
    }
    at_ += length;
    next_field();
    return value;
  }

  [[noreturn]] void fail(const std::string& text) const { throw trace_error(text, line_, at_ + 1); }

 private:
  static constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r'; }
  static constexpr bool is_comma(char c) noexcept { return c == ',' || c == ';'; }
  static constexpr bool is_separator(char c) noexcept {
    return is_blank(c) || is_comma(c) || c == '#';
  }

  void skip_blanks() noexcept {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }

  // After a comma another number must follow: "1,,2" and "1,2," have a rank without a time. In
  // "0,5 0,6" and "0,5;0,6" commas are decimal points.
  void next_field() {
    skip_blanks();
    if (done()) return;
    const char sign = is_comma(text_[at_]) ? text_[at_] : ' ';
    if (sign_ != '\0' && sign != sign_) {
      fail(
          "commas, semicolons and blanks are mixed: part times by one of them, and write 0.5 for "
          "a half");
    }
    sign_ = sign;
    if (sign == ' ') return;
    ++at_;
    skip_blanks();
    if (done()) fail("a number is missing after the comma");
  }

  std::string_view word() const noexcept {
    constexpr std::size_t most = 64;  // as much as a message shows
    std::size_t end = at_;
    while (end < text_.size() && end - at_ < most && !is_separator(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  std::string_view text_;
  std::size_t line_;
  std::size_t at_ = 0;
  char sign_ = '\0';  // between the times of this line
};
}  // namespace detail

/// Reads a trace: a line a call, a column a rank, arrival times in seconds on one clock, parted by
/// commas, semicolons or blanks, one of them in a line. Empty lines and what follows a # are
/// ignored. Throws trace_error for anything else, for lines of different length and for a text
/// without a call.
inline Trace parse_trace(std::string_view text) {
  Trace trace;
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    detail::TraceLine line(text.substr(0, end), number);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    std::size_t columns = 0;
    while (!line.done()) {
      const bool extra = trace.ranks != 0 && columns == trace.ranks;
      if (extra) {
        line.fail("one time too many: the lines before have " + std::to_string(trace.ranks));
      }
      trace.seconds.push_back(line.number());
      ++columns;
    }
    if (columns == 0) continue;
    if (trace.ranks == 0) trace.ranks = columns;
    if (columns != trace.ranks) {
      line.fail("the line has " + std::to_string(columns) + " times, the lines before have " +
                std::to_string(trace.ranks));
    }
  }
  if (trace.ranks == 0) throw trace_error("the trace has no call", 1, 1);
  return trace;
}

}  // namespace papcoll::inline PAPCOLL_ABI::pattern
