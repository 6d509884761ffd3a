// What papcoll.cpp is to programs with MPI.
#define PAPCOLL_COMPILES_IT
#include <papcoll/algorithm.hpp>
#include <papcoll/core.hpp>
#include <papcoll/erased.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/hierarchical.hpp>
#include <papcoll/topology/linux.hpp>
#include <papcoll/topology/packed_machine.hpp>
