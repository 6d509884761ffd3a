// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Every arrival-driven algorithm.
#include <papcoll/algorithms/arrival/accumulator.hpp>
#include <papcoll/algorithms/arrival/arrival_chain.hpp>
#include <papcoll/algorithms/arrival/block_copies.hpp>
#include <papcoll/algorithms/arrival/combining_tree.hpp>
#include <papcoll/algorithms/arrival/exchange.hpp>
#include <papcoll/algorithms/arrival/leader_fan.hpp>
#include <papcoll/algorithms/arrival/multi_leader.hpp>
#include <papcoll/algorithms/arrival/peer_slices.hpp>
#include <papcoll/algorithms/arrival/prefix_runs.hpp>
#include <papcoll/algorithms/arrival/split_tail.hpp>
#include <papcoll/algorithms/arrival/tags.hpp>
