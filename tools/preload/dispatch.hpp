// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// How every call goes: whose it is, by which algorithm it runs, and what becomes of its errors.

#include "call_outcomes.hpp"
#include "errors.hpp"
#include "process.hpp"

#include <papcoll/base/error.hpp>
#include <papcoll/erased.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <tuple>

namespace preload {

namespace erased = papcoll::erased;

/// A call as it came, for MPI: the words of its parameters, and the function that would have got
/// them.
template <class... Words> class LeftToMpi {
 public:
  LeftToMpi(int (*function)(Words...), const char* name, Words... words) noexcept
      : function_(function), name_(name), words_(words...) {}

  int operator()() const {
    return function_ != nullptr ? std::apply(function_, words_) : lacking();
  }

 private:
  // Programs of another version of MPI may ask for functions that this MPI library has not.
  [[gnu::cold, gnu::noinline]] int lacking() const {
    std::fprintf(stderr, "papcoll: %s was called, and %s has no such function\n", name_,
                 interpose::mpi_library().path.c_str());
    return MPI_ERR_OTHER;
  }

  int (*function_)(Words...);
  const char* name_;
  std::tuple<Words...> words_;
};

/// Makes one: Next(function, name)(words...).
template <class... Words> struct Next {
  Next(int (*f)(Words...), const char* n) noexcept : function(f), name(n) {}
  LeftToMpi<Words...> operator()(Words... words) const noexcept {
    return {function, name, words...};
  }

  int (*function)(Words...);
  const char* name;
};

/// Returns true if MPI has refused a call for its arguments, so that this rank took no part in it.
/// All other errors are of calls that all ranks were in, such as one of a buffer that was too short
/// on this rank.
[[gnu::cold, gnu::noinline]] inline bool is_refusal(int code) {
  int error_class = MPI_ERR_OTHER;
  MPI_Error_class(code, &error_class);
  for (const int c : {MPI_ERR_ARG, MPI_ERR_BUFFER, MPI_ERR_COMM, MPI_ERR_COUNT, MPI_ERR_OP,
                      MPI_ERR_RANK, MPI_ERR_ROOT, MPI_ERR_TYPE}) {
    if (error_class == c) return true;
  }
  return false;
}

/// The communicator, if papcoll makes the calls on it, or is to from this call on; else null.
inline Communicator* ours(MPI_Comm comm) {
  Communicator* const c = is_active() ? communicators().find(comm) : nullptr;
  return c != nullptr && (c->is_taken_over() || communicators().is_due(*c)) ? c : nullptr;
}

/// What a call moves, as far as it is the same on all ranks: of the vector, or of a block.
struct Payload {
  MPI_Count count = 0;
  MPI_Datatype type{};

