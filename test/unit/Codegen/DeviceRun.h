//===- DeviceRun.h - Kernels of a GPU against the interpreter ---*- C++ -*-===//

#ifndef HONE_TEST_KERNELS_DEVICERUN_H
#define HONE_TEST_KERNELS_DEVICERUN_H

#include "KernelCase.h"

namespace hone::test {

/// Checks what the kernels that a GPU runs in place of `emit`'s (those of its
/// own emitter, else a thread per item) make of the case, in the emulator with
/// all its checks, in two orders of threads, which must give the same bits.
/// Returns those; none where a GPU has no code for the case.
std::vector<std::vector<char>> expectOnDevice(Emitter emit,
                                              const std::string &text,
                                              const CaseOptions &options,
                                              const interp::Tensors &expected);

/// As expectOnDevice, of a case for which a GPU has code: what the interpreter
/// makes of it.
void expectLikeInterpreterOnDevice(Emitter emit, const std::string &text,
                                   const CaseOptions &options);

} // namespace hone::test

#endif // HONE_TEST_KERNELS_DEVICERUN_H
