//===- Fp8.h - Types of codes of eight bits and of their scales -*- C++ -*-===//
//
// What hone.quantize makes and products take. The numbers behind the types are
// those of base/Fp8.h, where scales lie is said by base/ScaleLayout.h.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_IR_FP8_H
#define HONE_IR_FP8_H

#include "base/Fp8.h"
#include "base/ScaleLayout.h"

#include "mlir/IR/BuiltinTypes.h"

namespace hone {

/// Whether elements of this type are codes of fp8.
inline bool isFp8(mlir::Type element) {
  return mlir::isa<mlir::Float8E4M3FNType, mlir::Float8E5M2Type>(element);
}

/// The format of codes of this type.
inline honert::Fp8Format fp8FormatOf(mlir::Type element) {
  return mlir::isa<mlir::Float8E5M2Type>(element) ? honert::Fp8Format::e5m2
                                                  : honert::Fp8Format::e4m3;
}

/// Codes of this format.
inline mlir::Type fp8Type(mlir::MLIRContext *context,
                          honert::Fp8Format format) {
  if (format == honert::Fp8Format::e5m2)
    return mlir::Float8E5M2Type::get(context);
  return mlir::Float8E4M3FNType::get(context);
}

/// The tile that an attribute `tile` spells, if there is one.
inline std::optional<honert::ScaleTile>
scaleTileOf(llvm::ArrayRef<int64_t> tile) {
  if (tile.size() != 2)
    return std::nullopt;
  return honert::scaleTileOf(tile[0], tile[1]);
}

/// The type of the scales of codes.
inline mlir::RankedTensorType scaleType(mlir::MLIRContext *context,
                                        const honert::ScaleLayout &layout) {
  mlir::Type element = mlir::Float32Type::get(context);
  if (layout.tile == honert::ScaleTile::row32)
    element = mlir::IntegerType::get(context, 8);
  return mlir::RankedTensorType::get(layout.shape(), element);
}

} // namespace hone

#endif // HONE_IR_FP8_H
