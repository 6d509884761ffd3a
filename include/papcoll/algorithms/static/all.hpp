#pragma once

// Every static schedule.
#include <papcoll/algorithms/static/binary_tree.hpp>
#include <papcoll/algorithms/static/binomial.hpp>
#include <papcoll/algorithms/static/bruck.hpp>
#include <papcoll/algorithms/static/chain.hpp>
#include <papcoll/algorithms/static/clairvoyant_tree.hpp>
#include <papcoll/algorithms/static/dissemination.hpp>
#include <papcoll/algorithms/static/knomial.hpp>
#include <papcoll/algorithms/static/linear.hpp>
#include <papcoll/algorithms/static/neighbour_exchange.hpp>
#include <papcoll/algorithms/static/pairwise.hpp>
#include <papcoll/algorithms/static/pipelined_binary_tree.hpp>
#include <papcoll/algorithms/static/pipelined_chain.hpp>
#include <papcoll/algorithms/static/pre_reduced_ring.hpp>
#include <papcoll/algorithms/static/rabenseifner.hpp>
#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/algorithms/static/recursive_halving.hpp>
#include <papcoll/algorithms/static/reduce_scatter_gather.hpp>
#include <papcoll/algorithms/static/reduce_then_bcast.hpp>
#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/algorithms/static/scatter_allgather.hpp>
#include <papcoll/algorithms/static/segmented_ring.hpp>
#include <papcoll/algorithms/static/sorted_linear_tree.hpp>
#include <papcoll/algorithms/static/straggl_ar.hpp>
#include <papcoll/algorithms/static/ticket_chain.hpp>
