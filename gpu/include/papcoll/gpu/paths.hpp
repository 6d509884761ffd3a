// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

// How one message is shared out over several paths between two devices, by a closed form of the
// time that each takes.
//
// A direct path takes a + x/r for x bytes. A staged one cuts them into k chunks and has two hops,
// each with a stream of its own; with m the slower rate, M the faster one and a latency a for each
// operation that is
//
//     x/m + x/(kM) + (k + 1)a,   least at k = √(x/(Ma)), where it is x/m + 2√(xa/M) + a.
//
// What a path carries by time t is the inverse, a quadratic in √x. The shares are what the paths
// carry by the time at which these sum up to the message, as water stands at one height in vessels
// that are joined.
//
// Source: Temuçin, Sojoodi, Alizadeh, Afsahi, "Efficient Multi-Path NVLink/PCIe-Aware UCX based
// Collective Communication for Deep Learning", HOTI 2021, section V-A, which finds shares and
// chunks by experiment.

namespace papcoll::inline PAPCOLL_ABI::gpu {

/// Into how many chunks a staged path may cut what it carries.
struct ChunkLimits {
  int most = 32;  ///< at least 1; more where chunks would have more bytes than they may
  double most_bytes = std::numeric_limits<double>::max();  ///< of a chunk

  /// The fewest that may carry so many bytes.
  int fewest(double bytes) const noexcept {
    return std::max(1, static_cast<int>(std::ceil(bytes / most_bytes)));
  }
};

/// A way from one device to another: directly, or staged in the memory of a third device or the
/// host. Paths of one pair are taken to share no link.
struct Path {
  static constexpr int direct = -2;  ///< a value of `via`
  static constexpr int host = -1;    ///< the same

  int via = direct;        ///< direct, host, or a device
  double first_rate = 0;   ///< bytes a second of the first hop, or of the only one
  double second_rate = 0;  ///< of the hop from there on
  double latency = 0;      ///< seconds that an operation takes besides its bytes; more than 0

  /// Returns true if the path has two hops.
  bool is_staged() const noexcept { return via != direct; }

  /// Seconds that so many bytes take in so many chunks; no bytes take none.
  double seconds(double bytes, int chunks) const noexcept {
    if (bytes <= 0) return 0;
    if (!is_staged()) return latency + bytes / first_rate;
    return bytes / slower() + bytes / (chunks * faster()) + (chunks + 1) * latency;
  }

  /// The number of chunks that takes the least time.
  int best_chunks(double bytes, const ChunkLimits& limits) const noexcept {
    if (!is_staged()) return 1;
    const int fewest = limits.fewest(bytes);
    const int most = std::max(limits.most, fewest);
    const auto k = static_cast<int>(std::min<double>(most, std::sqrt(bytes / turning_point())));
    if (k < fewest) return fewest;
    return k < most && seconds(bytes, k + 1) < seconds(bytes, k) ? k + 1 : k;
  }

  /// Returns the bytes that it carries by a time, in the best number of chunks, which need not be
  /// whole.
  double bytes_by(double seconds, const ChunkLimits& limits) const noexcept {
    const double a = latency;
    if (!is_staged()) return std::max(0.0, (seconds - a) * first_rate);
    const double m = slower();
    const double cut = 1 / faster();  // seconds a byte, of the last chunk's second hop
    const double in_one = (seconds - 2 * a) / (1 / m + cut);
    if (in_one <= std::min(turning_point(), limits.most_bytes)) return std::max(0.0, in_one);
    const double g = std::sqrt(a * cut);
    const double root = m * (std::sqrt(g * g + (seconds - a) / m) - g);
    const double most = limits.most;
    double bytes = std::max(0.0, root) * root;
    double chunk = root * std::sqrt(turning_point());
    if (bytes > most * most * turning_point()) {
      bytes = (seconds - (most + 1) * a) / (1 / m + cut / most);
      chunk = bytes / most;
    }
    if (chunk <= limits.most_bytes) return bytes;
    // x/m + C/M + (x/C + 1)a in chunks of C bytes.
    const double full = limits.most_bytes;
    return std::max(0.0, (seconds - a - full * cut) / (1 / m + a / full));
  }

 private:
  double slower() const noexcept { return std::min(first_rate, second_rate); }
  double faster() const noexcept { return std::max(first_rate, second_rate); }
  /// Bytes from which on more than one chunk pays.
  double turning_point() const noexcept { return faster() * latency; }
};

/// What one path carries of a message.
struct PathShare {
  Path path;               ///< which
  std::size_t offset = 0;  ///< of the first byte
  std::size_t bytes = 0;   ///< more than 0
  int chunks = 1;          ///< in which a staged path carries them