  std::uint64_t bytes() const {
    MPI_Count size = 0;
    if (count <= 0 || MPI_Type_size_x(type, &size) != MPI_SUCCESS || size <= 0) return 0;
    return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
  }
};

/// Of how many calls one is looked at for what it moves. Lengths seldom come again after so many.
inline constexpr std::uint64_t measured_one_in = 17;

/// Leaves a call to MPI. The first calls of a communicator count unless MPI refuses them on this
/// rank, which has no part in a call of the others' then.
template <class Left>
[[gnu::noinline]] int leave(Function f, MPI_Comm comm, const Left& left,
                            const Payload& payload = {}) {
  Communicator* const c = is_active() ? communicators().find(comm) : nullptr;
  if (c == nullptr) {
    count(f, is_active() ? Outcome::arguments : this_process().inactive_outcome());
    return left();
  }
  count(f, c->left);
  if (c->left != Outcome::first_calls) return left();
  const int code = left();
  if (code == MPI_SUCCESS && c->calls % measured_one_in == 0) {
    c->bytes += measured_one_in * payload.bytes();
  }
  if (code == MPI_SUCCESS || !is_refusal(code)) ++c->calls;
  return code;
}

/// The communicator, if it is that of this thread's last call; else null.
[[gnu::always_inline]] inline Communicator* known(MPI_Comm comm) noexcept {
  return is_active() ? Communicators::known(comm) : nullptr;
}

/// Returns true if this call is left to MPI, too, and nothing more has to be found out.
[[gnu::always_inline]] inline bool is_left_for_now(const Communicator& c) noexcept {
  return c.left == Outcome::first_calls && !communicators().is_due(c) &&
         c.calls % measured_one_in != 0;
}

/// Leaves such a call to MPI's function.
template <class... Words>
[[gnu::noinline]] int pass(Function f, Communicator& c, int (*function)(Words...), Words... words) {
  count(f, Outcome::first_calls);
  const int code = function(words...);
  if (code == MPI_SUCCESS || !is_refusal(code)) ++c.calls;
  return code;
}

/// Leaves a call to MPI, which will refuse it, or for a reason that all ranks see.
template <class Left>
[[gnu::cold, gnu::noinline]] int leave_one(Function f, Outcome why, const Left& left) {
  count(f, why);
  return left();
}

/// The exception that is being handled ends a call.
[[gnu::cold, gnu::noinline]] inline int code_of_failure(Function f) noexcept {
  count(f, Outcome::taken_over);
  return code_of_exception(name_of(f));
}

/// There is no memory to pack the elements of a call. The other ranks are notified, unless it was
/// for the result.
[[gnu::cold, gnu::noinline]] inline int code_without_memory(Function f, Communicator& c) noexcept {
  const char* const why = "there is no memory to pack its elements";
  try {
    if (!c.has_called) erased::refuse(*c.team, collective_of(f), why);
  } catch (const std::exception&) {  // it says so, or there is not even memory for that
  }
  count(f, Outcome::taken_over);
  return error_codes().of(MPI_ERR_NO_MEM, std::string(name_of(f)) + ": papcoll: " + why);
}

/// A call on one of ours(). `is_right` looks at the arguments, and `run` makes the call; both get
/// the communicator.
template <class Left, class IsRight, class Run>
int enter(Function f, Communicator& c, const Left& left, const IsRight& is_right, const Run& run) {
  // Before the communicator is taken over, where all ranks wait for each other: a call that MPI
  // refuses waits for no rank, and the others may make theirs only when this rank has gone on.
  if (!is_right(c)) [[unlikely]] {
    return leave_one(f, Outcome::arguments, left);
  }
  if (c.is_taken_over() || communicators().take_over(c)) [[likely]] {
    c.has_called = false;
    int code = MPI_SUCCESS;
    try {
      return run(c);
    } catch (const std::bad_alloc&) {
      code = code_without_memory(f, c);
    }
    return report(c.handle, code);
  }
  return leave(f, c.handle, left);
}

/// The algorithm for a call of so many bytes.
struct Choice {
  const Algorithm* algorithm;
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

/// Runs a call by the rule that fits it. Whether an algorithm serves a call is the same on all
/// ranks, so that all go on with auto in the same call.
template <class Run>
[[gnu::noinline]] int perform_by_rules(Function f, Communicator& c, std::size_t bytes,
                                       const Run& call) {
  int code = MPI_SUCCESS;
  Choice chosen = Choice::of(f, bytes, c);
  for (;;) {
    try {
      call(erased::Comm(*c.team), *chosen.algorithm);
      count(f, chosen.is_unfit ? Outcome::by_auto : Outcome::taken_over);
      return MPI_SUCCESS;
    } catch (const papcoll::unsupported_call&) {
      if (chosen.rule == 0) code = code_of_failure(f);
    } catch (const papcoll::transport_unavailable&) {
      if (chosen.rule == 0) code = code_of_failure(f);
    } catch (...) {
      code = code_of_failure(f);
    }
    if (code != MPI_SUCCESS) return report(c.handle, code);
    c.unfit_rules |= chosen.rule;
    chosen = {&this_process().settings().otherwise, 0, true};
  }
}

/// Runs a call of papcoll's on a communicator that is taken over: call(team, algorithm). `bytes`
/// are those by which an algorithm is chosen.
template <class Run>
[[gnu::always_inline]] inline int perform(Function f, Communicator& c, std::size_t bytes,
                                          const Run& call) {
  c.has_called = true;
  if (c.only_algorithm == nullptr) return perform_by_rules(f, c, bytes, call);
  int code = MPI_SUCCESS;
  try {
    call(erased::Comm(*c.team), *c.only_algorithm);
    count(f, Outcome::taken_over);
    return MPI_SUCCESS;
  } catch (...) {
    code = code_of_failure(f);
  }
  return report(c.handle, code);  // whose handler may not return, when nothing is handled any more
}

}  // namespace preload
