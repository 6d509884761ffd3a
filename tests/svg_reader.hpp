// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A reader of pictures, for tests: is it well-formed XML, and what is where?

#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace svg {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;
  double x = 0;  ///< of its coordinate system, in the picture
  double y = 0;

  std::string at(const std::string& attribute) const {
    const auto found = attributes.find(attribute);
    return found == attributes.end() ? "" : found->second;
  }
  double number(const std::string& attribute) const { return std::atof(at(attribute).c_str()); }
  bool is(std::string_view kind) const { return at("class") == kind; }
};

/// Reads a document; throws std::runtime_error if it is not well-formed.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {
    skip_blanks();
    element(0, 0);
    skip_blanks();
    require(at_ == text_.size(), "something follows the root");
  }

  const std::vector<Element>& elements() const { return elements_; }

 private:
  void element(double x, double y) {
    expect("<");
    Element e;
    e.name = name();
    while (blank()) {
      skip_blanks();
      if (peek() == '>' || peek() == '/') break;
      std::string attribute = name();
      expect("=\"");
      std::string value = until("\"<");
      expect("\"");
      require(e.attributes.emplace(std::move(attribute), std::move(value)).second,
              "an attribute is there twice");
    }
    const std::string moved = e.at("transform");
    if (!moved.empty()) {
      require(moved.starts_with("translate("), "another transform than translate");
      char* rest = nullptr;
      x += std::strtod(moved.c_str() + 10, &rest);
      y += std::strtod(rest, nullptr);
    }
    e.x = x;
    e.y = y;
    const std::size_t index = elements_.size();
    elements_.push_back(e);
    if (peek() == '/') {
      expect("/>");
      return;
    }
    expect(">");
    for (;;) {
      elements_[index].text += until("<");
      if (text_.substr(at_, 2) == "</") break;
      element(x, y);
    }
    expect("</" + elements_[index].name + ">");
  }

  /// Characters up to one of `ends`; entities are as in XML.
  std::string until(std::string_view ends) {
    std::string read;
    while (ends.find(peek()) == std::string_view::npos) {
      if (peek() == '&') {
        static const std::map<std::string, char> known{
            {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}};
        const std::string entity{text_.substr(at_, text_.find(';', at_) + 1 - at_)};
        const auto found = known.find(entity);
        require(found != known.end(), "an unknown entity");
        read += found->second;
        at_ += entity.size();
      } else {
        read += text_[at_++];
      }
    }
    return read;
  }

  std::string name() {
    std::string n;
    while (std::isalnum(static_cast<unsigned char>(peek())) != 0 || peek() == '-') {
      n += text_[at_++];
    }
    require(!n.empty(), "a name is missing");
    return n;
  }

  bool blank() const { return std::isspace(static_cast<unsigned char>(peek())) != 0; }
  void skip_blanks() {
    while (at_ < text_.size() && blank()) ++at_;
  }
  char peek() const {
    require(at_ < text_.size(), "the end is missing");
    return text_[at_];
  }
  void expect(const std::string& what) {
    require(text_.substr(at_, what.size()) == what, what + " is missing");
    at_ += what.size();
  }
  void require(bool holds, const std::string& what) const {
    if (holds) return;
    throw std::runtime_error(what + " at " + std::to_string(at_) + ": " +
                             std::string(text_.substr(at_, 40)));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Element> elements_;
};

/// How many messages the upper part of a picture shows.
inline std::size_t messages(const std::vector<Element>& elements) {
  std::size_t n = 0;
  for (const Element& e : elements) {
    if (!e.is("message")) continue;
    const std::string several = e.at("data-messages");
    n += several.empty() ? 1 : static_cast<std::size_t>(std::atoi(several.c_str()));
  }
  return n;
}

/// Where a text stands, about.
struct Box {
  double left, right, top, bottom;
  std::string text;

  bool overlaps(const Box& o) const {
    return left < o.right && o.left < right && top < o.bottom && o.top < bottom;
  }
};

inline std::vector<Box> texts(const std::vector<Element>& elements) {
  std::vector<Box> boxes;
  for (const Element& e : elements) {
    if (e.name != "text") continue;
    const bool small = e.is("label") || e.is("edge");
    const double font = small ? 10 : e.is("title") ? 18 : e.is("section") ? 14 : 12;
    std::size_t letters = 0;
    for (const char c : e.text) letters += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U ? 1 : 0;
    const double width = static_cast<double>(letters) * font * 0.56;  // Arial, DejaVu Sans
    const double x = e.x + e.number("x");
    const double y = e.y + e.number("y");
    const bool middle = small || e.is("rank") || e.is("tick");
    const double left = middle ? x - width / 2 : e.is("number") ? x - width : x;
    boxes.push_back({left, left + width, y - 0.72 * font, y, e.text});
  }
  return boxes;
}

}  // namespace svg
