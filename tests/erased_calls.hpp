// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Erased calls beside typed ones, for threads and processes alike: whichever of the two each rank
// makes, all get what typed calls alone give.

#include <papcoll/collectives.hpp>
#include <papcoll/erased.hpp>

#include <cstddef>
#include <string>
#include <vector>

/// How calls are made.
enum class ErasedForm { blocking, non_blocking, persistent };

// Calls space::name(…), space::iname(…) or space::name_init(…).
#define CALL_IN_FORM(form, space, name, ...)                                  \
  switch (form) {                                                             \
    case ErasedForm::blocking: space::name(__VA_ARGS__); break;               \
    case ErasedForm::non_blocking: space::i##name(__VA_ARGS__).wait(); break; \
    case ErasedForm::persistent: space::name##_init(__VA_ARGS__)();           \
  }

/// Makes one call of every collective, out of place and in place, and keeps what came.
template <class Comm> class ErasedCalls {
 public:
  /// Of `count` elements, of each rank or for each.
  ErasedCalls(Comm& comm, std::size_t count) : comm_(comm), n_(count) {
    const auto ranks = static_cast<std::size_t>(comm.size());
    all_ = n_ * ranks;
    for (std::size_t r = 0; r < ranks; ++r) {
      sizes_.push_back(static_cast<int>(n_ == 0 ? 0 : (r * 7 + n_) % (2 * n_)));
      places_.push_back(static_cast<int>(r * 2 * n_));
      // To and from each rank as many as the two are apart.
      const auto me = static_cast<std::size_t>(comm.rank());
      pairs_.push_back(static_cast<int>(n_ == 0 ? 0 : (r + me) % (2 * n_)));
    }
  }

  /// What comes of all calls in this form: `erased` says which of the two this rank makes.
  std::vector<std::vector<double>> results(ErasedForm form, bool erased) {
    kept_.clear();
    form_ = form;
    erased_ = erased;
    reductions();
    movements();
    blocks();
    return kept_;
  }

 private:
  using D = papcoll::erased::ElementType;
  using O = papcoll::erased::Operation;

  /// Numbers of this rank, whose sums are exact.
  std::vector<double> mine(std::size_t n) const {
    std::vector<double> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<double>(i % 97) + comm_.rank();
    return v;
  }
  static std::vector<double> gaps(std::size_t n) { return std::vector<double>(n, -1.0); }

  void reductions() {
    const papcoll::root to{comm_.size() - 1};
    const auto plus = papcoll::erased::reducer(D::float64, O::sum);
    const papcoll::erased::Operator most = papcoll::reducer<double>(papcoll::max);
    for (const bool in_place : {false, true}) {
      const std::vector<double> in = mine(n_);
      const std::vector<double> wide = mine(all_);
      std::vector<double> out = in_place ? in : gaps(n_);
      const double* const from = in_place ? out.data() : in.data();
      if (erased_) {
        CALL_IN_FORM(form_, papcoll::erased, allreduce, comm_, from, out.data(), n_, plus)
      } else {
        CALL_IN_FORM(form_, papcoll, allreduce, comm_, from, out.data(), n_, papcoll::sum)
      }
      keep(out);
      if (erased_) {
        CALL_IN_FORM(form_, papcoll::erased, reduce, comm_, from, out.data(), n_, most, to)
      } else {
        CALL_IN_FORM(form_, papcoll, reduce, comm_, from, out.data(), n_, to, papcoll::max)
      }
      if (comm_.rank() == to.rank) keep(out);
      out = in_place ? in : gaps(n_);
      if (erased_) {
        CALL_IN_FORM(form_, papcoll::erased, scan, comm_, from, out.data(), n_, plus)
      } else {
        CALL_IN_FORM(form_, papcoll, scan, comm_, from, out.data(), n_, papcoll::sum)
      }
      keep(out);
      if (erased_) {
        CALL_IN_FORM(form_, papcoll::erased, exscan, comm_, from, out.data(), n_, plus)
      } else {
        CALL_IN_FORM(form_, papcoll, exscan, comm_, from, out.data(), n_, papcoll::sum)
      }
      keep(out);
      std::vector<double> part = in_place ? wide : gaps(n_);
      const double* const parts = in_place ? part.data() : wide.data();
      if (erased_) {
        CALL_IN_FORM(form_, papcoll::erased, reduce_scatter, comm_, parts, part.data(), n_, plus)
      } else {
        CALL_IN_FORM(form_, papcoll, reduce_scatter, comm_, parts, part.data(), n_, papcoll::sum)
      }
      part.resize(n_);
      keep(part);
    }
    std::size_t total = 0;
    for (const int size : sizes_) total += static_cast<std::size_t>(size);
    const std::vector<double> in = mine(total);
    std::vector<double> out(own_size());
    const papcoll::counts each{sizes_};
    if (erased_) {
      CALL_IN_FORM(form_, papcoll::erased, reduce_scatter, comm_, in.data(), out.data(), each, plus)
    } else {
      CALL_IN_FORM(form_, papcoll, reduce_scatter, comm_, in, out, each, papcoll::sum)
    }
    keep(out);
  }

  void movements() {
    const papcoll::root r{comm_.size() / 2};
    const bool is_root = comm_.rank() == r.rank;
    const std::vector<double> in = mine(n_);
    const std::vector<double> wide = mine(all_);
    std::vector<double> out = mine(n_);
    if (erased_) {
      CALL_IN_FORM(form_, papcoll::erased, bcast, comm_, out.data(), n_, D::float64, r)
      CALL_IN_FORM(form_, papcoll::erased, barrier, comm_)
    } else {
      CALL_IN_FORM(form_, papcoll, bcast, comm_, out.data(), n_, r)
      CALL_IN_FORM(form_, papcoll, barrier, comm_)
    }
    keep(out);
    std::vector<double> all = gaps(all_);
    if (erased_) {
      CALL_IN_FORM(form_, papcoll::erased, allgather, comm_, in.data(), all.data(), n_, D::float64)
    } else {
      CALL_IN_FORM(form_, papcoll, allgather, comm_, in.data(), all.data(), n_)
    }
    keep(all);
    all = wide;
    if (erased_) {
      CALL_IN_FORM(form_, papcoll::erased, allgather, comm_, all.data(), all.data(), n_, D::float64)
    } else {
      CALL_IN_FORM(form_, papcoll, allgather, comm_, all)
    }
    keep(all);
    all = is_root ? gaps(all_) : std::vector<double>{};
    if (erased_) {
      CALL_IN_FORM(form_, papcoll::erased, gather, comm_, in.data(), all.data(), n_, D::float64, r)
    } else {
      CALL_IN_FORM(form_, papcoll, gather, comm_, in.data(), all.data(), n_, r)
    }
    keep(all);
    all = is_root ? wide : in;
    if (erased_) {
      CALL_IN_FORM(form_, papcoll::erased, gather, comm_, all.data(), all.data(), n_, D::float64, r)
    } else {
      CALL_IN_FORM(form_, papcoll, gather, comm_, all, r)
    }
    keep(all);
    out = gaps(n_);
    const double* const parts = is_root ? wide.data() : nullptr;
    if (erased_) {
      CALL_IN_FORM(form_, papcoll::erased, scatter, comm_, parts, out.data(), n_, D::float64, r)
    } else {
      CALL_IN_FORM(form_, papcoll, scatter, comm_, parts, out.data(), n_, r)
    }
    keep(out);
    out = is_root ? wide : gaps(n_);
    if (erased_) {
      CALL_IN_FORM(form_, papcoll::erased, scatter, comm_, out.data(), out.data(), n_, D::float64,
                   r)
    } else {
      CALL_IN_FORM(form_, papcoll, scatter, comm_, out, r)
    }
    keep(out);
    for (const bool in_place : {false, true}) {
      all = in_place ? wide : gaps(all_);
      const double* const from = in_place ? all.data() : wide.data();
      if (erased_) {
        CALL_IN_FORM(form_, papcoll::erased, alltoall, comm_, from, all.data(), n_, D::float64)
      } else {
        CALL_IN_FORM(form_, papcoll, alltoall, comm_, from, all.data(), n_)
      }
      keep(all);
    }
  }

  void blocks() {
    const papcoll::root r{0};
    const bool is_root = comm_.rank() == r.rank;
    const papcoll::blocks apart{sizes_, places_};
    const papcoll::blocks pairs{pairs_, places_};
    const std::vector<double> in = mine(own_size());
    for (const bool in_place : {false, true}) {
      std::vector<double> all = in_place ? mine(2 * all_) : gaps(2 * all_);
      const std::vector<double> wide = mine(2 * all_);
      const double* from = in_place ? all.data() : in.data();
      if (erased_) {
        CALL_IN_FORM(form_, papcoll::erased, allgatherv, comm_, from, all.data(), apart, D::float64)
      } else if (in_place) {
        CALL_IN_FORM(form_, papcoll, allgatherv, comm_, all, apart)
      } else {
        CALL_IN_FORM(form_, papcoll, allgatherv, comm_, in.data(), all.data(), apart)
      }
      keep(all);
      from = in_place && is_root ? all.data() : in.data();
      if (erased_) {
        CALL_IN_FORM(form_, papcoll::erased, gatherv, comm_, from, all.data(), apart, D::float64, r)
      } else if (in_place && is_root) {
        CALL_IN_FORM(form_, papcoll, gatherv, comm_, all, apart, r)
      } else {
        CALL_IN_FORM(form_, papcoll, gatherv, comm_, in.data(), all.data(), apart, r)
      }
      keep(all);
      std::vector<double> out = in_place && is_root ? wide : gaps(own_size());
      from = in_place && is_root ? out.data() : wide.data();
      if (erased_) {
        CALL_IN_FORM(form_, papcoll::erased, scatterv, comm_, from, out.data(), apart, D::float64,
                     r)
      } else if (in_place && is_root) {
        CALL_IN_FORM(form_, papcoll, scatterv, comm_, out, apart, r)
      } else {
        CALL_IN_FORM(form_, papcoll, scatterv, comm_, wide.data(), out.data(), apart, r)
      }
      keep(out);
      all = in_place ? wide : gaps(2 * all_);
      from = in_place ? all.data() : wide.data();
      if (erased_) {
        CALL_IN_FORM(form_, papcoll::erased, alltoallv, comm_, from, pairs, all.data(), pairs,
                     D::float64)
      } else {
        CALL_IN_FORM(form_, papcoll, alltoallv, comm_, from, pairs, all.data(), pairs)
      }
      keep(all);
    }
  }

  std::size_t own_size() const {
    return static_cast<std::size_t>(sizes_[static_cast<std::size_t>(comm_.rank())]);
  }
  void keep(const std::vector<double>& data) { kept_.push_back(data); }

  Comm& comm_;
  std::size_t n_;
  std::size_t all_ = 0;
  std::vector<int> sizes_;
  std::vector<int> places_;
  std::vector<int> pairs_;
  std::vector<std::vector<double>> kept_;
  ErasedForm form_ = ErasedForm::blocking;
  bool erased_ = false;
};

#undef CALL_IN_FORM

/// What is wrong with the calls of this rank, whichever ranks make erased ones; empty: nothing.
template <class Comm> std::string problems_of_erased_calls(Comm& comm, std::size_t count) {
  std::string problems;
  ErasedCalls<Comm> calls{comm, count};
  const auto expected = calls.results(ErasedForm::blocking, false);
  for (const ErasedForm form :
       {ErasedForm::blocking, ErasedForm::non_blocking, ErasedForm::persistent}) {
    for (int turn = 0; turn < 3; ++turn) {
      const auto got = calls.results(form, turn == 2 || (comm.rank() + turn) % 2 == 0);
      for (std::size_t i = 0; i < got.size(); ++i) {
        if (got[i] == expected[i]) continue;
        problems += "rank " + std::to_string(comm.rank()) + ", form " +
                    std::to_string(static_cast<int>(form)) + ", turn " + std::to_string(turn) +
                    ", result " + std::to_string(i) + "; ";
      }
    }
  }
  return problems;
}
