#pragma once

#include <papcoll/base/config.hpp>

namespace papcoll::inline PAPCOLL_ABI::math {

// As in <cmath>, which brings the special functions of mathematics into every file that includes
// papcoll.

inline double ceil(double x) noexcept { return __builtin_ceil(x); }
inline double sqrt(double x) noexcept { return __builtin_sqrt(x); }
inline double log2(double x) noexcept { return __builtin_log2(x); }
inline double pow(double x, double y) noexcept { return __builtin_pow(x, y); }
inline double ldexp(double x, int exponent) noexcept { return __builtin_ldexp(x, exponent); }
inline long lround(double x) noexcept { return __builtin_lround(x); }

}  // namespace papcoll::inline PAPCOLL_ABI::math
