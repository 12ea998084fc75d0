//===- Tiny.cpp - The bigram model as an executable -----------------------===//
//
// Stands for a compiled object: linked with libhonert_main and libhonert.
// HONE_TINY_SLEEP_MS makes each step take that long (for signals).
// HONE_TINY_ALLOCATE makes each step allocate and free that many bytes,
// HONE_TINY_MAP map them and keep them (for the test that finds such).
// HONE_TINY_MEMORY is that many bytes more in the arena, which each step
// writes (for limits of memory).
//
//===----------------------------------------------------------------------===//

#include "program/Program.h"
#include "support/TinyModel.h"

#include <cstdlib>
#include <ctime>
#include <sys/mman.h>

static long numberOf(const char *variable) {
  const char *text = std::getenv(variable);
  return text ? std::atol(text) : 0;
}

static void beforeStep(void *const *, int64_t, int64_t) {
  long milliseconds = numberOf("HONE_TINY_SLEEP_MS");
  timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0) // a signal came: sleep on
    ;
  if (long bytes = numberOf("HONE_TINY_ALLOCATE")) {
    void *volatile memory = std::malloc(static_cast<size_t>(bytes));
    std::free(memory);
  }
  if (long bytes = numberOf("HONE_TINY_MAP"))
    (void)mmap(nullptr, static_cast<size_t>(bytes), PROT_READ,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

extern "C" void hone_program(honert_program *program) {
  test::TinyModel model;
  model.noise = 0.1;
  model.before = beforeStep;
  test::describe(model, program);
  if (int64_t bytes = numberOf("HONE_TINY_MEMORY") / 64 * 64) {
    auto &launches = program->functions.front().launches;
    launches.insert(
        launches.begin(),
        {"zero", "", honert::ZeroLaunch{program->arenaBytes, bytes}});
    program->arenaBytes += bytes;
  }
}
