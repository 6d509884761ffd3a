#pragma once

// Exceptions of papcoll.
#include <papcoll/base/error.hpp>
