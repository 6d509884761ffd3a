// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// FNV-1a of the bytes: the same number in every process, of whatever build.
inline std::uint64_t hash_of_text(std::string_view text) noexcept {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return h;
}

/// "1 record", "3 records"; `more` is a plural that is not formed by an s.
inline std::string counted(std::size_t n, std::string_view one, std::string_view more = {}) {
  std::string text = std::to_string(n) + " " + std::string(n == 1 || more.empty() ? one : more);
  if (n != 1 && more.empty()) text += 's';
  return text;
}

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
  // Marks a part that is no text but the number n_.
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

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Returns the number of letters that have to be put in, left out or exchanged to make b of a; case
/// does not count.
[[gnu::cold]] inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t exchanged = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({exchanged, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

/// "did you mean A, B or C?" with the names that are close to what was written, the closest first;
/// or, if none is, all names.
[[gnu::cold]] inline std::string similar_names(std::string_view written,
                                               std::vector<std::string_view> names) {
  constexpr std::size_t most = 3;
  heap_sort(names.data(), names.size());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  Vector<std::pair<std::size_t, std::string_view>> similar;
  for (const std::string_view name : names) {
    const std::size_t max_distance = std::max<std::size_t>(2, name.size() / 4);
    if (written.size() > name.size() + max_distance) continue;
    const std::size_t distance = edit_distance(written, name);
    const bool begins = written.size() >= 3 && written.size() < name.size() &&
                        edit_distance(written, name.substr(0, written.size())) == 0;
    if (distance <= max_distance || begins) {
      similar.emplace_back(begins ? 1 : distance, name);
    }
  }
  heap_sort(similar.data(), similar.size());
  if (similar.size() > most) similar.resize(most);
  if (similar.empty()) {
    for (const std::string_view name : names) similar.emplace_back(0, name);
  }
  const bool guess = similar.size() <= most;
  std::string text = guess ? "did you mean " : "there are ";
  for (std::size_t i = 0; i < similar.size(); ++i) {
    if (i > 0) text += i + 1 < similar.size() ? ", " : guess ? " or " : " and ";
    text += similar[i].second;
  }
  return text + (guess ? "?" : "");
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
