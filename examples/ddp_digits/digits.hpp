// SPDX-License-Identifier: BSD-3-Clause
// The data: images of handwritten digits, 8 × 8 pixels each (../data/ATTRIBUTION.txt).
#pragma once

#include <papcoll/pattern/random.hpp>

#include <zlib.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ddp {

inline constexpr std::size_t pixels = 64;
inline constexpr std::size_t classes = 10;

struct Digit {
  std::array<float, pixels> image;  // 0 (white) to 1 (black)
  std::size_t label;                // 0 to 9
};

/// Digits to learn from, and digits to be examined with.
struct Digits {
  std::vector<Digit> training;
  std::vector<Digit> test;
};

/// Reads a line such as "0,0,5,13,…,0,3": 64 pixels from 0 to 16 and the digit.
inline Digit parse_digit(const std::string& line) {
  std::array<int, pixels + 1> numbers{};
  const char* at = line.data();
  const char* const end = at + line.size();
  for (int& number : numbers) {
    const auto [stop, failure] = std::from_chars(at, end, number);
    if (failure != std::errc{} || number < 0 || number > 16) {
      throw std::runtime_error("not 64 pixels and a digit: " + line);
    }
    at = stop == end ? end : stop + 1;
  }
  Digit digit{};
  for (std::size_t i = 0; i < pixels; ++i) digit.image[i] = static_cast<float>(numbers[i]) / 16;
  digit.label = static_cast<std::size_t>(numbers[pixels]);
  if (digit.label >= classes) throw std::runtime_error("not a digit at the end of: " + line);
  return digit;
}

/// Shuffles in the same way on every rank and machine (std::shuffle does not promise that).
template <class T> void shuffle(std::vector<T>& items, papcoll::pattern::Random random) {
  for (std::size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[static_cast<std::size_t>(random.below(i))]);
  }
}

/// Reads the file, shuffles, and keeps a fifth for the test. Throws std::runtime_error.
inline Digits read_digits(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file{gzopen(path.c_str(), "rb"), &gzclose};
  if (file == nullptr) throw std::runtime_error("cannot open " + path);
  std::vector<Digit> all;
  std::array<char, 512> buffer{};
  while (gzgets(file.get(), buffer.data(), static_cast<int>(buffer.size())) != nullptr) {
    std::string line{buffer.data()};
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
    if (!line.empty()) all.push_back(parse_digit(line));
  }
  int failure = Z_OK;
  const char* const message = gzerror(file.get(), &failure);
  if (failure != Z_OK || all.empty()) {
    throw std::runtime_error("cannot read " + path + ": " + (all.empty() ? "empty" : message));
  }
  shuffle(all, papcoll::pattern::Random{1});
  const auto kept = static_cast<std::ptrdiff_t>(all.size() / 5);
  return {{all.begin() + kept, all.end()}, {all.begin(), all.begin() + kept}};
}

/// The order in which an epoch goes through the training digits, the same on every rank.
inline std::vector<std::size_t> epoch_order(std::size_t digits, std::uint64_t seed, int epoch) {
  std::vector<std::size_t> order(digits);
  for (std::size_t i = 0; i < digits; ++i) order[i] = i;
  shuffle(order, papcoll::pattern::Random{seed, static_cast<std::uint64_t>(epoch) + 1});
  return order;
}

}  // namespace ddp
