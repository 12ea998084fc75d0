//===- Train.h - hone-run PKG.hone ------------------------------*- C++ -*-===//

#ifndef HONE_TOOLS_TRAIN_H
#define HONE_TOOLS_TRAIN_H

#include "hone/Interpreter/Tensor.h"
#include "hone/Pipelines/Pipelines.h"

#include "mlir/IR/MLIRContext.h"

#include <string>
#include <vector>

namespace hone::run {

struct TrainOptions {
  std::string package;
  interp::Mode mode = interp::Mode::Typed;
  bool raise = true;
  PipelineOptions pipeline;
  /// The tool, the package and the options above, as a user types them: what
  /// the runtime's flags follow.
  std::string command;
  std::vector<char *> arguments; ///< these flags
};

/// Trains the model of a package in the interpreter, with the runtime's data,
/// schedule, log and files. Returns the exit code.
int train(mlir::MLIRContext &context, TrainOptions options);

} // namespace hone::run

#endif // HONE_TOOLS_TRAIN_H
