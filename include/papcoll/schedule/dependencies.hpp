#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/element_runs.hpp>
#include <papcoll/schedule/plan.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

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
    if (later >= newest_.size()) newest_.resize(later + std::size_t{1});
    if (newest_[earlier] == later) return;
    newest_[earlier] = later;
    dependencies_.push_back({earlier, later});
  }

  /// The same for all steps of a chain.
  [[gnu::cold]] void depend_on_chain(std::uint32_t later, std::uint32_t chain) {
    for (; chain != 0; chain = links_[chain - 1].next) depend(later, links_[chain - 1].step);
  }

  /// Returns a chain of a step and the steps of another chain; 0 is the chain without steps.
  [[gnu::cold]] std::uint32_t chain(std::uint32_t step, std::uint32_t others) {
    links_.push_back({step, others});
    return static_cast<std::uint32_t>(links_.size());
  }

  /// A queue of steps.
  struct Queue {
    std::uint32_t size = 0;    ///< how many it has had
    std::uint32_t first = 0;   ///< a chain
    std::uint32_t newest = 0;  ///< the last of it
  };

  /// Adds a step to a queue. If it has had `at_once` before, the step waits for the first that is
  /// there, which goes.
  [[gnu::cold]] void enqueue(Queue& q, std::uint32_t step, std::uint32_t at_once) {
    const std::uint32_t link = chain(step, 0);
    (q.size == 0 ? q.first : links_[q.newest - 1].next) = link;
    q.newest = link;
    if (q.size++ < at_once) return;
    depend(step, links_[q.first - 1].step);
    q.first = links_[q.first - 1].next;
  }

  const detail::Vector<Dependency>& all() const noexcept { return dependencies_; }

 private:
  struct Link {
    std::uint32_t step;
    std::uint32_t next;
  };

  void access(Operand at, std::size_t n, std::uint32_t step, bool write) {
    if (at.space == Space::in || n == 0) return;
    const auto space = static_cast<std::size_t>(at.space);
    ElementRuns& runs = runs_[std::min(space, runs_.size()) - 1];
    const std::size_t lo = (space << space_shift) + at.offset;
    const std::size_t first = runs.cut(lo);
    const std::size_t last = runs.cut(lo + n);
    for (std::size_t i = first; i < last; ++i) {
      ElementRuns::Value& v = runs[i].value;
      if (v.what != 0) depend(step, v.what - 1);
      const auto readers = static_cast<std::uint32_t>(v.number);
      if (write) {
        depend_on_chain(step, readers);
      } else {
        v.number = chain(step, readers);
      }
    }
    // What a write covers is forgotten: whoever comes later waits for the write.
    if (write) runs.assign(first, last, {step + 1, 0});
  }

  static constexpr unsigned space_shift = 48;

  /// Of Space::out and Space::scratch, and of all the spaces that PlanMemory has. The values: who
  /// wrote, plus 1, and the chain of those that have read since. Whoever reads waits for the one,
  /// whoever writes for all.
  std::array<ElementRuns, 3> runs_;
  detail::Vector<Link> links_;
  detail::Vector<std::uint32_t> newest_;  ///< by step: the newest that depends on it
  detail::Vector<Dependency> dependencies_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
