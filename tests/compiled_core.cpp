// What papcoll.cpp is to programs with MPI.
#define PAPCOLL_COMPILES_IT
#include <papcoll/core.hpp>
