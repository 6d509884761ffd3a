#pragma once

#include <papcoll/plan/flow.hpp>
#include <papcoll/plan/plan.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// Which steps of a plan wait for which: of two steps that touch the same memory, one of them
/// writing, the later in the text waits for the earlier. Steps are told in the order of the text.
class StepDependencies {
 public:
  /// A step that both reads and writes an element is told to read it first.
  void read(Operand at, std::size_t n, std::uint32_t step) { access(at, n, step, false); }
  void write(Operand at, std::size_t n, std::uint32_t step) { access(at, n, step, true); }

  /// A dependency for another reason. `later` is the newest step.
  void depend(std::uint32_t later, std::uint32_t earlier) {
    if (later == earlier) return;
    if (later >= newest_.size()) newest_.resize(later + std::size_t{1}, 0);
    if (newest_[earlier] == later) return;
    newest_[earlier] = later;
    dependencies_.push_back({earlier, later});
  }

  /// The same for the newest step, which has no dependency yet, and steps that differ.
  [[gnu::cold]] void depend_on_all(std::uint32_t later, const std::vector<std::uint32_t>& earlier) {
    for (const std::uint32_t e : earlier) dependencies_.push_back({e, later});
  }

  const std::vector<Dependency>& all() const noexcept { return dependencies_; }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// Neighbouring elements that the same steps accessed. Whoever reads them waits for the last that
  /// wrote; whoever writes them, for those that read since, too.
  struct Segment {
    std::size_t lo, hi;
    std::uint32_t writer;
    std::uint32_t readers;  ///< the newest of them in reads_
  };
  /// A reader, and in reads_ the one before it. Segments cut in two share what they have in common.
  struct Read {
    std::uint32_t step;
    std::uint32_t before;
  };

  void access(Operand at, std::size_t n, std::uint32_t step, bool write) {
    if (at.space == Space::in || n == 0) return;
    std::vector<Segment>& segments = segments_[static_cast<std::size_t>(at.space)];
    const std::size_t lo = at.offset;
    const std::size_t hi = at.offset + n;
    auto begin = std::partition_point(segments.begin(), segments.end(),
                                      [&](const Segment& s) { return s.hi <= lo; });
    auto end =
        std::partition_point(begin, segments.end(), [&](const Segment& s) { return s.lo < hi; });
    for (auto s = begin; s != end; ++s) {
      if (s->writer != none) depend(step, s->writer);
      for (std::uint32_t r = write ? s->readers : none; r != none; r = reads_[r].before) {
        depend(step, reads_[r].step);
      }
    }
    fresh_.clear();
    if (begin != end && begin->lo < lo)
      fresh_.push_back({begin->lo, lo, begin->writer, begin->readers});
    if (write) {
      // What a write covers is forgotten: whoever comes later waits for the write.
      fresh_.push_back({lo, hi, step, none});
    } else {
      std::size_t from = lo;
      for (auto s = begin; s != end; ++s) {
        if (from < s->lo) fresh_.push_back({from, s->lo, none, read_by(step, none)});
        from = std::min(hi, s->hi);
        fresh_.push_back({std::max(lo, s->lo), from, s->writer, read_by(step, s->readers)});
      }
      if (from < hi) fresh_.push_back({from, hi, none, read_by(step, none)});
    }
    if (begin != end && hi < end[-1].hi) {
      fresh_.push_back({hi, end[-1].hi, end[-1].writer, end[-1].readers});
    }
    const auto there =
        std::min<std::ptrdiff_t>(end - begin, static_cast<std::ptrdiff_t>(fresh_.size()));
    begin = std::copy(fresh_.begin(), fresh_.begin() + there, begin);
    if (fresh_.begin() + there == fresh_.end()) {
      segments.erase(begin, end);
    } else {
      segments.insert(end, fresh_.begin() + there, fresh_.end());
    }
  }

  std::uint32_t read_by(std::uint32_t step, std::uint32_t before) {
    reads_.push_back({step, before});
    return static_cast<std::uint32_t>(reads_.size() - 1);
  }

  /// Those of plans, and those of PlanMemory: temporaries and areas.
  static constexpr std::size_t space_count = 4 + Flow::most_temporaries;

  std::array<std::vector<Segment>, space_count> segments_;  ///< of each space, sorted
  std::vector<Read> reads_;
  std::vector<Segment> fresh_;         ///< what takes the place of the accessed segments
  std::vector<std::uint32_t> newest_;  ///< by step: the newest that depends on it
  std::vector<Dependency> dependencies_;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