  /// Seconds that it takes.
  double seconds() const noexcept { return path.seconds(static_cast<double>(bytes), chunks); }
};

/// Seconds until the last of the shares is there.
inline double seconds_of(std::span<const PathShare> shares) noexcept {
  double last = 0;
  for (const PathShare& s : shares) last = std::max(last, s.seconds());
  return last;
}

/// A row of a tuning table, which overrides the model: of messages of up to so many bytes the given
/// part goes through the host, in so many chunks.
struct TunedShare {
  std::size_t up_to = 0;  ///< bytes of a message; rows ascend
  double by_host = 0;     ///< between 0 and 1
  int chunks = 1;         ///< of what goes through the host; at least 1
};

/// What the shares are made of besides the paths.
struct ShareLimits {
  ChunkLimits chunks{};          ///< of each path
  std::size_t alignment = 4096;  ///< bytes of which each share but the last is a multiple
  std::span<const TunedShare>
      tuned{};  ///< rows ahead of the model; larger messages go by the model
};

namespace detail {

/// The share of a message that one path alone carries.
inline std::vector<PathShare> single_share(const Path& path, std::size_t bytes,
                                           const ChunkLimits& chunks) {
  return {{path, 0, bytes, path.best_chunks(static_cast<double>(bytes), chunks)}};
}

/// The path that is the quickest by itself.
inline std::vector<PathShare> best_single_share(std::span<const Path> paths, std::size_t bytes,
                                                const ChunkLimits& chunks) {
  std::vector<PathShare> best;
  for (const Path& path : paths) {
    auto one = single_share(path, bytes, chunks);
    if (best.empty() || seconds_of(one) < seconds_of(best)) best = std::move(one);
  }
  return best;
}

/// The time at which the paths together have carried so many bytes.
inline double time_to_carry(std::span<const Path> paths, double bytes, const ChunkLimits& chunks,
                            double enough) {
  double early = 0;
  for (int i = 0; i < 50; ++i) {
    const double middle = (early + enough) / 2;
    double carried = 0;
    for (const Path& path : paths) carried += path.bytes_by(middle, chunks);
    (carried < bytes ? early : enough) = middle;
  }
  return enough;
}

inline std::vector<PathShare> tuned_shares(std::span<const Path> paths, std::size_t bytes,
                                           const TunedShare& row, const ShareLimits& limits) {
  std::vector<PathShare> made;
  std::size_t by_host = static_cast<std::size_t>(row.by_host * static_cast<double>(bytes)) /
                        limits.alignment * limits.alignment;
  for (const Path& path : paths) {
    if (path.via == Path::host && by_host != 0) {
      made.push_back({path, bytes - by_host, by_host, row.chunks});
    } else if (path.via == Path::direct && by_host != bytes) {
      made.push_back({path, 0, bytes - by_host, 1});
    }
  }
  return made;
}

}  // namespace detail

/// Shares out a message of `bytes`, more than 0, over paths, of which there is at least one. By the
/// model the message is never later than over any path alone.
inline std::vector<PathShare> share_out(std::span<const Path> paths, std::size_t bytes,
                                        const ShareLimits& limits = {}) {
  for (const TunedShare& row : limits.tuned) {
    if (bytes <= row.up_to) {
      auto made = detail::tuned_shares(paths, bytes, row, limits);
      std::size_t carried = 0;
      for (const PathShare& s : made) carried += s.bytes;
      if (carried == bytes) return made;
    }
  }
  auto single = detail::best_single_share(paths, bytes, limits.chunks);
  const double t =
      detail::time_to_carry(paths, static_cast<double>(bytes), limits.chunks, seconds_of(single));
  std::vector<PathShare> made;
  std::size_t left = bytes;
  for (std::size_t i = paths.size(); i-- > 0 && left != 0;) {
    const Path& path = paths[i];
    const double carried = std::max(0.0, path.bytes_by(t, limits.chunks));
    std::size_t share = static_cast<std::size_t>(std::min(carried, static_cast<double>(left))) /
                        limits.alignment * limits.alignment;
    if (i == 0) share = left;
    if (share == 0) continue;
    left -= share;
    made.push_back(
        {path, left, share, path.best_chunks(static_cast<double>(share), limits.chunks)});
  }
  return seconds_of(made) < seconds_of(single) ? made : single;
}

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
