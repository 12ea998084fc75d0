//===- EachCpu.h - Functions compiled for several processors ----*- C++ -*-===//

#ifndef HONERT_EXEC_CPU_EACHCPU_H
#define HONERT_EXEC_CPU_EACHCPU_H

#include "base/ThreadSanitizer.h"

/// Before a function: it is compiled for the vectors of each generation of
/// processors, and the one that fits is chosen when the program is loaded.
// What chooses between clones runs before ThreadSanitizer is set up.
#if HONERT_TSAN
#define FOR_EACH_CPU
#else
#define FOR_EACH_CPU                                                           \
  __attribute__((target_clones("avx512f", "avx2", "default")))
#endif

#endif // HONERT_EXEC_CPU_EACHCPU_H
