#pragma once

// The version of papcoll, for the preprocessor.
#include <papcoll/base/version.hpp>
