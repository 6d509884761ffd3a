#pragma once

#include <papcoll/plan/flow.hpp>
#include <papcoll/plan/plan.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Which steps of a plan wait for which: of two steps that touch the same memory, one of them
/// writing, the later in the text waits for the earlier. Steps are told in the order of the text.
class StepDependencies {
 public:
  void read(Operand at, std::size_t n, std::uint32_t step) { access(at, n, step, false); }
  void write(Operand at, std::size_t n, std::uint32_t step) { access(at, n, step, true); }

  /// A dependency for another reason. `later` is the newest step.
  void depend(std::uint32_t later, std::uint32_t earlier) {
    if (later == earlier) return;
    // Only the newest step gains dependencies, so they are the tail of the list.
    for (auto d = dependencies_.rbegin(); d != dependencies_.rend() && d->later == later; ++d) {
      if (d->earlier == earlier) return;
    }
    dependencies_.push_back({earlier, later});
  }

  const std::vector<Dependency>& all() const noexcept { return dependencies_; }

 private:
  struct Access {
    std::size_t lo, hi;
    std::uint32_t step;
    bool write;
  };

  void access(Operand at, std::size_t n, std::uint32_t step, bool write) {
    if (at.space == Space::in) return;
    auto& list = accesses_[static_cast<std::size_t>(at.space)];
    const std::size_t lo = at.offset;
    const std::size_t hi = at.offset + n;
    std::size_t kept = 0;
    const std::size_t before = list.size();
    for (std::size_t i = 0; i < before; ++i) {
      const Access a = list[i];
      if (a.hi <= lo || hi <= a.lo) {
        list[kept++] = a;
        continue;
      }
      if (write || a.write) depend(step, a.step);
      // What a write covers is forgotten: whoever comes later waits for the write.
      if (!write || a.step == step) {
        list[kept++] = a;
      } else if (a.lo < lo && hi < a.hi) {
        list[kept++] = {a.lo, lo, a.step, a.write};
        list.push_back({hi, a.hi, a.step, a.write});
      } else if (a.lo < lo) {
        list[kept++] = {a.lo, lo, a.step, a.write};
      } else if (hi < a.hi) {
        list[kept++] = {hi, a.hi, a.step, a.write};
      }
    }
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(kept),
               list.begin() + static_cast<std::ptrdiff_t>(before));
    list.push_back({lo, hi, step, write});
  }

  /// With those that PlanSink adds.
  static constexpr std::size_t space_count = 3 + Flow::most_temporaries;

  std::array<std::vector<Access>, space_count> accesses_;
  std::vector<Dependency> dependencies_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
