//===- Offsets.h - Where a launch finds its memory ------------------------===//

#ifndef HONERT_PROGRAM_OFFSETS_H
#define HONERT_PROGRAM_OFFSETS_H

#include "program/Program.h"

#include <functional>

namespace honert {

/// In place of an offset of a device kernel's parameter: the arena itself, in
/// which the kernel finds its tensors by their places.
constexpr int64_t wholeArena = -1;
inline int64_t placeOf(int64_t offset) {
  return offset == wholeArena ? 0 : offset;
}

/// Calls `body` with every offset in the arena that `launch` has, which it may
/// change; what an absent operand has instead, -1, among them.
void forEachOffset(Launch &launch, const std::function<void(int64_t &)> &body);

} // namespace honert

#endif // HONERT_PROGRAM_OFFSETS_H
