#pragma once

#include <papcoll/base/joined.hpp>
#include <papcoll/base/owned.hpp>
#include <papcoll/base/text_hash.hpp>
#include <papcoll/config.hpp>
#include <papcoll/error.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {

/// A tuning file as it was read when its team was made. The first call that names no algorithm
/// parses it (select/tuning.hpp has the format), so that programs without such calls need not.
struct TuningText {
  std::string json;    ///< nothing: there is no file
  std::string source;  ///< for messages: "tuning file F"

  /// The same number where the contents are.
  std::uint64_t hash() const noexcept { return detail::hash_of_text(json); }
};

namespace detail {

/// The contents of the file or, without one, of that which the environment variable PAPCOLL_TUNING
/// names. Throws system_error.
[[gnu::cold]] inline TuningText tuning_text(std::string file) {
  if (file.empty()) {
    const char* const named = std::getenv("PAPCOLL_TUNING");  // NOLINT(concurrency-mt-unsafe)
    if (named == nullptr || *named == '\0') return {};
    file = named;
  }
  const auto cannot = [&file](int why) {
    return system_error(
        detail::joined({"papcoll: cannot read the tuning file ", file, ": ", std::strerror(why)}),
        why);
  };
  struct Close {
    void operator()(std::FILE* f) const noexcept { static_cast<void>(std::fclose(f)); }
  };
  const detail::Owned<std::FILE, Close> in{std::fopen(file.c_str(), "re")};
  if (!in) throw cannot(errno);
  constexpr std::size_t most = 1U << 20U;  // such files have a few KB
  TuningText text{std::string(most, '\0'), detail::joined({"tuning file ", file})};
  text.json.resize(std::fread(text.json.data(), 1, most, in.get()));
  if (std::ferror(in.get()) != 0) throw cannot(errno);
  if (text.json.size() == most) throw cannot(EFBIG);
  if (text.json.empty()) text.json = " ";  // an empty file is no tuning file: its reader says so
  return text;
}

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI
