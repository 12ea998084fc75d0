//===- DescribeMemory.h - What a program says of its memory -----*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_PROGRAM_DESCRIBEMEMORY_H
#define HONE_LIB_CODEGEN_PROGRAM_DESCRIBEMEMORY_H

#include "Writer.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// Tells the runtime the size of the arena and, for --info, what fills it at
/// its fullest point: bytes by category and the tensors that take most.
void describeMemory(plan::ProgramOp program, ProgramWriter &writer);

} // namespace hone

#endif // HONE_LIB_CODEGEN_PROGRAM_DESCRIBEMEMORY_H
