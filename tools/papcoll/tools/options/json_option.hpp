// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/files/output_file.hpp>

#include <CLI/CLI.hpp>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// The option --json[=FILE] of all commands: JSON to a file beside the text for people, or alone to
/// standard output.
class JsonOption {
 public:
  /// `what` is written, as "An array, an object for each algorithm".
  void add_to(CLI::App& command, const std::string& what) {
    command.add_flag("--json{-}", file_,
                     "As JSON, instead of text; with =FILE, there, beside it:\n" + what);
  }

  bool is_given() const noexcept { return !file_.empty(); }
  /// Returns true if standard output is for JSON alone.
  bool is_alone() const noexcept { return file_ == "-"; }

  /// Empty: the option is not given; "-": standard output.
  const std::string& file() const noexcept { return file_; }

  /// Writes what `document` returns, if the option is given. True if there is no more to write.
  /// Throws system_error.
  template <class F> bool write(F&& document) const {
    if (!is_given()) return false;
    OutputFile out{file_};
    out.write(document_text(document()));
    out.close();
    return is_alone();
  }

 private:
  std::string file_;  ///< empty: not given
};

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
