// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Networks as the programs of their makers print them: ibnetdiscover of InfiniBand, opareport of
// Omni-Path.

#include <papcoll/base/error.hpp>
#include <papcoll/base/floating_order.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/tools/machines/fabric.hpp>
#include <papcoll/topology/network_reader.hpp>
#include <papcoll/topology/sysfs.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// Lines of a text, with what messages say of them.
template <class F> void for_each_line(std::string_view text, F f) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    constexpr std::size_t longest = 1024;
    if (line.size() > longest) {
      throw argument_error(
          detail::joined({"papcoll: line ", number, " of what is to be converted has ", line.size(),
                          " characters: at most ", longest}));
    }
    f(number, line);
  }
}

/// The Gbit/s of a link, as InfiniBand writes it: "4xEDR". Nothing if it is no such text.
inline std::optional<double> infiniband_width(std::string_view text) {
  struct Speed {
    std::string_view name;
    double of_four_lanes;
  };
  constexpr Speed speeds[] = {{"SDR", 8},   {"DDR", 16},  {"QDR", 32},  {"FDR10", 40}, {"FDR", 56},
                              {"EDR", 100}, {"HDR", 200}, {"NDR", 400}, {"XDR", 800}};
  const std::size_t times = text.find('x');
  if (times == std::string_view::npos) return {};
  const int lanes = detail::number_of(std::string{text.substr(0, times)}, 12);
  for (const Speed& s : speeds) {
    if (s.name == text.substr(times + 1) && lanes > 0) return lanes * s.of_four_lanes / 4;
  }
  return {};
}

/// Reads what ibnetdiscover prints: sections of switches and adapters, each with a line for each
/// port that has a link, so that links are there twice.
class Ibnetdiscover {
 public:
  explicit Ibnetdiscover(std::string_view text) {
    // Names stand at the beginning of sections, which may come after links that name them.
    for_each_line(text, [this](std::size_t, std::string_view line) { read_section(line); });
    for_each_line(text, [this](std::size_t number, std::string_view line) {
      number_ = number;
      read_port(line);
    });
    if (names_.empty()) {
      throw argument_error(
          "papcoll: this is no output of ibnetdiscover: it has no line Switch or Ca");
    }
  }

  Fabric take() { return std::move(fabric_); }

 private:
  using End = std::pair<std::string, std::string>;  // an id such as S-0002c9…, and a port

  /// The text between the next two quotation marks, which are taken away with it.
  static std::optional<std::string> quoted(std::string_view& line) {
    const std::size_t first = line.find('"');
    if (first == std::string_view::npos) return {};
    const std::size_t last = line.find('"', first + 1);
    if (last == std::string_view::npos) return {};
    std::string text{line.substr(first + 1, last - first - 1)};
    line.remove_prefix(last + 1);
    return text;
  }
  /// The text of "[…" at the beginning of the line.
  static std::optional<std::string> port(std::string_view line) {
    if (line.empty() || line.front() != '[') return {};
    const std::size_t end = line.find(']');
    if (end == std::string_view::npos) return {};
    return std::string{line.substr(1, end - 1)};
  }
  static bool begins_section(std::string_view line) {
    const std::vector<std::string_view> words = detail::words_of(line);
    return words.size() > 2 && (words[0] == "Switch" || words[0] == "Ca" || words[0] == "Rt");
  }

  void read_section(std::string_view line) {
    if (!begins_section(line)) return;
    const std::optional<std::string> id = quoted(line);
    const std::optional<std::string> description = quoted(line);
    if (id) names_[*id] = description.value_or("");
  }

  /// Nothing for what passes no messages on between hosts: routers, and units within switches.
  std::optional<std::size_t> vertex(const std::string& id) {
    const std::string description = names_.count(id) != 0 ? names_[id] : "";
    if (id.compare(0, 2, "S-") == 0) return fabric_.a_switch(id, description);
    if (id.compare(0, 2, "H-") != 0) return {};
    if (description.find("Aggregation Node") != std::string::npos) return {};
    const bool is_model = description.find("Mellanox Technologies") != std::string::npos;
    return fabric_.adapter(id, detail::words_of(is_model ? "" : description));
  }

  void read_port(std::string_view line) {
    if (begins_section(line)) {
      here_ = quoted(line).value_or("");
      return;
    }
    const std::optional<std::string> own = port(line);
    if (!own || here_.empty()) return;
    const std::optional<std::string> id = quoted(line);
    const std::optional<std::string> other = port(line);
    if (!id || !other) fail("a port without the name and port that it is linked with");
    const End a{here_, *own};
    const End b{*id, *other};
    if (!known_.insert(std::minmax(a, b)).second) return;
    const std::optional<std::size_t> from = vertex(here_);
    const std::optional<std::size_t> to = vertex(*id);
    if (from && to) fabric_.link(*from, *to, width(line));
  }

  double width(std::string_view line) const {
    for (const std::string_view word : detail::words_of(line)) {
      const std::optional<double> found = infiniband_width(word);
      if (found) return *found;
    }
    fail("a link without a speed that is known, such as 4xEDR");
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw argument_error(
        detail::joined({"papcoll: output of ibnetdiscover, line ", number_, ": ", what}));
  }

  Fabric fabric_;
  std::size_t number_ = 0;
  std::map<std::string, std::string> names_;  ///< descriptions, by id
  std::string here_;                          ///< the id of this section
  std::set<std::pair<End, End>> known_;
};

/// Reads what `opareport -o links` prints: of each link a line with its rate and one end, and a
/// line with the other.
inline Fabric read_opareport(std::string_view text) {
  Fabric fabric;
  struct OneEnd {
    double width;
    std::optional<std::size_t> vertex;
  };
  std::optional<OneEnd> open;
  bool any = false;
  const auto end = [&fabric](const std::vector<std::string_view>& words) -> std::size_t {
    const std::string guid{words[1]};
    std::string name;
    if (words[3] == "SW") {
      for (std::size_t i = 4; i < words.size(); ++i) {
        name.append(name.empty() ? "" : "_").append(words[i]);
      }
      return fabric.a_switch(guid, name);
    }
    return fabric.adapter(guid, {words.begin() + 4, words.end()});
  };
  for_each_line(text, [&](std::size_t number, std::string_view line) {
    const std::vector<std::string_view> words = detail::words_of(line);
    const bool is_end = words.size() >= 4 && (words[3] == "SW" || words[3] == "FI") &&
                        words[1].substr(0, 2) == "0x";
    if (!is_end) return;
    const auto fail = [number](std::string_view what) {
      throw argument_error(
          detail::joined({"papcoll: output of opareport, line ", number, ": ", what}));
    };
    if (words[0] == "<->") {
      if (!open) fail("the other end of a link comes without the first one");
      fabric.link(*open->vertex, end(words), open->width);
      open.reset();
      any = true;
      return;
    }
    const std::string_view rate = words[0];
    double width = 0;
    const auto [unit, wrong] = detail::from_chars(rate.data(), rate.data() + rate.size(), width);
    const bool is_rate = wrong == std::errc{} && unit + 1 == rate.data() + rate.size() &&
                         *unit == 'g' && width > 0 && width <= 100000;
    if (!is_rate) fail("the rate of a link is no number of Gbit/s, such as 100g");
    if (open) fail("a link begins, and the one before has no other end");
    open = OneEnd{width, end(words)};
  });
  if (!any)
    throw argument_error("papcoll: this is no output of opareport -o links: it has no links");
  return fabric;
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
