//===- ResumeCommand.cpp - What goes on with a run ------------------------===//

#include "train/ResumeCommand.h"

#include <cstdlib>

using namespace honert;

std::string honert::resumeCommand(const Options &options, int64_t ranks,
                                  int64_t steps) {
  const char *given = std::getenv("HONE_RESUME");
  bool isHone = given && *given;
  std::string text =
      isHone ? given : options.program + " --resume " + options.checkpoints;
  if (steps > 0) // a flag is a key of the run file there
    text += format(isHone ? " steps=%lld" : " --steps %lld",
                   static_cast<long long>(steps));
  if (ranks > 1 && !isHone) // which launcher, the user knows
    text += format(", as %lld ranks again", static_cast<long long>(ranks));
  return text;
}
