#pragma once

// Everything that needs no MPI: the collectives, and threads as ranks to call them from.
#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/allgather.hpp>
#include <papcoll/allgatherv.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/alltoall.hpp>
#include <papcoll/barrier.hpp>
#include <papcoll/bcast.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/gather.hpp>
#include <papcoll/reduce.hpp>
#include <papcoll/reduce_scatter.hpp>
#include <papcoll/request.hpp>
#include <papcoll/scan.hpp>
#include <papcoll/scatter.hpp>
#include <papcoll/thread_team.hpp>

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/names/by_name.hpp>
#endif
