//===- ResidentMemory.h - What the process occupies -----------------------===//

#ifndef HONERT_TRAIN_RESIDENTMEMORY_H
#define HONERT_TRAIN_RESIDENTMEMORY_H

#include <cstdint>

namespace honert {

/// Bytes that were resident at most since the process started, code and mapped
/// files included; 0 if the system does not say.
int64_t peakResidentBytes();

} // namespace honert

#endif // HONERT_TRAIN_RESIDENTMEMORY_H
