// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Where commands write their pictures.

#include <papcoll/base/config.hpp>
#include <papcoll/tools/files/output_file.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// Refuses names of other kinds of pictures, which viewers would go by.
inline CLI::Validator svg_name() {
  const auto look = [](std::string& file) -> std::string {
    constexpr std::array<std::string_view, 12> others{"png", "jpg", "jpeg", "gif", "pdf",  "ps",
                                                      "eps", "bmp", "webp", "tif", "tiff", "html"};
    const std::size_t dot = file.rfind('.');
    if (dot == std::string::npos) return {};
    std::string kind = file.substr(dot + 1);
    for (char& c : kind) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (std::find(others.begin(), others.end(), kind) == others.end()) return {};
    const std::string svg = file.substr(0, dot) + ".svg";
    const bool converts = kind == "png" || kind == "pdf" || kind == "ps" || kind == "eps";
    return file + ": the picture is SVG: name it " + svg +
           (converts ? ", and then convert it: rsvg-convert " + svg + " -f " + kind + " -o " + file
                     : "");
  };
  return {look, ""};
}

/// Writes to a file, or "-": to standard output. Throws system_error.
inline void write_picture(const std::string& file, const std::string& picture) {
  OutputFile out{file};
  out.write(picture);
  out.close();
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
