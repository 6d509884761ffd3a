/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded: CLOCK_MONOTONIC runs fast by DRIFT_PPM ppm from the first reading on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t id, struct timespec* t) {
  static int (*real)(clockid_t, struct timespec*);
  static long long first;
  static double ppm;
  if (real == NULL) {
    real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
    const char* const text = getenv("DRIFT_PPM");
    ppm = text == NULL ? 0 : atof(text);
  }
  const int status = real(id, t);
  if (id == CLOCK_MONOTONIC && status == 0) {
    long long ns = t->tv_sec * 1000000000LL + t->tv_nsec;
    if (first == 0) first = ns;
    ns += (long long)((double)(ns - first) * ppm * 1e-6);
    t->tv_sec = ns / 1000000000LL;
    t->tv_nsec = ns % 1000000000LL;
  }
  return status;
}
