#pragma once

#include <cstdio>
#include <fstream>
#include <string>

#include <unistd.h>

/// A tuning file of this process, gone at the end.
class TuningFile {
 public:
  explicit TuningFile(const std::string& text)
      : name_("/tmp/papcoll-tuning-test-" + std::to_string(getpid()) + ".json") {
    std::ofstream{name_} << text;
  }
  TuningFile(const TuningFile&) = delete;
  TuningFile& operator=(const TuningFile&) = delete;
  ~TuningFile() { static_cast<void>(std::remove(name_.c_str())); }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};
