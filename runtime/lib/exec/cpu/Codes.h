//===- Codes.h - Numbers that codes and scales stand for --------*- C++ -*-===//

#ifndef HONERT_EXEC_CPU_CODES_H
#define HONERT_EXEC_CPU_CODES_H

#include "base/ScaleLayout.h"
#include "base/Types.h"

namespace honert {

/// The scales of a matrix of codes, in memory.
struct Scales {
  ScaleLayout layout;
  const char *data = nullptr;

  /// The scale of a tile; NaN: its numbers were none.
  float at(int64_t tileRow, int64_t tileColumn) const;
};

/// Codes of a row of a matrix, from one on.
struct CodeRun {
  DType dtype; ///< f8e4m3 or f8e5m2
  const char *codes;
  const Scales *scales;
  int64_t row, column; ///< of the first code
  int64_t count;
};

/// Writes the numbers of `run` to f32 or bf16, `step` elements apart. Scales
/// are powers of two, so all are exact but those beyond the range of normal
/// numbers of f32: these are infinite or, below it, zero.
void widenCodes(const CodeRun &run, DType to, char *numbers, int64_t step);

} // namespace honert

#endif // HONERT_EXEC_CPU_CODES_H
