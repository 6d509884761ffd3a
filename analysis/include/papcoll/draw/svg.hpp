// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <boost/locale/utf.hpp>

#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Returns a text in which U+FFFD stands for each byte that is no UTF-8.
inline std::string utf8_text(std::string_view text) {
  using Utf8 = boost::locale::utf::utf_traits<char>;
  std::string valid;
  for (const char* at = text.data(); at != text.data() + text.size();) {
    const char* const begin = at;
    const auto letter = Utf8::decode(at, text.data() + text.size());
    if (boost::locale::utf::is_valid_codepoint(letter)) {
      valid.append(begin, at);
    } else {
      valid += "\xef\xbf\xbd";
      at = begin + 1;
    }
  }
  return valid;
}

/// Text as XML wants it.
inline std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : utf8_text(text)) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += c;
    }
  }
  return safe;
}

/// A coordinate, to a tenth of a pixel, in any locale.
inline std::string coordinate(double x) {
  const long long tenths = std::llround(x * 10);
  const long long whole = tenths < 0 ? -tenths : tenths;
  std::string text = (tenths < 0 ? "-" : "") + std::to_string(whole / 10);
  if (whole % 10 != 0) text.append(".").append(std::to_string(whole % 10));
  return text;
}

/// Pixels that a text takes at most: the widest of the usual sans-serif fonts is taken.
inline double width_of(std::string_view text, double font_size) {
  std::size_t letters = 0;
  for (const char c : text) letters += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U ? 1 : 0;
  constexpr double of_a_letter = 0.64;
  return static_cast<double>(letters) * font_size * of_a_letter;
}

struct Point {
  double x = 0;
  double y = 0;
};

/// A picture in pixels, from the upper left corner; how things look is said by classes of a style
/// sheet. Attributes that are appended begin with a blank.
class Svg {
 public:
  void line(Point a, Point b, std::string_view kind, std::string_view more = {}) {
    open("line", kind);
    body_ += " x1=\"" + coordinate(a.x) + "\" y1=\"" + coordinate(a.y) + "\" x2=\"" +
             coordinate(b.x) + "\" y2=\"" + coordinate(b.y) + "\"";
    body_.append(more) += "/>\n";
  }

  /// With a title, viewers show it where the mouse rests.
  void rect(Point corner, double width, double height, std::string_view kind,
            std::string_view title = {}) {
    open("rect", kind);
    body_ += " x=\"" + coordinate(corner.x) + "\" y=\"" + coordinate(corner.y) + "\" width=\"" +
             coordinate(width) + "\" height=\"" + coordinate(height) + "\"";
    if (title.empty()) {
      body_ += "/>\n";
    } else {
      body_ += "><title>" + escaped(title) + "</title></rect>\n";
    }
  }

  void circle(Point centre, double radius, std::string_view kind) {
    open("circle", kind);
    body_ += " cx=\"" + coordinate(centre.x) + "\" cy=\"" + coordinate(centre.y) + "\" r=\"" +
             coordinate(radius) + "\"/>\n";
  }

  /// `steps` are those of SVG's path language.
  void path(std::string_view steps, std::string_view kind) {
    open("path", kind);
    body_.append(" d=\"").append(steps) += "\"/>\n";
  }

  /// A line with a head, which is of the class that has "-head" added.
  void arrow(Point from, Point tip, const std::string& kind) {
    constexpr double head = 7;
    constexpr double half = 3;
    const double length = std::fmax(1, std::hypot(tip.x - from.x, tip.y - from.y));
    const Point u{(tip.x - from.x) / length, (tip.y - from.y) / length};
    const Point neck{tip.x - u.x * head, tip.y - u.y * head};
    line(from, neck, kind);
    const auto point = [](double x, double y) { return coordinate(x) + " " + coordinate(y); };
    path("M" + point(tip.x, tip.y) + "L" + point(neck.x - u.y * half, neck.y + u.x * half) + "L" +
             point(neck.x + u.y * half, neck.y - u.x * half) + "Z",
         kind + "-head");
  }

  /// Stands on the line y.
  void text(Point at, std::string_view words, std::string_view kind, std::string_view title = {}) {
    open("text", kind);
    body_ += " x=\"" + coordinate(at.x) + "\" y=\"" + coordinate(at.y) + "\">";
    if (!title.empty()) body_ += "<title>" + escaped(title) + "</title>";
    body_ += escaped(words) + "</text>\n";
  }

  /// What follows, up to end(), belongs together.
  void begin(std::string_view kind,
             std::initializer_list<std::pair<std::string_view, std::string>> attributes = {}) {
    open("g", kind);
    for (const auto& [name, value] : attributes) {
      body_.append(" ").append(name) += "=\"" + escaped(value) + "\"";
    }
    body_ += ">\n";
  }
  void end() { body_ += "</g>\n"; }

  /// Another picture, moved.
  void add(const Svg& other, Point at) {
    body_ += "<g transform=\"translate(" + coordinate(at.x) + " " + coordinate(at.y) + ")\">\n" +
             other.body_ + "</g>\n";
  }

  /// Returns the document.
  std::string document(double width, double height, std::string_view title,
                       std::string_view style) const {
    const std::string size = coordinate(std::ceil(width)) + " " + coordinate(std::ceil(height));
    std::string all = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
                      size.substr(0, size.find(' ')) + "\" height=\"" +
                      size.substr(size.find(' ') + 1) + "\" viewBox=\"0 0 " + size + "\">\n";
    all += "<title>" + escaped(title) + "</title>\n<style>\n";
    all.append(style) += "</style>\n" + body_ + "</svg>\n";
    return all;
  }

 private:
  void open(std::string_view element, std::string_view kind) {
    body_.append("<").append(element);
    if (!kind.empty()) body_.append(" class=\"").append(kind) += "\"";
  }

  std::string body_;
};

/// A part of a picture and how much room it takes.
struct Panel {
  Svg svg;
  double width = 0;
  double height = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
