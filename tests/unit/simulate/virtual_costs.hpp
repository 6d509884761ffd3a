// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/simulate/node_costs.hpp>

/// Such as two processors of a Zen 4 have, in round numbers.
inline papcoll::NodeCosts virtual_costs() {
  using Table = papcoll::CostBySize;
  papcoll::NodeCosts c;
  c.clock = 20e-9;
  c.call = 45e-9;
  c.poll = 25e-9;
  c.locked = 2e-9;
  c.copy = Table{{{64, 2e-9}, {4096, 44e-9}, {65536, 1.2e-6}, {262144, 5e-6}}};
  c.copy_shared_cache = Table{{{64, 6e-9}, {4096, 100e-9}, {65536, 1.4e-6}, {262144, 5.4e-6}}};
  c.combine = Table{{{64, 3e-9}, {4096, 50e-9}, {65536, 1.7e-6}, {262144, 7.1e-6}}};
  c.memory_per_byte = 0.066e-9;
  papcoll::PairCosts& same_l3 = c.same_l3;
  same_l3.known = true;
  same_l3.signal = 35e-9;
  same_l3.fetch = 28e-9;
  same_l3.take = 4e-9;
  same_l3.read = Table{{{64, 31e-9}, {4096, 98e-9}, {65536, 1.5e-6}, {262144, 5.9e-6}}};
  same_l3.reread = same_l3.read;
  same_l3.write = Table{{{64, 35e-9}, {4096, 450e-9}, {65536, 7.2e-6}, {262144, 28e-6}}};
  same_l3.write_lent = Table{{{64, 17e-9}, {4096, 200e-9}, {65536, 7.2e-6}, {262144, 28e-6}}};
  same_l3.write_over = Table{{{64, 13e-9}, {4096, 80e-9}, {65536, 1.55e-6}, {262144, 6.2e-6}}};
  same_l3.write_after = Table{{{64, 12e-9}, {4096, 55e-9}, {65536, 1.25e-6}, {262144, 5.3e-6}}};
  papcoll::PairCosts& cross_l3 = c.cross_l3;
  cross_l3 = same_l3;
  cross_l3.signal = 190e-9;
  cross_l3.fetch = 125e-9;
  cross_l3.take = 10e-9;
  cross_l3.read = Table{{{64, 130e-9}, {4096, 400e-9}, {65536, 4e-6}, {262144, 14e-6}}};
  cross_l3.reread = cross_l3.read;
  cross_l3.write = Table{{{64, 140e-9}, {4096, 1.9e-6}, {65536, 29e-6}, {262144, 114e-6}}};
  cross_l3.write_lent = cross_l3.write;
  cross_l3.write_over = cross_l3.read;
  cross_l3.write_after = Table{{{64, 40e-9}, {4096, 100e-9}, {65536, 1.5e-6}, {262144, 6e-6}}};
  return c;
}
