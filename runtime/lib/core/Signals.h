//===- Signals.h - Ending a run after its step ----------------------------===//

#ifndef HONERT_CORE_SIGNALS_H
#define HONERT_CORE_SIGNALS_H

namespace honert {

/// From now on SIGINT and SIGTERM are noted; a second one ends the process at
/// once.
void catchStopSignals();

/// The signal that was caught, or 0.
int stopSignal();

/// "SIGINT" or "SIGTERM"
const char *signalName(int signal);

} // namespace honert

#endif // HONERT_CORE_SIGNALS_H
