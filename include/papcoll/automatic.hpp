#pragma once

// Calls that name no algorithm: allreduce(comm, data), or only its transport, contract or arrival
// policy. What runs is chosen for each call. Included by papcoll.hpp and core.hpp.
#include <papcoll/call/automatic.hpp>
