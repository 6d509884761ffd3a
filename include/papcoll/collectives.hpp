// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// All collectives, the policies that they can be given, and registered buffers. On request there
// are also algorithms by name (algorithm.hpp), what would run and why (explain.hpp), and one
// algorithm within nodes and another among them (hierarchical.hpp).
#include <papcoll/algorithms/arrival/tags.hpp>
#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/allgather.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/alltoall.hpp>
#include <papcoll/automatic.hpp>
#include <papcoll/barrier.hpp>
#include <papcoll/bcast.hpp>
#include <papcoll/call/persistent_call.hpp>
#include <papcoll/call/request.hpp>
#include <papcoll/gather.hpp>
#include <papcoll/reduce.hpp>
#include <papcoll/reduce_scatter.hpp>
#include <papcoll/registration.hpp>
#include <papcoll/scan.hpp>
#include <papcoll/scatter.hpp>
