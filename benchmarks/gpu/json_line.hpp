// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <concepts>
#include <cstdio>
#include <string>

namespace bench {

/// An object of JSON in one line. Names and texts have nothing that JSON would escape.
class JsonLine {
 public:
  explicit JsonLine(const std::string& what) : text_("{\"what\": \"" + what + "\"") {}

  JsonLine& add(const char* name, const std::string& value) {
    return put(name, "\"" + value + "\"");
  }
  JsonLine& add(const char* name, std::same_as<bool> auto value) {
    return put(name, value ? "true" : "false");
  }
  template <std::integral N>
  requires(!std::same_as<N, bool>) JsonLine& add(const char* name, N value) {
    return put(name, std::to_string(value));
  }
  /// null if it is no number.
  JsonLine& add(const char* name, double value) {
    char text[40] = "null";
    if (std::isfinite(value)) std::snprintf(text, sizeof text, "%.9g", value);
    return put(name, text);
  }

  std::string text() const { return text_ + "}"; }

  /// To standard output, at once.
  void print() const {
    std::printf("%s\n", text().c_str());
    std::fflush(stdout);
  }

 private:
  JsonLine& put(const char* name, const std::string& value) {
    text_ += std::string(", \"") + name + "\": " + value;
    return *this;
  }

  std::string text_;
};

}  // namespace bench
