#pragma once

// What the subcommands of papcoll share.

#include <papcoll/catalogue/row.hpp>
#include <papcoll/collective.hpp>

#include <cstddef>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::tool {

using Json = nlohmann::ordered_json;

inline constexpr int all_well = 0;
inline constexpr int found_fault = 1;
inline constexpr int bad_input = 2;

inline void print(const std::string& text) { std::fputs(text.c_str(), stdout); }

inline std::vector<Collective> collectives_of(const CatalogueRow& row) {
  std::vector<Collective> served;
  for (std::size_t i = 0; i < collective_count; ++i) {
    const auto c = static_cast<Collective>(i);
    if (row.serves(c)) served.push_back(c);
  }
  return served;
}

template <class Names>
std::string joined(const Names& names) {
  std::string text;
  for (const auto& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

}  // namespace papcoll::inline PAPCOLL_ABI::tool
