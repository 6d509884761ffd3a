// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <unistd.h>

/// A tuning file of its own, gone at the end. Simulated ranks are one process.
class TuningFile {
 public:
  explicit TuningFile(const std::string& text) {
    const int file = mkstemps(name_.data(), 5);
    if (file >= 0) close(file);
    std::ofstream{name_} << text;
  }
  TuningFile(const TuningFile&) = delete;
  TuningFile& operator=(const TuningFile&) = delete;
  ~TuningFile() { static_cast<void>(std::remove(name_.c_str())); }
  const std::string& name() const { return name_; }

 private:
  std::string name_ = "/tmp/papcoll-tuning-test-XXXXXX.json";
};
