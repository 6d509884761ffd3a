#pragma once

#include <papcoll/simulate/node_costs.hpp>

/// Such as two processors of a Zen 4 have, in round numbers.
inline papcoll::NodeCosts virtual_costs() {
  papcoll::NodeCosts c;
  c.clock = 20e-9;
  c.call = 45e-9;
  c.poll = 25e-9;
  c.locked = 2e-9;
  c.copy = papcoll::CostBySize{{{64, 2e-9}, {4096, 44e-9}, {65536, 1200e-9}, {262144, 5000e-9}}};
  c.copy_shared_cache =
      papcoll::CostBySize{{{64, 8e-9}, {4096, 240e-9}, {65536, 3600e-9}, {262144, 14e-6}}};
  c.combine =
      papcoll::CostBySize{{{64, 3e-9}, {4096, 55e-9}, {65536, 1700e-9}, {262144, 7100e-9}}};
  c.memory_per_byte = 0.066e-9;
  c.near = {true, 35e-9, 28e-9, 4e-9, papcoll::CostBySize{{{64, 31e-9}, {4096, 98e-9}, {65536, 1500e-9}, {262144, 5900e-9}}},
            papcoll::CostBySize{{{64, 13e-9}, {4096, 450e-9}, {65536, 7400e-9}, {262144, 29e-6}}}};
  c.apart = {true, 190e-9, 150e-9, 40e-9, papcoll::CostBySize{{{64, 160e-9}, {4096, 600e-9}, {65536, 6000e-9}, {262144, 24e-6}}},
             papcoll::CostBySize{{{64, 90e-9}, {4096, 900e-9}, {65536, 11e-6}, {262144, 44e-6}}}};
  return c;
}
