//===- ArenaTensors.h - Tensors in memory, natural layout -------*- C++ -*-===//

#ifndef HONE_TOOLS_ARENATENSORS_H
#define HONE_TOOLS_ARENATENSORS_H

#include "hone/Interpreter/Tensor.h"

namespace hone::run {

/// The element type that a tensor of `element` has in memory: f64 for every
/// float type in Mode::F64.
interp::Element stored(interp::Element element, interp::Mode mode);

/// Reads a tensor of `element` and `shape` at `memory`.
interp::Tensor readTensor(const char *memory, interp::Element element,
                          llvm::ArrayRef<int64_t> shape, interp::Mode mode);

/// Writes the elements of `tensor` to `memory`.
void writeTensor(char *memory, const interp::Tensor &tensor, interp::Mode mode);

} // namespace hone::run

#endif // HONE_TOOLS_ARENATENSORS_H
