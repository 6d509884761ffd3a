#pragma once

#include <papcoll/algorithms/cost/movement_forms.hpp>
#include <papcoll/algorithms/cost/reduction_forms.hpp>

// What the schedules of algorithms/static cost, in seconds: the formulas of their headers as
// functions. p: positions; m: bytes of the whole vector, also where each position contributes a
// p-th of it (allgather, gather, scatter, reduce_scatter), and in alltoall what one position has
// for all; s: bytes of a segment. All positions arrive at once, nobody else uses the network, and
// every position sends one message at a time and receives one at a time. No form is below what the
// data volume takes: see bandwidth_bound in hockney.hpp.
//
// Those of one message after the other take nothing but Hockney's parameters; where messages follow
// each other through a port, the gap between them counts, which is alpha in Hockney's own model.
//
// `papcoll simulate` shows them beside the simulated time. Two are there to be compared with: the
// literature's segmented_ring_allreduce_serial(), and nonoverlapping_allreduce(), the best of four.
