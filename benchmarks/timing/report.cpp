// SPDX-License-Identifier: BSD-3-Clause
#include "timing/report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double micro = 1e6;
constexpr double nano = 1e9;

/// Which option gave the spread of the arrivals.
std::string_view spread_from(const Options& options) {
  if (options.mif) return "mif";
  if (options.spread) return "duration";
  return options.is_trace() ? "trace" : "none";
}

/// A whole row, with what is the same in all rows of a run. Keys stay in this order.
Json row(const Options& options, const Placement& placement, const std::string& library,
         const Result& r) {
  const bool barrier = options.collective == Collective::barrier;
  const bool reduction = is_reduction(options.collective);
  return {
      {"collective", name_of_form(options.collective, options.irregular)},
      {"algorithm", r.algorithm},
      {"resolved", r.resolved},
      {"ranks", placement.ranks()},
      {"nodes", placement.nodes()},
      {"bytes", r.bytes},
      {"type", barrier ? "none" : name_of(options.type)},
      {"op", reduction ? name_of(options.op) : "none"},
      {"root", is_rooted(options.collective) ? Json(options.root) : Json(nullptr)},
      {"in_place", options.in_place},
      {"counts", options.irregular ? Json(name_of(options.counts)) : Json(nullptr)},
      {"gap", options.irregular ? Json(options.gap) : Json(nullptr)},
      {"layout", options.layout.is_noncontiguous() ? Json(options.layout_text) : Json(nullptr)},
      {"buffers", name_of(options.buffers)},
      {"arena", options.buffers == BufferKind::arena},
      {"machine", options.machine.empty() ? Json(nullptr) : Json(options.machine)},
      {"placement", options.machine.empty() ? Json(nullptr) : Json(name_of(options.placement))},
      {"routes", options.routes},
      {"group_size", options.group_size > 0 ? Json(options.group_size) : Json(nullptr)},
      {"chunk_bytes", options.chunk_bytes},
      {"agreement_period", options.agreement_period},
      {"selection", selection_names[static_cast<std::size_t>(options.selection)]},
      {"peer_access", peer_access_names[static_cast<std::size_t>(options.peer_access)]},
      {"copy_method", papcoll::name_of(options.copy_method)},
      {"arrival", options.arrival},
      {"mif", r.mif},
      {"spread_us", r.spread},
      {"alpha_us", r.alpha > 0 ? Json(r.alpha) : Json(nullptr)},
      {"spread_from", spread_from(options)},
      {"delay", options.delay == Delay::busy ? "busy" : "sleep"},
      {"start", options.start == Start::barrier ? "barrier" : "clock"},
      {"seed", options.seed},
      {"iterations", r.iterations},
      {"stopped_by", r.stopped_by},
      {"mean_us", r.in_call.mean},
      {"median_us", r.in_call.median},
      {"p95_us", r.in_call.p95},
      {"max_us", r.in_call.max},
      {"ci95_us", r.in_call.ci95},
      {"median_ci95_us", r.in_call.median_ci95},
      {"tail_median_us", r.tail.median},
      {"tail_mean_us", r.tail.mean},
      {"tail_p95_us", r.tail.p95},
      {"tail_ci95_us", r.tail.ci95},
      {"tail_median_ci95_us", r.tail.median_ci95},
      {"skew_median_us", r.skew.median},
      {"bound_us", r.bound.seconds * micro},
      {"bound_how", r.bound.how},
      {"signal_ns", r.signal.seconds > 0 ? Json(r.signal.seconds * nano) : Json(nullptr)},
      {"neighbourhood", name_of(r.signal.where)},
      {"clock_uncertainty_us", r.clock_uncertainty},
      {"late_starts", r.late_starts},
      {"checked", r.checked},
      {"oversubscribed", placement.oversubscribed()},
      {"pinned", placement.pinned()},
      {"mpi_library", library},
  };
}

