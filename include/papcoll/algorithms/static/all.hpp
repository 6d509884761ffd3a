// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Every static schedule.
#include <papcoll/algorithms/static/binary_tree.hpp>
#include <papcoll/algorithms/static/binomial.hpp>
#include <papcoll/algorithms/static/bruck.hpp>
#include <papcoll/algorithms/static/by_forecast.hpp>
#include <papcoll/algorithms/static/chain.hpp>
#include <papcoll/algorithms/static/dissemination.hpp>
#include <papcoll/algorithms/static/linear.hpp>
#include <papcoll/algorithms/static/pairwise.hpp>
#include <papcoll/algorithms/static/pipelined.hpp>
#include <papcoll/algorithms/static/rabenseifner.hpp>
#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/algorithms/static/scatter_allgather.hpp>
#include <papcoll/algorithms/static/sorted_linear_tree.hpp>
#include <papcoll/algorithms/static/straggl_ar.hpp>
#include <papcoll/algorithms/static/suara.hpp>
#include <papcoll/algorithms/static/then_bcast.hpp>
#include <papcoll/algorithms/static/three_stage.hpp>
#include <papcoll/algorithms/static/two_tree_complete.hpp>
#include <papcoll/algorithms/static/two_tree_sanders.hpp>
