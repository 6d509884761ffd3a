// For programs whose files define PAPCOLL_COMPILED: what every one of them would compile, compiled
// here once. The CMake target papcoll::compiled does both.
#ifndef PAPCOLL_COMPILED
#define PAPCOLL_COMPILED
#endif
#define PAPCOLL_COMPILES_IT
#include <papcoll/algorithm.hpp>
#include <papcoll/core.hpp>
#include <papcoll/erased.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/hierarchical.hpp>
#include <papcoll/papcoll.hpp>
#include <papcoll/topology/linux.hpp>
#include <papcoll/topology/packed_machine.hpp>
