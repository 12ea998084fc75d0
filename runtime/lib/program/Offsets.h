//===- Offsets.h - Where a launch finds its memory ------------------------===//

#ifndef HONERT_PROGRAM_OFFSETS_H
#define HONERT_PROGRAM_OFFSETS_H

#include "program/Program.h"

#include <functional>

namespace honert {

/// Calls `body` with every offset in the arena that `launch` has, which it may
/// change; what an absent operand has instead, -1, among them.
void forEachOffset(Launch &launch, const std::function<void(int64_t &)> &body);

} // namespace honert

#endif // HONERT_PROGRAM_OFFSETS_H
