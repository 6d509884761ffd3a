// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/draw/svg.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/schedule_traits.hpp>
#include <papcoll/simulate/quantity_text.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/mapping/mapped_order.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Which ranks talk across nodes in an order of a schedule's positions, as SVG: a square for each
// sender (a row) and receiver (a column), in the machine's order, so that what stays in a node is
// on the diagonal.

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

inline constexpr std::string_view mapping_style = R"(
text { font-family: Arial, Helvetica, "DejaVu Sans", sans-serif; font-size: 12px; fill: #222 }
.title { font-size: 18px; font-weight: bold }
.section { font-size: 14px; font-weight: bold }
.note, .number { fill: #555 }
.page { fill: #fff }
.matrix { fill: #fff; stroke: #222 }
.node { fill: #eee }
.within { fill: #0072b2 }
.across { fill: #d55e00 }
)";

/// One order.
class MappingPanel {
 public:
  MappingPanel(const Traffic& traffic, const Machine& machine, const Order& order,
               const std::string& title)
      : machine_(machine), along_(machine.order()) {
    const auto ranks = static_cast<std::size_t>(machine.size());
    cell_ = std::clamp(side / static_cast<double>(std::max<std::size_t>(ranks, 1)), 1.0, 24.0);
    panel_.width = std::max(cell_ * static_cast<double>(ranks), width_of(title, 14));
    panel_.svg.text({0, 14}, title, "section");
    panel_.svg.text({0, 34}, costs(traffic, order), "note");
    draw_nodes();
    draw_messages(traffic, order);
    panel_.height = top + cell_ * static_cast<double>(ranks) + 4;
  }

  const Panel& panel() const noexcept { return panel_; }

 private:
  static constexpr double side = 480;
  static constexpr double top = 46;

  std::string costs(const Traffic& traffic, const Order& order) const {
    std::vector<int> rank_of(along_.size());
    for (int p = 0; p < order.size(); ++p) rank_of[static_cast<std::size_t>(p)] = order.rank(p);
    const MappingCost cost = cost_of(traffic, machine_, rank_of);
    return "bytes × hops " + decimal(cost.byte_hops, 2) + ", heaviest link " +
           decimal(cost.heaviest_link, 2);
  }

  Point corner(std::size_t row, std::size_t column) const {
    return {cell_ * static_cast<double>(column), top + cell_ * static_cast<double>(row)};
  }

  void draw_nodes() {
    const double all = cell_ * static_cast<double>(along_.size());
    panel_.svg.rect(corner(0, 0), all, all, "matrix");
    for (std::size_t first = 0; first < along_.size();) {
      const int node = machine_.place(along_[first]).node;
      std::size_t last = first;
      while (last < along_.size() && machine_.place(along_[last]).node == node) ++last;
      const double width = cell_ * static_cast<double>(last - first);
      panel_.svg.rect(corner(first, first), width, width, "node", "node " + std::to_string(node));
      first = last;
    }
  }

  void draw_messages(const Traffic& traffic, const Order& order) {
    std::vector<std::size_t> at(along_.size());
    for (std::size_t i = 0; i < along_.size(); ++i) at[static_cast<std::size_t>(along_[i])] = i;
    std::map<std::pair<int, int>, double> shares;
    for (const Traffic::Arc& a : traffic.arcs()) {
      shares[{order.rank(a.from), order.rank(a.to)}] += static_cast<double>(a.share);
    }
    for (const auto& [ranks, share] : shares) {
      const auto [from, to] = ranks;
      const bool across = machine_.place(from).node != machine_.place(to).node;
      std::string title = "rank " + std::to_string(from) + " to rank " + std::to_string(to) + ": " +
                          decimal(share * 100, 1) + " % of the vector";
      if (across) title += ", " + decimal(machine_.hops(from, to), 1) + " hops";
      panel_.svg.rect(corner(at[static_cast<std::size_t>(from)], at[static_cast<std::size_t>(to)]),
                      cell_, cell_, across ? "across" : "within", title);
    }
  }

  const Machine& machine_;
  std::vector<int> along_;
  double cell_ = 1;
  Panel panel_;
};

}  // namespace detail

/// An order and what it is called.
struct DrawnOrder {
  std::string name;  ///< the title of its matrix
  Order order;       ///< of the schedule's positions
};

/// A picture of who sends to whom, once for each order.
[[gnu::cold]] inline std::string draw_mapping(const std::string& title, const Traffic& traffic,
                                              const Machine& machine,
                                              const std::vector<DrawnOrder>& orders) {
  constexpr double margin = 20;
  detail::Svg body;
  body.text({0, 16}, title, "title");
  body.text({0, 40},
            "A row for each sender, a column for each receiver, both along the machine; grey: the "
            "same node; blue: within a node; orange: across.",
            "note");
  double x = 0;
  double height = 0;
  for (const DrawnOrder& o : orders) {
    const detail::MappingPanel panel{traffic, machine, o.order, o.name};
    body.add(panel.panel().svg, {x, 56});
    x += panel.panel().width + 2 * margin;
    height = std::max(height, panel.panel().height);
  }
  constexpr double least_width = 860;
  const double width = std::max(x, least_width) + margin;
  detail::Svg page;
  page.rect({0, 0}, width, height + 56 + 2 * margin, "page");
  page.add(body, {margin, margin});
  return page.document(width, height + 56 + 2 * margin, title, detail::mapping_style);
}

}  // namespace papcoll::inline PAPCOLL_ABI
