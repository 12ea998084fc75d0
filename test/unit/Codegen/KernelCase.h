//===- KernelCase.h - Kernels against the interpreter -----------*- C++ -*-===//
//
// A case is a function of hone ops. It becomes the body of a launch, an emitter
// makes its kernel, and the kernel runs on buffers with canaries around them;
// the interpreter, which shares no code with the emitters, says what the
// outputs must be. Every case also runs in pieces, which must give the same
// bits, and as code of a GPU in the emulator.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TEST_KERNELS_KERNELCASE_H
#define HONE_TEST_KERNELS_KERNELCASE_H

#include "Codegen/Common/Kernel.h"
#include "hone/Interpreter/Interpreter.h"
#include "hone/Plan/Plan.h"

#include <string>
#include <utility>
#include <vector>

namespace hone::test {

using Emitter = mlir::FailureOr<Kernel> (*)(mlir::OpBuilder &, llvm::StringRef,
                                            plan::LaunchOp);

struct CaseOptions {
  KernelFamily family = KernelFamily::map;
  /// Errors beyond this times (1 + |expected|) fail; 0: equal bits.
  double tolerance = 2e-6;
  /// (input, output) pairs that share a buffer.
  std::vector<std::pair<unsigned, unsigned>> inPlace = {};
  /// Replaces the elements of random arguments: (argument, elements).
  std::vector<std::pair<unsigned, std::vector<double>>> data = {};
  /// Random integers are in [0, bound).
  int64_t idBound = 4;
  /// Elements from one row to the next in an argument's buffer, where there are
  /// more than a row has: a part of wider rows. (argument, elements)
  std::vector<std::pair<unsigned, int64_t>> rowPitch = {};
  /// Kernels of the launch after the first; only that one runs in pieces.
  std::vector<Emitter> laterStages = {};
  /// Elements of the launch's scratch of f32; 0: it has none.
  int64_t scratch = 0;
  /// Chunks of partial sums at most; 0: there are none. The launch then has the
  /// scratch of a row group.
  int64_t chunks = 0;
  /// Elements by which a GPU's buffers begin beside an aligned place.
  int64_t shift = 0;
  /// Whether a GPU makes the very bits that the CPU makes.
  bool equalOnDevice = false;
};

/// Runs the case `func.func @f(...)` and reports differences to gtest.
void expectLikeInterpreter(Emitter emit, const std::string &func,
                           const CaseOptions &options = {});

/// The outputs of the kernel alone, for what the interpreter refuses.
interp::Tensors runKernel(Emitter emit, const std::string &func,
                          const CaseOptions &options = {});

/// The diagnostic with which the emitter refuses the case, or "".
std::string refusalOf(Emitter emit, const std::string &func,
                      const CaseOptions &options = {});

/// Bytes of a tensor in memory, i1 as 0 or 1.
std::vector<char> bytesOf(const interp::Tensor &tensor);
/// The tensor of such bytes, with exact values.
interp::Tensor tensorFrom(const std::vector<char> &bytes, mlir::Type type);

/// Checks `actual` against `expected`.
void expectNear(const interp::Tensor &actual, const interp::Tensor &expected,
                double tolerance, const std::string &what);

} // namespace hone::test

#endif // HONE_TEST_KERNELS_KERNELCASE_H
