// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What became of a call on one rank, for tests that make ranks fail.

#include <papcoll/error.hpp>

#include <exception>
#include <ostream>
#include <string>
#include <string_view>

struct Outcome {
  std::string kind = "fine";  ///< or the name of the exception
  std::string what;

  bool says(std::string_view text) const { return what.find(text) != std::string::npos; }
  bool is_fine() const { return kind == "fine"; }

  friend std::ostream& operator<<(std::ostream& os, const Outcome& o) {
    return os << o.kind << (o.what.empty() ? "" : ": ") << o.what;
  }
};

/// Runs f() and names what it threw.
template <class F> Outcome outcome_of(F&& f) {
  try {
    f();
    return {};
  } catch (const papcoll::argument_error& e) {
    return {"argument_error", e.what()};
  } catch (const papcoll::peer_error& e) {
    return {"peer_error", e.what()};
  } catch (const papcoll::peer_lost& e) {
    return {"peer_lost", e.what()};
  } catch (const papcoll::deadline_exceeded& e) {
    return {"deadline_exceeded", e.what()};
  } catch (const papcoll::broken_communicator& e) {
    return {"broken_communicator", e.what()};
  } catch (const papcoll::transport_unavailable& e) {
    return {"transport_unavailable", e.what()};
  } catch (const papcoll::unknown_algorithm& e) {
    return {"unknown_algorithm", e.what()};
  } catch (const std::exception& e) {
    return {"other", e.what()};
  }
}
