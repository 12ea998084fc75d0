//===- Philox.h - Counter-based random numbers ------------------*- C++ -*-===//
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC'11), addressed as hone.random says.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_INTERPRETER_PHILOX_H
#define HONE_INTERPRETER_PHILOX_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <cstdint>

namespace hone::interp {

/// Ten rounds of Philox4x32 on `counter` under `key`.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key);

/// The tensor whose elements draw, as a part of the whole that numbers them
/// (hone.random); without dimensions it is the whole itself.
struct RandomPlace {
  int64_t origin = 0;
  llvm::SmallVector<int64_t> part, whole;

  /// Whether a part begins at the origin; one without elements always does.
  bool isPart() const;
  /// The number of the element with row-major index `index`.
  int64_t numberOf(int64_t index) const;
};

/// The words of one random op: a key of three integers (seed, step, micro-step)
/// and the op's salt.
class PhiloxStream {
public:
  PhiloxStream(llvm::ArrayRef<int64_t> key, int64_t salt,
               const RandomPlace &place)
      : seed(key[0]), step(key[1]), micro(key[2]), salt(salt), place(place) {}

  /// The word of the element with row-major index `index`.
  uint32_t word(int64_t index);
  /// A number in [0, 1) with 24 bits, from `word`.
  double uniform(int64_t index) { return (word(index) >> 8) * 0x1p-24; }

private:
  int64_t seed, step, micro, salt;
  const RandomPlace &place;
  int64_t block = -1; // the four words in `words` belong to 4 * block ...
  std::array<uint32_t, 4> words = {};
};

} // namespace hone::interp

#endif // HONE_INTERPRETER_PHILOX_H
