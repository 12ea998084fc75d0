//===- Signals.cpp - Ending a run after its step --------------------------===//

#include "core/Signals.h"

#include <csignal>
#include <unistd.h>

using namespace honert;

// A signal handler can reach nothing but a global.
static volatile std::sig_atomic_t caught = 0;

static void note(int signal) {
  if (caught)
    _exit(128 + signal);
  caught = signal;
}

void honert::catchStopSignals() {
  caught = 0;
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int honert::stopSignal() { return caught; }

const char *honert::signalName(int signal) {
  return signal == SIGINT ? "SIGINT" : "SIGTERM";
}
