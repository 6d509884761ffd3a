// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the examples of the documents speak of, for docs_code.py.

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/erased.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/hierarchical.hpp>
#include <papcoll/papcoll.hpp>
#include <papcoll/runtime/team.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct Vec3 {
  double x = 0, y = 0, z = 0;
  friend Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend bool operator<(Vec3 a, Vec3 b) { return a.x < b.x; }
};

struct Particle {
  double mass;
  float charge;
};

inline MPI_Comm mpi_comm = MPI_COMM_WORLD;
inline MPI_Comm comm8 = MPI_COMM_WORLD;
inline papcoll::Communicator comm{MPI_COMM_WORLD};
inline std::vector<double> data(8);
inline std::vector<Vec3> in(8);
inline std::vector<Vec3> out(8);
inline std::vector<Particle> particles(8);
inline std::vector<int> sent(4);
inline double* pointer = data.data();
inline std::size_t count = 8;
inline std::size_t n = 8;
inline int value = 1;
inline void compute_a_little() {}
