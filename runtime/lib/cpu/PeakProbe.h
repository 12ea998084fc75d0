//===- PeakProbe.h - The most this machine's cores can do -----------------===//

#ifndef HONERT_CPU_PEAKPROBE_H
#define HONERT_CPU_PEAKPROBE_H

#include "cpu/Parallel.h"

namespace honert {

/// fp32 FLOP/s of all threads together in loops of fused multiply-adds on
/// registers (the widest vectors the processor has): each thread's best of
/// about 20 ms. The peak that MFU is a fraction of.
double probePeakFlops(const ThreadPool &pool);

} // namespace honert

#endif // HONERT_CPU_PEAKPROBE_H