void put(std::FILE* file, std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot write the results");
  }
}

}  // namespace

class Report::Writer {
 public:
  Writer(const Options& options, const Placement& placement, std::string library, std::FILE* file)
      : options_(options), placement_(placement), library_(std::move(library)), file_(file) {}
  virtual ~Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  virtual void add(const std::vector<Result>& results) = 0;

 protected:
  const Options& options_;
  const Placement& placement_;
  std::string library_;
  std::FILE* file_;
};

class Report::JsonLines : public Report::Writer {
 public:
  using Writer::Writer;
  void add(const std::vector<Result>& results) override {
    for (const Result& r : results) {
      // Names of files may have bytes that are no UTF-8.
      const Json one = row(options_, placement_, library_, r);
      put(file_, one.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
    }
  }
};

class Report::Csv : public Report::Writer {
 public:
  using Writer::Writer;
  void add(const std::vector<Result>& results) override {
    for (const Result& r : results) {
      const Json all = row(options_, placement_, library_, r);
      std::string head;
      std::string line;
      for (const auto& [key, value] : all.items()) {
        head.append(head.empty() ? "" : ",").append(key);
        line.append(line.empty() ? "" : ",").append(field(value));
      }
      put(file_, (std::exchange(begun_, true) ? "" : head + "\n") + line + "\n");
    }
  }

 private:
  /// As RFC 4180 quotes: names of algorithms have commas.
  static std::string field(const Json& value) {
    if (value.is_null()) return "";
    if (!value.is_string()) return value.dump();
    const auto text = value.get<std::string>();
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
    return quoted + "\"";
  }

  bool begun_ = false;
};

class Report::Table : public Report::Writer {
 public:
  using Writer::Writer;
  void add(const std::vector<Result>& results) override {
    // Names are as wide as they come; what auto stands for is only known now.
    for (const Result& r : results) width_ = std::max(width_, label(r).size());
    if (!std::exchange(begun_, true)) head();
    for (const Result& r : results) {
      put(file_,
          fmt::format("{:<10} {:<{}} {:>14.2f} {:>8.2f} {:>10.2f} {:>10.2f} {:>10.2f} "
                      "{:>10.2f} {:>10.2f} {:>10} {:>6} {:>8}\n",
                      r.bytes, label(r), width_, r.in_call.mean, r.in_call.ci95, r.in_call.median,
                      r.in_call.p95, r.in_call.max, r.tail.median, r.bound.seconds * micro,
                      signal(r), r.iterations, speed(results.front(), r)));
    }
    for (const Result& r : results) {
      if (is_plausible(results.front(), r)) continue;
      put(file_,
          fmt::format("# {} and {} differ by more than {:.0f} times: look for the reason first, "
                      "as ranks that wait on a processor which others need\n",
                      label(results.front()), label(r), most_plausible));
    }
  }

 private:
  static std::string label(const Result& r) {
    const bool same = r.resolved == r.algorithm || is_native(r.algorithm);
    return same ? r.algorithm : fmt::format("{} = {}", r.algorithm, r.resolved);
  }

  /// By so much at most one algorithm is quicker than another.
  static constexpr double most_plausible = 100;

  static double ratio(const Result& first, const Result& r) {
    return first.in_call.median / r.in_call.median;
  }
  static bool is_plausible(const Result& first, const Result& r) {
    return ratio(first, r) <= most_plausible && ratio(first, r) >= 1 / most_plausible;
  }
  static std::string speed(const Result& first, const Result& r) {
    return is_plausible(first, r) ? fmt::format("{:.2f}x", ratio(first, r)) : "-";
  }

  static std::string signal(const Result& r) {
    if (r.signal.seconds == 0) return "-";
    return fmt::format("{} {:.0f}", name_of(r.signal.where), r.signal.seconds * nano);
  }

