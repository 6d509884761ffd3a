#pragma once

#include <papcoll/node/node_site.hpp>
#include <papcoll/transport/transport.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// A rank's sites, in one team, of transports that bring a type of their own.
class OwnSites {
 public:
  /// A transport's site, by its transport's name where calls are compared.
  struct Of {
    const TransportTable* transport;
    std::uint32_t id;
    std::shared_ptr<void> site;  ///< null until all ranks have made theirs

    /// Stands for an algorithm on this site; where calls are compared, it is another than the same
    /// algorithm on other sites.
    std::uint32_t id_of(std::uint8_t algorithm) const noexcept { return id + algorithm; }
    /// Stands for the making of the site, which no algorithm does.
    std::uint32_t id_of_making() const noexcept { return id + 256; }
  };

  Of& of(const TransportTable& t) {
    for (Of& s : sites_) {
      if (s.transport == &t) return s;
    }
    return sites_.emplace_back(Of{&t, number_of(t), nullptr});
  }

 private:
  static std::uint32_t number_of(const TransportTable& t) noexcept {
    std::uint32_t n = 0;
    for (const char c : t.name) n = n * 31 + static_cast<unsigned char>(c);
    return n * 512;
  }

  std::vector<Of> sites_;
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
