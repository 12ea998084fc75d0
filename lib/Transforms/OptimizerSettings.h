//===- OptimizerSettings.h - The hone.optimizer attribute -------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_OPTIMIZERSETTINGS_H
#define HONE_LIB_TRANSFORMS_OPTIMIZERSETTINGS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

#include <limits>
#include <string>

namespace hone {

enum class OptimizerKind { AdamW, Sgd };

/// Factors on a group's learning rate and weight decay.
struct GroupScales {
  double lr = 1.0;
  double decay = 1.0;
};

/// Options of hone-build-step; "" means "not given".
struct OptimizerOptions {
  std::string name;
  std::string lr, weightDecay, clip, beta1, beta2, eps, momentum;
  bool nesterov;
};

/// An optimizer and its numbers. The defaults are PyTorch's.
struct OptimizerSettings {
  OptimizerKind kind = OptimizerKind::AdamW;
  double lr = 1e-3;
  double weightDecay = 1e-2;
  double clip = std::numeric_limits<double>::infinity();
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double momentum = 0.0;
  bool nesterov = false;
  bool maximize = false;
  llvm::SmallVector<GroupScales> groups = {GroupScales()};

  /// The options over the attribute `hone.optimizer` of `module` over the
  /// defaults. Fails with an error that names the entry and its value.
  static mlir::FailureOr<OptimizerSettings>
  read(mlir::ModuleOp module, const OptimizerOptions &options);
  /// The attribute that says the same.
  mlir::DictionaryAttr write(mlir::MLIRContext *context) const;

  /// Prefixes of the names of a parameter's state.
  llvm::SmallVector<llvm::StringRef> stateNames() const;
  GroupScales scalesOf(int64_t group) const { return groups[group]; }
};

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_OPTIMIZERSETTINGS_H
