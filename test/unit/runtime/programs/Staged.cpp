//===- Staged.cpp - The model in stages as an executable ------------------===//
//
// Stands for a compiled object: linked with libhonert_main and libhonert.
// HONE_STAGED          "STAGES:SCHEDULE:WINDOW:DP" (default "0:1f1b:1:1"; 0: a
//                      program without stages, which is one rank).
// HONE_STAGED_SLEEPING a rank that sleeps in its first backward part.
//
//===----------------------------------------------------------------------===//

#include "support/StagedModel.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" void hone_program(honert_program *program) {
  test::StagedModel model;
  long long stages, window, dp;
  char schedule[8] = "";
  const char *text = std::getenv("HONE_STAGED");
  if (text && std::sscanf(text, "%lld:%5[a-z0-9]:%lld:%lld", &stages, schedule,
                          &window, &dp) == 4) {
    model.stages = stages;
    model.isGpipe = std::strcmp(schedule, "gpipe") == 0;
    model.boundaries = window;
    model.dp = dp;
  }
  if (const char *rank = std::getenv("HONE_STAGED_SLEEPING"))
    model.sleepingRank = std::atoll(rank);
  describe(model, program);
}
