// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The parameters of the simulator as JSON: an object with members of LogGops (in seconds and bytes;
// those that are missing keep their defaults), or a file that `papcoll-bench --measure model`
// wrote, of which `log_gops` is such an object.
//
//     {"latency": 2e-6, "overhead": 3e-7, "gap_per_byte": 1e-10, "combine_per_byte": 2e-10}

#include <papcoll/model/log_gops.hpp>
#include <papcoll/tools/files/json_file.hpp>

#include <cstddef>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// Throws argument_error and system_error.
inline LogGops read_model(const std::string& file) {
  JsonObject in = JsonObject::read(file, "model file");
  if (in.has("papcoll_model")) {
    int format = 0;
    in.read("papcoll_model", format, 0);
    if (format != 1) {
      in.fail("papcoll_model", "this is format " + std::to_string(format) +
                                   ", and 1 is known: take a papcoll that "
                                   "is as new as the file");
    }
    in = in.object("log_gops");
  }
  in.allow_only({"latency", "overhead", "gap", "gap_per_byte", "overhead_per_byte", "rendezvous",
                 "combine_per_byte", "copy_per_byte"});
  LogGops m;
  in.read("latency", m.latency, in_seconds);
  in.read("overhead", m.overhead, in_seconds);
  in.read("gap", m.gap, in_seconds);
  in.read("gap_per_byte", m.gap_per_byte, in_seconds_a_byte);
  in.read("overhead_per_byte", m.overhead_per_byte, in_seconds_a_byte);
  in.read("rendezvous", m.rendezvous, std::size_t{0});
  in.read("combine_per_byte", m.combine_per_byte, in_seconds_a_byte);
  in.read("copy_per_byte", m.copy_per_byte, in_seconds_a_byte);
  return m;
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
