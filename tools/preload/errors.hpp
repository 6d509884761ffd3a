// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// papcoll's exceptions as MPI reports errors: by a code whose text is the exception's sentence, to
// the error handler of the communicator.

#include <papcoll/base/error.hpp>
#include <papcoll/runtime/mpi_process.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <string_view>

namespace preload {

/// Codes of MPI for sentences: so many at most, of which the oldest is used again for a new one. A
/// program that asks for the text at once has the right one.
class ErrorCodes {
 public:
  int of(int error_class, const std::string& sentence) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < used_; ++i) {
      if (entries_[i].error_class == error_class && entries_[i].sentence == sentence) {
        return entries_[i].code;
      }
    }
    Entry& e = entries_[next_];
    if (next_ >= used_ || e.error_class != error_class) {
      if (!make(e, error_class)) return error_class;
    }
    used_ = std::max(used_, next_ + 1);
    next_ = (next_ + 1) % entries_.size();
    e.error_class = error_class;
    e.sentence = sentence;
    MPI_Add_error_string(e.code, cut(sentence).c_str());
    return e.code;
  }

 private:
  struct Entry {
    int error_class = 0;
    int code = 0;
    std::string sentence;
  };

  static std::string cut(const std::string& sentence) {
    return sentence.substr(0, MPI_MAX_ERROR_STRING - 1);
  }

  /// A code of a class that the program knows. MPICH 4 gives texts to codes of new classes only.
  static bool make(Entry& e, int error_class) {
    constexpr const char* probe = "papcoll";
    char text[MPI_MAX_ERROR_STRING + 1] = {};
    int length = 0;
    if (MPI_Add_error_code(error_class, &e.code) == MPI_SUCCESS &&
        MPI_Add_error_string(e.code, probe) == MPI_SUCCESS &&
        MPI_Error_string(e.code, text, &length) == MPI_SUCCESS && std::strcmp(text, probe) == 0) {
      return true;
    }
    int new_class = 0;
    return MPI_Add_error_class(&new_class) == MPI_SUCCESS &&
           MPI_Add_error_code(new_class, &e.code) == MPI_SUCCESS;
  }

  std::mutex mutex_;
  std::array<Entry, 64> entries_{};
  std::size_t used_ = 0;
  std::size_t next_ = 0;
};
inline ErrorCodes& error_codes() {
  static ErrorCodes& codes = *new ErrorCodes;
  return codes;
}

/// The code of the exception that is being handled, whose sentence names the function of MPI's that
/// the program called: fatal handlers name the one that they were called by.
[[gnu::cold, gnu::noinline]] inline int code_of_exception(std::string_view function) noexcept {
  const auto code = [&](int error_class, const char* sentence) {
    return error_codes().of(error_class, std::string(function) + ": " + sentence);
  };
  try {
    try {
      throw;
    } catch (const papcoll::mpi_error& e) {
      int error_class = MPI_ERR_OTHER;
      MPI_Error_class(e.code, &error_class);
      return code(error_class, e.what());
    } catch (const papcoll::argument_error& e) {
      return code(MPI_ERR_ARG, e.what());
    } catch (const papcoll::peer_lost& e) {  // programs that go on after a death look for that
      const bool goes_on = papcoll::detail::MpiProcess::get()->failures().why_not().empty();
      return code(goes_on ? papcoll::detail::failure_classes.failed : MPI_ERR_OTHER, e.what());
    } catch (const papcoll::peer_error& e) {
      return code(MPI_ERR_OTHER, e.what());
    } catch (const papcoll::broken_communicator& e) {
      return code(MPI_ERR_COMM, e.what());
    } catch (const papcoll::system_error& e) {
      return code(e.number == ENOMEM ? MPI_ERR_NO_MEM : MPI_ERR_OTHER, e.what());
    } catch (const std::bad_alloc&) {
      return code(MPI_ERR_NO_MEM, "papcoll: there is no memory left for this call");
    } catch (const std::exception& e) {
      return code(MPI_ERR_OTHER, e.what());
    }
  } catch (...) {  // no memory for the sentence
    return MPI_ERR_OTHER;
  }
}

/// Hands a code to the communicator's error handler, as MPI does, and returns it. No exception is
/// being handled any more: handlers may not return.
[[gnu::cold, gnu::noinline]] inline int report(MPI_Comm comm, int code) {
  MPI_Comm_call_errhandler(comm, code);
  return code;
}

}  // namespace preload
