// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Files that a user writes, in JSON: whatever they have that is not expected is refused, with the
// file, the field, the reason and what to write instead.

#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/files/output_file.hpp>
#include <papcoll/tools/files/plain_text.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// Returns what is in a file, or comes from a pipe; `what` is what kind of file it is, as "model
/// file". Throws argument_error and system_error, also if a pipe or a device gives more than 256
/// MiB, since it may have no end.
inline std::string read_text(const std::string& file, const std::string& what) {
  std::error_code unknown;
  if (std::filesystem::is_directory(file, unknown)) {
    throw argument_error("papcoll: cannot read the " + what + " " + file + ": it is a directory");
  }
  note_input(file);
  constexpr std::size_t most = std::size_t{256} << 20U;
  const bool has_end = std::filesystem::is_regular_file(file, unknown);
  errno = 0;
  std::ifstream in{file, std::ios::binary};
  std::string text;
  std::string part(std::size_t{1} << 16U, '\0');
  // No text has a zero byte, and some devices have nothing else.
  for (bool is_text = true; in && is_text;) {
    in.read(part.data(), static_cast<std::streamsize>(part.size()));
    const std::string_view got{part.data(), static_cast<std::size_t>(in.gcount())};
    is_text = got.find('\0') == got.npos;
    text += got;
    if (!has_end && text.size() > most) {
      throw argument_error("papcoll: the " + what + " " + file + " has no end: more than 256 MiB");
    }
  }
  if (in.bad() || !in.is_open()) {
    const int why = errno;
    throw system_error("papcoll: cannot read the " + what + " " + file + ": " + std::strerror(why),
                       why);
  }
  require_plain_text(text, "the " + what + " " + file);
  return text;
}

/// What a time is counted in, and the most that it may be. No machine takes as long: what is more
/// is in another unit.
struct TimeUnit {
  double most;
  const char* words;
};

/// Four times what a message by satellite takes.
inline constexpr TimeUnit in_seconds{1, "seconds from 0 to 1, as 1.5e-6 for 1.5 µs"};

/// 100 KB/s.
inline constexpr TimeUnit in_seconds_a_byte{
    1e-5, "seconds a byte from 0 to 1e-5, as 6.25e-11 for 16 GB/s"};

/// Returns what of a file a message shows: the first bytes of a long text.
inline std::string shortened(std::string text) {
  std::size_t most = 200;
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return text.replace(most, text.npos, "…");
}
inline std::string shown(const Json& value) { return shortened(value.dump()); }

/// Parses a text of JSON. Throws Json::exception for what is none, and argument_error, whose words
/// `source` begins, where lists and objects are more than 64 deep, or an object has a field twice.
inline Json parse_json(const std::string& text, const std::string& source) {
  constexpr int deepest = 64;
  std::istringstream in{text};
  std::vector<std::set<std::string>> fields;  // of each object around
  const auto refuse = [&](const std::string& why) {
    const auto at = text.begin() + static_cast<std::ptrdiff_t>(in.tellg());
    throw argument_error(source + ", line " +
                         std::to_string(1 + std::count(text.begin(), at, '\n')) + ": " + why);
  };
  return Json::parse(in, [&](int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= deepest) {
        refuse("lists and objects are more than " + std::to_string(deepest) + " deep");
      }
      fields.resize(static_cast<std::size_t>(depth) + 1);
      fields.back().clear();
    } else if (event == Event::key) {
      fields.resize(static_cast<std::size_t>(depth));
      if (!fields.back().insert(parsed.get<std::string>()).second) {
        refuse("the field " + shown(parsed) + " is there twice: leave one of them out");
      }
    }
    return true;
  });
}

/// An object of such a file, or of an object in it.
class JsonObject {
 public:
  /// Throws argument_error and system_error.
  static JsonObject read(const std::string& file, const std::string& what) {
    const std::string text = read_text(file, what);
    const std::string source = "papcoll: " + what + " " + file;
    try {
      return {parse_json(text, source), source, ""};
    } catch (const Json::exception& e) {  // a parse error, or a number that no double holds
      const std::string why = e.what();  // "[json.exception.…] parse error at line 1, column 2: …"
      throw argument_error("papcoll: " + what + " " + file + " is no JSON: " +
                           shortened(why.substr(std::min(why.find("] ") + 2, why.size()))));
    }
  }

  const Json& json() const noexcept { return value_; }
  bool has(const char* name) const { return value_.contains(name); }

  /// Refuses fields that have other names.
  void allow_only(const std::vector<std::string_view>& names) const {
    for (const auto& [name, value] : value_.items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        fail(name, "there is no such field: " + detail::similar_names(name, names));
      }
    }
  }

  /// A field that is an object.
  JsonObject object(const char* name) const {
    if (!has(name)) fail(name, "it is missing");
    return {value_[name], source_, at(name)};
  }

  /// A time, or what was there before if there is no such field.
  void read(const char* name, double& seconds, const TimeUnit& unit) const {
    if (!has(name)) return;
    const Json& v = value_[name];
    const std::string remedy = std::string(": write a number of ") + unit.words;
    if (!v.is_number()) fail(name, "it is " + std::string(v.type_name()) + remedy);
    const auto read = v.get<double>();
    if (!(read >= 0 && read <= unit.most)) fail(name, "it is " + shown(v) + remedy);
    seconds = read;
  }

  /// A whole number of at least `least`, or what was there before.
  template <class Integer> void read(const char* name, Integer& number, Integer least) const {
    if (!has(name)) return;
    const Json& v = value_[name];
    const std::string remedy = ": write a whole number from " + std::to_string(least) + " up";
    if (!v.is_number_integer()) fail(name, "it is " + shown(v) + remedy);
    constexpr long long most = 1LL << 40U;
    const bool fits =
        (v.is_number_unsigned() ? v.get<unsigned long long>() <= most : v.get<long long>() >= 0) &&
        v.get<long long>() >= static_cast<long long>(least) &&
        std::in_range<Integer>(v.get<long long>());
    if (!fits) fail(name, "it is " + shown(v) + remedy);
    number = v.get<Integer>();
  }

  [[noreturn]] void fail(const std::string& field, const std::string& why) const {
    throw argument_error(source_ + (field.empty() && path_.empty() ? "" : ", field ") +
                         at(shortened(field)) + ": " + why);
  }

 private:
  JsonObject(Json value, std::string source, std::string path)
      : value_(std::move(value)), source_(std::move(source)), path_(std::move(path)) {
    if (!value_.is_object()) {
      fail("", "it is " + std::string(value_.type_name()) + ": write an object, {…}");
    }
  }

  std::string at(const std::string& field) const {
    return path_ + (path_.empty() || field.empty() ? "" : ".") + field;
  }

  Json value_;
  std::string source_;
  std::string path_;
};

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
