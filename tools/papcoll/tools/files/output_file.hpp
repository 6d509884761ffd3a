// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/error.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// The files that this process has read.
inline std::set<std::filesystem::path>& files_read() {
  static std::set<std::filesystem::path> files;
  return files;
}

/// Notes that a file is read: no OutputFile replaces it.
inline void note_input(const std::string& file) {
  std::error_code unknown;
  if (std::filesystem::is_regular_file(file, unknown)) {
    files_read().insert(std::filesystem::canonical(file, unknown));
  }
}

/// A file that is written piece by piece; "-" is standard output. A piece of it is not left behind.
class OutputFile {
 public:
  /// Throws system_error, and argument_error if it is one of files_read().
  explicit OutputFile(std::string name) : name_(std::move(name)) {
    std::error_code unknown;
    if (name_ != "-" && files_read().contains(std::filesystem::canonical(name_, unknown))) {
      throw argument_error("papcoll: " + name_ + " is read here: write the output to another file");
    }
    file_ = name_ == "-" ? stdout : std::fopen(name_.c_str(), "wb");
    if (file_ != nullptr) return;
    remember();
    fail();
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() {
    if (is_whole_ || name_ == "-") return;
    if (file_ != nullptr) static_cast<void>(std::fclose(file_));
    std::error_code ignored;
    if (std::filesystem::symlink_status(name_, ignored).type() ==
        std::filesystem::file_type::regular) {
      std::filesystem::remove(name_, ignored);
    }
  }

  void write(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) remember();
  }

  /// Throws system_error if something is not written.
  void close() {
    if (std::fflush(file_) != 0) remember();
    if (file_ != stdout && std::fclose(std::exchange(file_, nullptr)) != 0) remember();
    if (why_ != 0) fail();
    is_whole_ = true;
  }

 private:
  void remember() noexcept {
    if (why_ == 0) why_ = errno;
  }

  [[noreturn]] void fail() const {
    throw system_error("papcoll: cannot write " + name_ + ": " + std::strerror(why_), why_);
  }

  std::string name_;
  FILE* file_ = nullptr;
  int why_ = 0;  // of the first error
  bool is_whole_ = false;
};

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
