// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What makes a machine of the lines of a network file, see network_file.hpp.

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/floating_order.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/sysfs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The words of a line, which blanks separate.
inline std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view blanks = " \t\r";
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(blanks, at)) != line.npos) {
    const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

/// Reads the lines of a network file, and then makes the machine. The text must live as long.
class NetworkReader {
 public:
  static constexpr std::size_t longest_word = 255;  ///< messages quote words

  NetworkReader(std::string_view text, const std::string& file_name) : file_(file_name) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    require_text(text);
    for (std::size_t line = 1; !text.empty(); ++line) {
      line_ = line;
      const std::string_view whole = text.substr(0, text.find('\n'));
      read(words_of(whole.substr(0, whole.find('#'))));
      text.remove_prefix(std::min(whole.size() + 1, text.size()));
    }
    line_ = 0;
  }

  Machine machine() {
    if (nodes_.empty()) fail("it has no nodes: write node NAME, a line for each");
    if (!links_.empty() && !hops_.empty()) {
      line_ = std::max(links_.front().line, hops_.front().line);
      fail("links and hops are in one file: leave the links or the hops out");
    }
    Network network = hops_.empty() ? tree() : by_hops();
    if (places_.line != 0) {
      line_ = places_.line;
      const auto each = static_cast<std::size_t>(places_.packages) *
                        static_cast<std::size_t>(places_.l3) *
                        static_cast<std::size_t>(places_.cores);
      if (each * nodes_.size() > Machine::most_described) {
        fail(joined({nodes_.size(), " nodes of ", each, " cores are ", each * nodes_.size(),
                     " places: at most ", Machine::most_described}));
      }
      Machine m = Machine::of_cores(static_cast<int>(nodes_.size()), places_.packages, places_.l3,
                                    places_.cores, std::move(network));
      m.source = source();
      return m;
    }
    Machine m{{}, std::move(network)};
    m.source = source();
    add_hosts(m);
    return m;
  }

 private:
  using Words = std::vector<std::string_view>;
  struct Name {
    std::size_t number;  ///< of the nodes, or of the switches
    bool is_node;
    std::size_t line;
  };
  struct Link {
    std::string_view a, b;
    double cost, width;
    std::size_t line;
  };
  struct Hops {
    std::string_view a, b;
    float hops;
    std::size_t line;
  };
  struct Places {
    int packages, l3, cores;
    std::size_t line;  ///< 0: there are none
  };

  std::string source() const { return joined({"network file ", file_}); }

  [[noreturn, gnu::cold]] void fail(std::string_view why) const {
    throw argument_error(line_ == 0 ? joined({"papcoll: ", source(), ": ", why})
                                    : joined({"papcoll: ", source(), ", line ", line_, ": ", why}));
  }

  /// Messages quote the file, so it must be one to read.
  void require_text(std::string_view text) {
    line_ = 1;
    for (const char c : text) {
      const bool is_control = static_cast<unsigned char>(c) < ' ' || c == '\x7f';
      if (is_control && c != '\n' && c != '\t' && c != '\r') {
        fail("there is a control character: this is no text");
      }
      if (c == '\n') ++line_;
    }
  }

  void read(const Words& words) {
    if (words.empty()) return;
    for (const std::string_view w : words) {
      if (w.size() <= longest_word) continue;
      fail(joined({"a word has ", w.size(), " characters: at most ", longest_word}));
    }
    const std::string_view word = words[0];
    const auto form = [&](std::size_t least, std::size_t most, std::string_view wanted) {
      if (words.size() - 1 < least || words.size() - 1 > most) {
        fail(joined({word, " has ", words.size() - 1, " words after it: write ", wanted}));
      }
    };
    if (word == "node") {
      form(1, 1, "node NAME");
      declare(words[1], true);
    } else if (word == "switch") {
      form(1, 1, "switch NAME");
      declare(words[1], false);
    } else if (word == "link") {
      form(2, 4, "link A B, link A B COST or link A B COST WIDTH");
      links_.push_back({words[1], words[2], words.size() > 3 ? positive("cost", words[3]) : 1.0,
                        words.size() > 4 ? positive("width", words[4]) : 1.0, line_});
    } else if (word == "hops") {
      form(3, 3, "hops A B NUMBER");
      hops_.push_back(
          {words[1], words[2], static_cast<float>(positive("number of hops", words[3])), line_});
    } else if (word == "places") {
      form(3, 3, "places PACKAGES L3 CORES");
      if (places_.line != 0) fail(joined({"there are places already, on line ", places_.line}));
      places_ = {count("number of packages", words[1]), count("number of L3 caches", words[2]),
                 count("number of cores", words[3]), line_};
      constexpr long long most = Place::anywhere - 1;
      if (1LL * places_.packages * places_.l3 > most ||
          1LL * places_.packages * places_.l3 * places_.cores > most) {
        fail(joined({"a node has at most ", most, " cores"}));
      }
    } else {
      fail(joined({"there is no word ", word, ": ",
                   similar_names(word, {"node", "switch", "link", "hops", "places"})}));
    }
  }

  void declare(std::string_view name, bool is_node) {
    if (is_node && name.find_first_of("[],") != std::string_view::npos) {
      fail(joined({"the name ", name, " has a bracket or a comma, which is in no host's name: ",
                   "write a line node NAME for each host"}));
    }
    std::vector<std::string_view>& of_kind = is_node ? nodes_ : switches_;
    const auto [at, is_new] = names_.try_emplace(name, Name{of_kind.size(), is_node, line_});
    if (!is_new) {
      fail(joined({"there is a ", at->second.is_node ? "node " : "switch ", name,
                   " already, on line ", at->second.line}));
    }
    of_kind.push_back(name);
  }

  double positive(std::string_view what, std::string_view word) const {
    double number = 0;
    const auto [end, wrong] = detail::from_chars(word.data(), word.data() + word.size(), number);
    if (wrong != std::errc{} || end != word.data() + word.size() || !detail::is_finite(number) ||
        number < 1e-30 || number > 1e30) {
      fail(joined({"the ", what, " is ", word, ": write a number above 0"}));
    }
    return number;
  }

  int count(std::string_view what, std::string_view word) const {
    const int number = number_of(std::string{word}, Place::anywhere - 1);
    if (number < 1) {
      fail(joined(
          {"the ", what, " is ", word, ": write a whole number from 1 to ", Place::anywhere - 1}));
    }
    return number;
  }

  const Name& find(std::string_view name) const {
    const auto at = names_.find(name);
    if (at == names_.end()) {
      fail(joined({"there is no ", name, ": declare it by node ", name, " or switch ", name}));
    }
    return at->second;
  }

  /// The vertex of the network that has a name.
  std::size_t vertex(std::string_view name) const {
    const Name& found = find(name);
    return found.is_node ? found.number : nodes_.size() + found.number;
  }
  std::string_view name_of_vertex(std::size_t v) const {
    return v < nodes_.size() ? nodes_[v] : switches_[v - nodes_.size()];
  }

  struct Neighbour {
    std::size_t vertex;
    const Link* link;
  };
  using Neighbours = detail::Vector<detail::Vector<Neighbour>>;  // of each vertex

  /// Refuses links that make no tree.
  Neighbours neighbours() {
    Neighbours of(nodes_.size() + switches_.size());
    std::vector<std::size_t> part(of.size());  // what is joined so far, a forest of its own
    std::iota(part.begin(), part.end(), std::size_t{0});
    const auto part_of = [&part](std::size_t v) {
      while (part[v] != v) v = part[v] = part[part[v]];
      return v;
    };
    for (const Link& link : links_) {
      line_ = link.line;
      const std::size_t a = vertex(link.a);
      const std::size_t b = vertex(link.b);
      if (a < nodes_.size() && b < nodes_.size()) {
        fail(joined({"the link joins two nodes, ", link.a, " and ", link.b,
                     ": put a switch between them"}));
      }
      for (const std::size_t v : {a, b}) {
        if (v >= nodes_.size() || of[v].empty()) continue;
        fail(joined({"the node ", name_of_vertex(v), " has a link already, on line ",
                     of[v].front().link->line,
                     ": add the widths of links to one switch; describe others by hops"}));
      }
      if (part_of(a) == part_of(b)) {
        fail(joined({"the link closes a cycle: ", link.a, " and ", link.b,
                     " are joined already. Make one switch of those that are side by side, or "
                     "describe the network by hops"}));
      }
      part[part_of(a)] = part_of(b);
      of[a].push_back({b, &link});
      of[b].push_back({a, &link});
    }
    line_ = 0;
    for (std::size_t v = 1; v < of.size(); ++v) {
      if (part_of(v) == part_of(0)) continue;
      const std::string_view lonely = name_of_vertex(of[v].empty() ? v : 0);
      fail(joined({"no link leads from ", name_of_vertex(v), " to ", name_of_vertex(0), ": ",
                   of[v].empty() || of[0].empty()
                       ? joined({"add a line link ", lonely, " SWITCH"})
                       : "add a link between a switch of the one and a switch of the other"}));
    }
    return of;
  }

  /// The switch in the middle: the last one that is left when what hangs by one link is taken away
  /// again and again, at first switches without nodes. Of two, that which is declared first.
  std::size_t top(const Neighbours& neighbours) const {
    const std::size_t n = nodes_.size();
    std::vector<std::size_t> links(neighbours.size());
    for (std::size_t v = 0; v < links.size(); ++v) links[v] = neighbours[v].size();
    std::vector<bool> is_left(neighbours.size(), true);
    std::size_t left = neighbours.size();
    const auto take_away = [&](std::size_t first, std::size_t least) {
      std::vector<std::size_t> outmost;
      for (std::size_t v = first; v < links.size(); ++v) {
        if (is_left[v] && links[v] <= 1) outmost.push_back(v);
      }
      while (left > least && !outmost.empty()) {
        std::vector<std::size_t> next;
        for (const std::size_t v : outmost) {
          is_left[v] = false;
          --left;
          for (const Neighbour& other : neighbours[v]) {
            if (--links[other.vertex] == 1 && other.vertex >= first) next.push_back(other.vertex);
          }
        }
        outmost = std::move(next);
      }
    };
    take_away(n, n + 1);
    take_away(0, 2);
    for (std::size_t v = n; v < links.size(); ++v) {
      if (is_left[v]) return v;
    }
    return n;
  }

  Network tree() {
    if (links_.empty() && nodes_.size() + switches_.size() == 1) return Network::one_switch(1);
    if (links_.empty()) fail("it has neither links nor hops between its nodes");
    const Neighbours of = neighbours();
    detail::Vector<Network::Uplink> uplinks(of.size());
    std::vector<std::size_t> todo{top(of)};
    std::vector<int> depths(of.size(), 0);
    while (!todo.empty()) {
      const std::size_t above = todo.back();
      todo.pop_back();
      for (const Neighbour& below : of[above]) {
        if (static_cast<std::size_t>(uplinks[above].switch_number) == below.vertex) continue;
        uplinks[below.vertex] = {static_cast<int>(above), below.link->cost, below.link->width};
        depths[below.vertex] = depths[above] + 1;
        constexpr int deepest = 64;
        if (below.vertex < nodes_.size() && depths[below.vertex] > deepest) {
          line_ = below.link->line;
          fail(joined({"the node ", nodes_[below.vertex], " is ", depths[below.vertex],
                       " links away from the switch in the middle: at most ", deepest}));
        }
        todo.push_back(below.vertex);
      }
    }
    return Network::tree(static_cast<int>(nodes_.size()), std::move(uplinks));
  }

  Network by_hops() {
    const std::size_t n = nodes_.size();
    using Pair = std::pair<std::size_t, std::size_t>;
    std::vector<std::pair<Pair, const Hops*>> pairs;
    for (const Hops& pair : hops_) {
      line_ = pair.line;
      const Name& a = find(pair.a);
      const Name& b = find(pair.b);
      if (!a.is_node || !b.is_node) {
        fail(joined({"hops are between nodes, and ", a.is_node ? pair.b : pair.a, " is a switch"}));
      }
      if (a.number == b.number) fail(joined({"hops lead from ", pair.a, " to itself"}));
      pairs.push_back({std::minmax({a.number, b.number}), &pair});
    }
    std::sort(pairs.begin(), pairs.end());
    // Whether all are there is known before there is a matrix, which has room for n².
    Pair expected{0, 1};
    line_ = 0;
    for (const auto& [pair, hops] : pairs) {
      if (pair < expected) {
        line_ = hops->line;
        fail(joined({"the hops between ", hops->a, " and ", hops->b, " are given twice"}));
      }
      if (pair != expected) break;
      expected = pair.second + 1 < n ? Pair{pair.first, pair.second + 1}
                                     : Pair{pair.first + 1, pair.first + 2};
    }
    if (expected.second < n) {
      const std::string_view a = nodes_[expected.first];
      const std::string_view b = nodes_[expected.second];
      fail(joined({"the hops between ", a, " and ", b, " are missing: add a line hops ", a, " ", b,
                   " NUMBER"}));
    }
    std::vector<float> matrix(n * n, 0);
    for (const auto& [pair, hops] : pairs) {
      matrix[pair.first * n + pair.second] = matrix[pair.second * n + pair.first] = hops->hops;
    }
    return Network::by_hops(static_cast<int>(n), std::move(matrix));
  }

  void add_hosts(Machine& m) {
    std::map<std::uint64_t, std::string_view> known;
    for (const std::string_view name : nodes_) {
      const std::uint64_t hash = hash_of_host(name);
      const auto [at, is_new] = known.try_emplace(hash, name);
      if (!is_new) {
        line_ = find(name).line;
        fail(joined({"the node ", name, " is the host ", at->second,
                     " once more: names count up to their first dot"}));
      }
      m.hosts.push_back(hash);
    }
  }

  const std::string& file_;
  std::size_t line_ = 0;  ///< that messages name; 0: none
  std::map<std::string_view, Name> names_;
  std::vector<std::string_view> nodes_;
  std::vector<std::string_view> switches_;
  detail::Vector<Link> links_;
  std::vector<Hops> hops_;
  Places places_{};
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
