//===- UpdatesCase.h - Updates of parameters as kernel cases ----*- C++ -*-===//
//
// Several updates of one optimizer in one launch: the text of their function,
// the data of its arguments, and the comparison with the interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TEST_KERNELS_UPDATESCASE_H
#define HONE_TEST_KERNELS_UPDATESCASE_H

#include "KernelCase.h"

#include "Codegen/CPU/OptimizerKernels.h"

#include <optional>

namespace hone::test {

/// Several updates of one kind as a function. Arguments are the tensors of each
/// update in turn, then the scalars, which all share.
struct Updates {
  enum Rule { adamw, sgd, momentum, lion } rule = adamw;
  std::vector<int64_t> sizes = {100};
  std::string param = "f32", grad = "f32", state = "f32", workingCopy = "";
  std::string attrs = "beta1 = 0.9, beta2 = 0.999, eps = 1.0e-08";
  double lr = 3e-4, decay = 0.1, gradScale = 0.7, step = 3;
  std::optional<bool> apply = {};
  bool random = false;
  /// Of parameters that are the second of three parts; with a width, matrices
  /// that are the middle third of the columns.
  bool isPart = false;
  int64_t width = 0;
  bool inPlace = true;
  int64_t shift = 0; ///< of buffers, in elements
  double tolerance = 3e-7;
  /// Gradient of every element, in place of random ones.
  std::optional<double> gradValue = {};
  std::optional<double> paramValue = {};

  unsigned states() const { return rule == adamw ? 2 : rule != sgd; }
  unsigned tensors() const { return 2 + states(); }
  unsigned results() const { return 1 + states() + !workingCopy.empty(); }
  unsigned firstScalar() const { return tensors() * sizes.size(); }

  std::string text() const;
  CaseOptions options() const;
  void check() const { expectLikeInterpreter(emitUpdates, text(), options()); }
  interp::Tensors run() const {
    return runKernel(emitUpdates, text(), options());
  }
};

/// One of the sizes is a chunk, one more than that, and one none at all.
inline const std::vector<int64_t> manySizes = {1,     0,     63,    64, 65,
                                               16384, 16385, 40000, 3};

} // namespace hone::test

#endif // HONE_TEST_KERNELS_UPDATESCASE_H
