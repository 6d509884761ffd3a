#pragma once

// Calls of elements whose type is known at run time only.
#include <papcoll/call/erased.hpp>