  void head() const {
    const Placement& p = placement_;
    std::string what =
        fmt::format("# papcoll-bench {}", name_of_form(options_.collective, options_.irregular));
    if (options_.collective != Collective::barrier)
      what += fmt::format(" {}", name_of(options_.type));
    if (is_reduction(options_.collective)) what += fmt::format(" {}", name_of(options_.op));
    if (is_rooted(options_.collective)) what += fmt::format(", root {}", options_.root);
    if (options_.in_place) what += ", in place";
    if (options_.irregular) what += fmt::format(", counts: {}", name_of(options_.counts));
    if (options_.irregular && options_.gap > 0) what += fmt::format(", gaps of {}", options_.gap);
    if (options_.layout.is_noncontiguous())
      what += fmt::format(", layout {}", options_.layout_text);
    if (options_.buffers != BufferKind::ordinary) {
      what += fmt::format(", buffers: {}", name_of(options_.buffers));
    }
    if (!options_.machine.empty()) {
      what += fmt::format(", machine {} {}{}", options_.machine, name_of(options_.placement),
                          options_.routes ? " by routes" : "");
    }
    if (options_.group_size > 0) what += fmt::format(", groups of {}", options_.group_size);
    const papcoll::Options usual;
    if (options_.chunk_bytes != usual.chunk_bytes) {
      what += fmt::format(", chunks of {} bytes", options_.chunk_bytes);
    }
    if (options_.agreement_period != usual.agreement_period) {
      what += fmt::format(", agreements every {} calls", options_.agreement_period);
    }
    if (options_.selection != usual.selection) {
      what += fmt::format(", {} selection",
                          selection_names[static_cast<std::size_t>(options_.selection)]);
    }
    if (options_.peer_access != usual.peer_access) {
      what += fmt::format(", peer access {}",
                          peer_access_names[static_cast<std::size_t>(options_.peer_access)]);
    }
    if (options_.copy_method != usual.copy_method) {
      what += fmt::format(", {} copies", papcoll::name_of(options_.copy_method));
    }
    what += fmt::format(", arrival {}", options_.arrival);
    if (options_.mif) what += fmt::format(", MIF {}", *options_.mif);
    if (options_.spread) what += fmt::format(", spread {} us", *options_.spread * micro);
    what +=
        fmt::format("\n# {} rank{} on {} node{}{}{}, {}\n", p.ranks(), p.ranks() == 1 ? "" : "s",
                    p.nodes(), p.nodes() == 1 ? "" : "s", p.pinned() ? ", pinned" : ", not pinned",
                    p.oversubscribed() ? ", oversubscribed" : "", library_);
    what += fmt::format(
        "{:<10} {:<{}} {:>14} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>6} {:>8}\n",
        "# Size", "Algorithm", width_, "Avg Time(us)", "+-95%", "Median", "P95", "Max", "Tail(us)",
        "Bound(us)", "Signal(ns)", "Iter", "Speed");
    put(file_, what);
  }

  std::size_t width_ = 24;
  bool begun_ = false;
};

Report::Report(const Options& options, const Placement& placement, std::string mpi_library) {
  if (placement.rank() != 0) return;
  if (!options.output.empty()) {
    file_.reset(std::fopen(options.output.c_str(), "w"));
    if (!file_)
      throw std::system_error(errno, std::generic_category(), "cannot write " + options.output);
  }
  std::FILE* const file = file_ ? file_.get() : stdout;
  switch (options.format) {
    case Format::json:
      writer_ = std::make_unique<JsonLines>(options, placement, std::move(mpi_library), file);
      break;
    case Format::csv:
      writer_ = std::make_unique<Csv>(options, placement, std::move(mpi_library), file);
      break;
    case Format::table:
      writer_ = std::make_unique<Table>(options, placement, std::move(mpi_library), file);
      break;
  }
}

Report::~Report() = default;

void Report::add(const std::vector<Result>& results) {
  if (writer_) writer_->add(results);
}

}  // namespace bench
