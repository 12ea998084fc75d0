//===- TinyMain.cpp - The bigram model as an executable -------------------===//
//
// Stands for a compiled object: linked with libhonert_main and libhonert.
// HONE_TINY_SLEEP_MS makes each step take that long (for signals).
//
//===----------------------------------------------------------------------===//

#include "TinyModel.h"

#include <cstdlib>
#include <ctime>

static void sleepKernel(void *const *, int64_t, int64_t) {
  const char *text = std::getenv("HONE_TINY_SLEEP_MS");
  long milliseconds = text ? std::atol(text) : 0;
  timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0) // a signal came: sleep on
    ;
}

extern "C" void hone_program(honert_program *program) {
  test::TinyModel model;
  model.noise = 0.1;
  model.before = sleepKernel;
  test::describe(model, program);
}
