//===- PeakProbe.h - The most this machine's cores can do -----------------===//

#ifndef HONERT_EXEC_CPU_PEAKPROBE_H
#define HONERT_EXEC_CPU_PEAKPROBE_H

#include "base/Parallel.h"

namespace honert {

/// FLOP/s of all threads together in loops of multiply-adds on registers (the
/// widest vectors the processor has): each thread's best of about 20 ms. The
/// peak that MFU is a fraction of: that of fp32, or of bf16 products summed in
/// fp32, which needs a processor with the instruction.
double probePeakFlops(const ThreadPool &pool, bool bfloat = false);

} // namespace honert

#endif // HONERT_EXEC_CPU_PEAKPROBE_H
