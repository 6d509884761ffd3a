#pragma once

// The handle of a non-blocking call.
#include <papcoll/call/request.hpp>
