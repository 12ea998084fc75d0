//===- Signals.h - Ending a run after its step ----------------------------===//

#ifndef HONERT_BASE_SIGNALS_H
#define HONERT_BASE_SIGNALS_H

#include <cstdint>

namespace honert {

/// From now on SIGINT, SIGTERM, SIGHUP (unless ignored, as nohup has it) and
/// SIGUSR1 are noted. A second SIGINT or SIGTERM ends the process at once;
/// others do not, for a terminal that closes sends several SIGHUP.
void catchStopSignals();

/// The first signal that was caught, or 0.
int stopSignal();

/// "SIGINT"; of any signal this runtime handles.
const char *signalName(int signal);

/// From now on a fatal signal (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT) puts
/// one line on stderr before it ends the process as it always does. `rank`
/// begins the line unless it is negative, which also leaves handlers that
/// others have installed. MPI complains about ours, so it is started before.
/// SIGBUS in a mapped file does not end the process: see MappedRanges.h.
void reportFatalSignals(int64_t rank);

} // namespace honert

#endif // HONERT_BASE_SIGNALS_H
