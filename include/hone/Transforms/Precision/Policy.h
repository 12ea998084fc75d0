//===- Policy.h - Policies of mixed precision -------------------*- C++ -*-===//
//
// What `hone.precision` and the option --precision of the tools may name, and
// what each policy asks of the phases (docs/rationale/mixed-precision.md).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TRANSFORMS_PRECISION_POLICY_H
#define HONE_TRANSFORMS_PRECISION_POLICY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace hone {

enum class Fp8Scaling : uint32_t; // HoneEnums.td

struct PrecisionPolicy {
  /// What contractions read, where that is not f32.
  enum class Low { None, BF16, F16 };

  llvm::StringLiteral name;
  Low low = Low::None;
  /// Small gradients underflow unless the loss is scaled.
  bool scalesLoss = false;
  /// Parameters and state are low too, rounded stochastically.
  bool hasLowState = false;
  /// Most products with a parameter multiply codes of fp8, scaled so.
  std::optional<Fp8Scaling> codes = std::nullopt;
};

/// Sizes of matrices of codes are multiples of this: the library reads 16 bytes
/// at a time.
constexpr int64_t fp8Multiple = 16;

/// All policies, the default first.
llvm::ArrayRef<PrecisionPolicy> getPrecisionPolicies();

/// The policy of that name; null: there is none.
const PrecisionPolicy *findPrecisionPolicy(llvm::StringRef name);

/// "fp32, tf32, bf16, ... or mxfp8", for messages.
std::string listPrecisionPolicies();

} // namespace hone

#endif // HONE_TRANSFORMS_PRECISION_POLICY_H
