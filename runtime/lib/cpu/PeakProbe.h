//===- PeakProbe.h - The most this machine's cores can do -----------------===//

#ifndef HONERT_CPU_PEAKPROBE_H
#define HONERT_CPU_PEAKPROBE_H

#include "cpu/Parallel.h"

namespace honert {

/// fp32 FLOP/s of all threads together in loops of fused multiply-adds on
/// registers (the widest vectors the processor has), over about 20 ms: the
/// peak that MFU is a fraction of. Other load on the machine lowers it.
double probePeakFlops(const ThreadPool &pool);

} // namespace honert

#endif // HONERT_CPU_PEAKPROBE_H
