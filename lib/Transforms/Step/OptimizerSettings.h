//===- OptimizerSettings.h - The hone.optimizer attribute -------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_STEP_OPTIMIZERSETTINGS_H
#define HONE_LIB_TRANSFORMS_STEP_OPTIMIZERSETTINGS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace hone {

enum class OptimizerKind {
#define HONE_OPTIMIZER(kind, name, narrowest, form) kind,
#include "hone/Transforms/Step/Optimizers.def"
};

/// How moments are kept: in the parameter's type, in bf16 rounded at random,
/// or in codes of 8 bits. From wide to narrow.
enum class Moments { Full, BF16, Coded };

/// What an argument of the step may hold of a parameter of files: parts of
/// several, padded or not; one, padded or not; one as it is there. From what
/// asks least to what asks most.
enum class ParameterForm { Any, Unpacked, AsInFiles };

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
  bool matchRms = false; ///< Muon: steps of AdamW's root mean square

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

/// The form of parameters that the optimizer `option`, or else that of `module`
/// for parameters of `group`, takes; without a group, what serves all groups.
ParameterForm parameterForm(mlir::ModuleOp module, llvm::StringRef option,
                            std::optional<int64_t> group = std::nullopt);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_STEP_OPTIMIZERSETTINGS_H
