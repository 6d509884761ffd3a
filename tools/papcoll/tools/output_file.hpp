#pragma once

#include <papcoll/error.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace tool {

/// A file that is written piece by piece; "-" is standard output.
class OutputFile {
 public:
  /// Throws system_error.
  explicit OutputFile(std::string name) : name_(std::move(name)) {
    errno = 0;
    file_ = name_ == "-" ? stdout : std::fopen(name_.c_str(), "wb");
    if (file_ == nullptr) fail();
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() {
    if (file_ != nullptr && file_ != stdout) static_cast<void>(std::fclose(file_));
  }

  void write(std::string_view text) {
    static_cast<void>(std::fwrite(text.data(), 1, text.size(), file_));
  }

  /// Throws system_error if something is not written.
  void close() {
    errno = 0;
    const bool failed = std::fflush(file_) != 0 || std::ferror(file_) != 0;
    const bool closes = file_ == stdout || std::fclose(std::exchange(file_, nullptr)) == 0;
    if (failed || !closes) fail();
  }

 private:
  [[noreturn]] void fail() const {
    const int why = errno;
    throw system_error("papcoll: cannot write " + name_ + ": " +
                           (why == 0 ? "is the disk full?" : std::strerror(why)),
                       why);
  }

  std::string name_;
  FILE* file_ = nullptr;
};

}  // namespace tool
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
