//===- RowShape.h - How threads share a row kernel --------------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_ROWSHAPE_H
#define HONE_LIB_CODEGEN_GPU_ROWSHAPE_H

#include "hone/Analysis/Fusion/RowSpace.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// What the blocks of a row kernel are.
enum class DeviceForm {
  flat,  ///< a thread per vector of all elements, which are one row
  map,   ///< a thread per vector of a row
  rows,  ///< one or several rows per block
  chunks ///< rows of a chunk, one after the other; sums over them
};

struct DeviceRowShape {
  static DeviceRowShape of(plan::LaunchOp launch, const RowSpace &space);

  DeviceForm form;
  int64_t lanes = 1;      ///< elements of a thread's vector: a power of two
  int64_t vectors = 0;    ///< of a row
  int64_t threads = 0;    ///< of a block
  int64_t rowThreads = 0; ///< that share a row
  int64_t tiles = 0;      ///< vectors of a row that a thread has at most
  /// Whether each sweep finds the thread's vectors in registers; otherwise it
  /// makes them again.
  bool isHeld = true;
  int64_t columnTiles = 1; ///< blocks that share the columns of a chunk
  int64_t blocks = 0;
  /// Whether a result per row lies on an operand per row: all threads read it
  /// before one writes.
  bool writesRowOperand = false;

  int64_t rowsPerBlock() const { return threads / rowThreads; }
  /// Warps that share a row.
  int64_t rowWarps() const;
  /// Whether 16 bytes are the access of some buffer.
  bool isVectorised = false;
};

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_ROWSHAPE_H
