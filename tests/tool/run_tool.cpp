// SPDX-License-Identifier: BSD-3-Clause
#include "run_tool.hpp"

#include <papcoll/tools/papcoll_tool.hpp>

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "catch.hpp"

namespace {

/// A stream of the process, caught in a temporary file while the object lives.
class Caught {
 public:
  explicit Caught(FILE* stream) : stream_(stream), file_(std::tmpfile()) {
    std::fflush(stream_);
    kept_ = dup(fileno(stream_));
    dup2(fileno(file_), fileno(stream_));
  }
  Caught(const Caught&) = delete;
  Caught& operator=(const Caught&) = delete;
  ~Caught() {
    release();
    std::fclose(file_);
  }

  std::string text() {
    release();
    std::rewind(file_);
    std::string all;
    for (int c = 0; (c = std::fgetc(file_)) != EOF;) all += static_cast<char>(c);
    return all;
  }

 private:
  void release() {
    if (kept_ < 0) return;
    std::fflush(stream_);
    dup2(kept_, fileno(stream_));
    close(kept_);
    kept_ = -1;
  }

  FILE* stream_;
  FILE* file_;
  int kept_ = -1;
};

}  // namespace

Outcome run(std::vector<const char*> arguments, papcoll::Catalogue rows) {
  arguments.insert(arguments.begin(), "papcoll");
  Caught out{stdout};
  Caught err{stderr};
  const int status = papcoll::tool_main(static_cast<int>(arguments.size()), arguments.data(), rows);
  return {status, out.text(), err.text()};
}

void refused(std::vector<const char*> arguments, std::string_view message) {
  const Outcome o = run(std::move(arguments));
  CHECK(o.status == 2);
  CHECK(o.out.empty());
  INFO(o.err);
  CHECK(contains(o.err, message));
  CHECK(contains(o.err, "papcoll"));
}
