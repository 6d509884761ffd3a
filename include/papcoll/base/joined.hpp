#pragma once

#include <papcoll/base/config.hpp>

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// A part of a message: text, or a whole number in decimal digits. Two words, so that a list of
/// them is little code.
class MessagePart {
 public:
  // Implicit, since they stand in lists of arguments.
  MessagePart(std::string_view text) noexcept  // NOLINT(google-explicit-constructor)
      : text_(text.data() == nullptr ? "" : text.data()), n_(text.size()) {}
  MessagePart(const std::string& text) noexcept  // NOLINT(google-explicit-constructor)
      : text_(text.data()), n_(text.size()) {}
  MessagePart(const char* text) noexcept  // NOLINT(google-explicit-constructor)
      : text_(text), n_(std::char_traits<char>::length(text)) {}
  template <std::signed_integral N>
  requires(!std::same_as<N, char>) MessagePart(N n)
  noexcept  // NOLINT(google-explicit-constructor)
      : text_(signed_number), n_(static_cast<std::size_t>(n)) {}
  template <std::unsigned_integral N>
  requires(!std::same_as<N, bool> && !std::same_as<N, char>) MessagePart(N n)
  noexcept  // NOLINT(google-explicit-constructor)
      : text_(unsigned_number), n_(n) {}

  void append_to(std::string& s) const {
    if (text_ == signed_number) {
      s += std::to_string(static_cast<std::ptrdiff_t>(n_));
    } else if (text_ == unsigned_number) {
      s += std::to_string(n_);
    } else {
      s.append(text_, n_);
    }
  }

 private:
  // Not text, but what n_ is.
  static constexpr char signed_number[] = "n";
  static constexpr char unsigned_number[] = "u";

  const char* text_;
  std::size_t n_;
};

/// The parts, one after the other. Messages are built by this, once for all of a program: a chain
/// of + costs a compiler more than the call it is in.
[[gnu::cold, gnu::noinline]] inline std::string joined(std::initializer_list<MessagePart> parts) {
  std::string all;
  for (const MessagePart& part : parts) part.append_to(all);
  return all;
}

/// Throws an E with that message. Where it is called there is no code for the message's end nor for
/// the exception's.
template <class E>
[[noreturn, gnu::cold, gnu::noinline]] void throw_error(std::initializer_list<MessagePart> parts) {
  throw E(joined(parts));
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
