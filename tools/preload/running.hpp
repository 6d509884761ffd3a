#pragma once

// How every call goes: whose it is, by which algorithm it runs, and what becomes of its errors.

#include "counted.hpp"
#include "errors.hpp"
#include "process.hpp"

#include <papcoll/erased.hpp>
#include <papcoll/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace preload {

/// Leaves a call to MPI. The first calls of a communicator count only if MPI has done them: one
/// that it refuses on this rank has none on the others.
template <class Left>
[[gnu::noinline]] int leave(Function f, Communicator* c, const Left& left) {
  if (c == nullptr) {
    Process& process = this_process();
    count(f, process.is_active() ? Fate::arguments : process.inactive_fate());
    return left();
  }
  count(f, c->left);
  if (c->left != Fate::first_calls) return left();
  const int code = left();
  if (code == MPI_SUCCESS) ++c->calls;
  return code;
}

/// A call of a function: papcoll's if the communicator is taken over, else MPI's. `run` gets the
/// communicator.
template <class Left, class Run>
int enter(Function f, MPI_Comm comm, const Left& left, const Run& run) {
  Communicator* const c = this_process().is_active() ? communicators().find(comm) : nullptr;
  if (c != nullptr && (c->is_taken_over() || communicators().takes_over(*c))) [[likely]] {
    return run(*c);
  }
  return leave(f, c, left);
}

/// Leaves a call on a communicator that is taken over to MPI, which will refuse it, or for a reason
/// that all ranks see.
template <class Left>
[[gnu::cold, gnu::noinline]] int leave_one(Function f, Fate why, const Left& left) {
  count(f, why);
  return left();
}

/// The bytes that a call reads and writes.
struct Buffers {
  const void* in = nullptr;
  std::size_t in_bytes = 0;
  const void* out = nullptr;
  std::size_t out_bytes = 0;

  /// Is nothing wrong with them? Then what papcoll refuses is the algorithm.
  bool are_sound() const noexcept {
    if ((in_bytes != 0 && in == nullptr) || (out_bytes != 0 && out == nullptr)) return false;
    if (in == out || in_bytes == 0 || out_bytes == 0) return true;
    const auto a = reinterpret_cast<std::uintptr_t>(in);
    const auto b = reinterpret_cast<std::uintptr_t>(out);
    return a + in_bytes <= b || b + out_bytes <= a;
  }
};

/// The algorithm for a call of so many bytes.
struct Choice {
  const papcoll::Algorithm* algorithm;
  std::uint64_t rule = 0;  ///< bit of the rule that named it; 0: none did
  bool is_unfit = false;   ///< one did, and it does not serve such calls

  static Choice of(Function f, std::size_t bytes, const Communicator& c) {
    const Settings& s = this_process().settings();
    Choice chosen{&s.otherwise};
    for (std::size_t i = 0; i < s.rules.size(); ++i) {
      const AlgorithmRule& r = s.rules[i];
      if ((r.function && *r.function != f) || bytes < r.least || bytes > r.most) continue;
      const std::uint64_t bit = bit_of(f, i);
      if ((c.unfit_rules & bit) != 0) {
        chosen.is_unfit = true;
      } else {
        chosen.algorithm = &r.algorithm;
        chosen.rule = bit;
      }
      break;
    }
    return chosen;
  }

 private:
  /// A bit for each rule and function; rules that have to share one are given up together.
  static std::uint64_t bit_of(Function f, std::size_t rule) noexcept {
    return std::uint64_t{1} << ((rule * function_names.size() + static_cast<std::size_t>(f)) % 63);
  }
};

/// Runs a call of papcoll's on a communicator that is taken over: call(team, algorithm). `bytes`
/// are those by which an algorithm is chosen. What all ranks' calls have in common alone decides
/// whether an algorithm serves them, so that all go on with Auto in the same call.
template <class Run>
int perform(Function f, Communicator& c, std::size_t bytes, const Buffers& buffers,
            const Run& call) {
  int code = MPI_SUCCESS;
  Choice chosen = Choice::of(f, bytes, c);
  for (;;) {
    try {
      call(papcoll::erased::Comm(*c.team), *chosen.algorithm);
      count(f, chosen.is_unfit ? Fate::by_auto : Fate::taken_over);
      return MPI_SUCCESS;
    } catch (const papcoll::argument_error&) {
      if (chosen.rule == 0 || !buffers.are_sound()) {
        code = code_of_exception();
        break;
      }
    } catch (const papcoll::transport_unavailable&) {
      if (chosen.rule == 0) {
        code = code_of_exception();
        break;
      }
    } catch (...) {
      code = code_of_exception();
      break;
    }
    c.unfit_rules |= chosen.rule;
    chosen = {&this_process().settings().otherwise, 0, true};
  }
  count(f, Fate::taken_over);
  return report(c.handle, code);
}

}  // namespace preload
