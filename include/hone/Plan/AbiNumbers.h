//===- AbiNumbers.h - Numbers that abi.def gives to facts -------*- C++ -*-===//
//
// Whoever describes a program to the runtime (compiled code, hone-run) spells
// element types, kinds, roles and initialisations as the numbers of the
// enumerations in runtime/include/honert/abi.def.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PLAN_ABINUMBERS_H
#define HONE_PLAN_ABINUMBERS_H

#include "base/Enumerations.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace hone::abi {

/// Element type: f32, f64, bf16, f16, i64, i32, i8, i1 or one of codes.
int64_t dtype(mlir::Type element);
/// Value of `hone.kind` on an argument.
int64_t kind(llvm::StringRef kind);
/// Value of `hone.role`, or "".
int64_t role(llvm::StringRef role);
/// What a `plan.transfer` does, or "run".
int64_t action(llvm::StringRef action);

/// Where a `plan.copy` goes.
int64_t direction(llvm::StringRef direction);

using honert::CodeKind;
using honert::ConvolutionPart;
using honert::Epilogue;
using honert::GroupedProduct;
using honert::ScaleMode;

struct Init {
  int64_t kind; ///< of honert::InitKind
  double a, b;
};
/// Value of `hone.init`, or null.
Init init(mlir::DictionaryAttr init);

/// Names of `hone.aliases` (or null), separated by newlines.
std::string aliases(mlir::ArrayAttr names);

} // namespace hone::abi

#endif // HONE_PLAN_ABINUMBERS_H
