#pragma once

// Operators of reductions.
#include <papcoll/base/op.hpp>
