//===- OptimizerSettings.h - The hone.optimizer attribute -------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_STEP_OPTIMIZERSETTINGS_H
#define HONE_LIB_TRANSFORMS_STEP_OPTIMIZERSETTINGS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

#include <limits>
#include <string>

namespace hone {

enum class OptimizerKind { AdamW, Sgd, Lion, Adafactor };

/// How moments are kept: in the parameter's type, in bf16 rounded at random,
/// or in codes of 8 bits.
enum class Moments { Full, BF16, Coded };

/// Salts of updates begin here, far from those of the model's random ops.
constexpr int64_t firstUpdateSalt = int64_t(1) << 30;
/// Parameters of fewer elements keep their moments whole: they are few bytes,
/// and biases and gains are sensitive (Dettmers et al., 2022).
constexpr int64_t leastCodedElements = 4096;

/// Factors on a group's learning rate and weight decay.
struct GroupScales {
  double lr = 1.0;
  double decay = 1.0;
};

/// Options of hone-build-step; "" means "not given".
struct OptimizerOptions {
  std::string name;
  std::string lr, weightDecay, clip, beta1, beta2, eps, momentum;
  std::string beta2Decay, eps1, eps2, clipThreshold;
  bool nesterov;
  std::string moments;
};

/// An optimizer and its numbers. The defaults are PyTorch's, of Lion those of
/// its paper.
struct OptimizerSettings {
  OptimizerKind kind = OptimizerKind::AdamW;
  double lr = 1e-3;
  double weightDecay = 1e-2;
  double clip = std::numeric_limits<double>::infinity();
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double momentum = 0.0;
  double beta2Decay = -0.8, eps1 = 0x1p-23, eps2 = 1e-3, clipThreshold = 1.0;
  Moments moments = Moments::Full;
  bool nesterov = false;
  bool maximize = false;
  llvm::SmallVector<GroupScales> groups = {GroupScales()};

  /// The options over the attribute `hone.optimizer` of `module` over the
  /// defaults. Fails with an error that names the entry and its value.
  static mlir::FailureOr<OptimizerSettings>
  read(mlir::ModuleOp module, const OptimizerOptions &options);
  /// The attribute that says the same.
  mlir::DictionaryAttr write(mlir::MLIRContext *context) const;

  GroupScales scalesOf(int64_t group) const { return groups[group]; }
};

/// Whether the optimizer, `option` or else that of `module`, takes means over
/// parameters as files hold them, so that none is padded or packed.
bool takesMeans(mlir::ModuleOp module, llvm::StringRef option);

/// A tensor of the state of a parameter.
struct StateTensor {
  std::string name; ///< in files: that of the parameter behind a prefix
  mlir::RankedTensorType type;
  mlir::ArrayAttr parts; ///< null: its own only part
};

/// The state that `settings` keep for the parameter `name` of `type` and with
/// these parts (or null), as operands of its update.
llvm::SmallVector<StateTensor> stateOf(const OptimizerSettings &settings,
                                       llvm::StringRef name,
                                       mlir::RankedTensorType type,
                                       mlir::ArrayAttr parts);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_STEP_OPTIMIZERSETTINGS_H
