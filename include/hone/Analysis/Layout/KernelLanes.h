//===- KernelLanes.h - Vectors that CPU kernels are written on --*- C++ -*-===//

#ifndef HONE_ANALYSIS_LAYOUT_KERNELLANES_H
#define HONE_ANALYSIS_LAYOUT_KERNELLANES_H

#include <cstdint>

namespace hone {

/// Elements of the vectors that CPU kernels are written on. It is part of the
/// meaning of a sum (docs/design.md, Kernels), not of the machine.
constexpr int64_t kernelLanes = 16;

} // namespace hone

#endif // HONE_ANALYSIS_LAYOUT_KERNELLANES_H
