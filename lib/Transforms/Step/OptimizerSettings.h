//===- OptimizerSettings.h - The hone.optimizer attribute -------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_STEP_OPTIMIZERSETTINGS_H
#define HONE_LIB_TRANSFORMS_STEP_OPTIMIZERSETTINGS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace hone {

enum class OptimizerKind {
#define HONE_OPTIMIZER(kind, name, narrowest, takesMeans) kind,
#include "hone/Transforms/Step/Optimizers.def"
};

/// How moments are kept: in the parameter's type, in bf16 rounded at random,
/// or in codes of 8 bits. From wide to narrow.
enum class Moments { Full, BF16, Coded };

/// Salts of updates begin here, far from those of the model's random ops.
constexpr int64_t firstUpdateSalt = int64_t(1) << 30;

/// Options of hone-build-step; "" means "not given".
struct OptimizerOptions {
  std::string name, moments;
  bool nesterov = false;
#define HONE_OPTIMIZER_NUMBER(field, key, range) std::string field;
#include "hone/Transforms/Step/Optimizers.def"
};

/// An optimizer and its numbers. Numbers that it does not have are 0.
struct OptimizerRule {
  OptimizerKind kind;
#define HONE_OPTIMIZER_NUMBER(field, key, range) double field = 0.0;
#include "hone/Transforms/Step/Optimizers.def"
  Moments moments = Moments::Full;
  bool nesterov = false;
  bool maximize = false;

  /// The defaults of an optimizer.
  explicit OptimizerRule(OptimizerKind kind);
};

/// Parameters that share a rule, and factors on the learning rate and the
/// weight decay of the settings.
struct OptimizerGroup {
  double lrScale = 1.0;
  double decayScale = 1.0;
  /// Null: the rule of the settings. Its rate, decay and clip are not used.
  std::optional<OptimizerRule> own;
};

/// The attribute: a rule, and the groups.
struct OptimizerSettings : OptimizerRule {
  llvm::SmallVector<OptimizerGroup> groups = {OptimizerGroup()};

  using OptimizerRule::OptimizerRule;
  /// The options over the attribute `hone.optimizer` of `module` over the
  /// defaults. Fails with an error that names the entry and its value.
  static mlir::FailureOr<OptimizerSettings>
  read(mlir::ModuleOp module, const OptimizerOptions &options);
  /// The attribute that says the same.
  mlir::DictionaryAttr write(mlir::MLIRContext *context) const;

  const OptimizerRule &ruleOf(int64_t group) const {
    return groups[group].own ? *groups[group].own : *this;
  }
};

/// Whether the optimizer `option`, or else one of `module`, takes means over
/// parameters as files hold them, so that none is padded or packed.
bool takesMeans(mlir::ModuleOp module, llvm::StringRef option);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_STEP_OPTIMIZERSETTINGS_H
