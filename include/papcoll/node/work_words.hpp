#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/node/frame.hpp>

#include <atomic>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

/// In the order of arrival: tickets, and pieces of work for whoever is there. See Site.
template <class Board, class Bells>
class WorkWords : public CallFrame<Board, Bells> {
  using Base = CallFrame<Board, Bells>;

 public:
  int draw_ticket() noexcept {
    auto& drawn = board_.tickets(epoch_).drawn;
    Stamp before = drawn.load(std::memory_order_relaxed);
    Stamp after = 0;
    do {
      after = before >> 32 == epoch_ ? before + 1 : make_stamp(epoch_, 1);
    } while (!drawn.compare_exchange_weak(before, after, std::memory_order_relaxed));
    const auto ticket = static_cast<int>(static_cast<std::uint32_t>(after)) - 1;
    board_.holder(epoch_, ticket)
        .store(make_stamp(epoch_, static_cast<std::uint32_t>(rank_) + 1),
               std::memory_order_release);
    bells_.ring_all();
    return ticket;
  }

  int holder(int ticket) const noexcept {
    const Stamp s = Base::look_at(board_.holder(epoch_, ticket));
    return reached(s, epoch_, 1) ? static_cast<int>(static_cast<std::uint32_t>(s)) - 1 : -1;
  }

  std::uint32_t work(std::uint32_t w) const noexcept {
    return state_in(Base::look_at(board_.work(epoch_, w)));
  }

  bool take_up(std::uint32_t w, std::uint32_t seen, std::uint32_t state) noexcept {
    auto& word = board_.work(epoch_, w);
    Stamp before = word.load(std::memory_order_relaxed);
    if (state_in(before) != seen) return false;
    return word.compare_exchange_strong(before, make_stamp(epoch_, state),
                                        std::memory_order_seq_cst);
  }

  void lay_down(std::uint32_t w, std::uint32_t state) noexcept {
    put_back(w, state);
    bells_.ring_all();
  }

  void put_back(std::uint32_t w, std::uint32_t state) noexcept {
    board_.work(epoch_, w).store(make_stamp(epoch_, state), std::memory_order_seq_cst);
  }

 protected:
  using Base::Base;
  using Base::bells_;
  using Base::board_;
  using Base::epoch_;
  using Base::rank_;

 private:
  /// A word that nobody has touched in this call is of an older one.
  std::uint32_t state_in(Stamp s) const noexcept {
    return s >> 32 == epoch_ ? static_cast<std::uint32_t>(s) : 0;
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI
