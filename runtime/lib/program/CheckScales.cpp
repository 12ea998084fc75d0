//===- CheckScales.cpp - What honert_matmul_scales demands ----------------===//

#include "program/Program.h"

#include <algorithm>

using namespace honert;

/// Whether some library multiplies codes with these scales.
static bool fitTogether(ScaleMode a, ScaleMode b) {
  auto isKnown = [](ScaleMode mode) {
    return mode != ScaleMode::vector16 && mode != ScaleMode::row;
  };
  return isKnown(a) && isKnown(b) &&
         canMultiply(scaleTileOf(a), scaleTileOf(b));
}

Status MatmulLaunch::checkScales(const std::string &name,
                                 int64_t arenaBytes) const {
  auto fails = [&](const std::string &what) {
    return Status::error(
        format("program: matmul %s %s", name.c_str(), what.c_str()));
  };
  DType other = scales->operandB;
  if (!isFp8(operand) || !isFp8(other) ||
      (operand == DType::f8e5m2 && other == DType::f8e5m2))
    return fails(format("has scales and multiplies %s by %s, expected f8E4M3FN "
                        "by f8E4M3FN or f8E5M2, or the reverse",
                        honert::name(operand), honert::name(other)));
  if (result != DType::f32 && result != DType::bf16)
    return fails(format("writes products of codes as %s, expected f32 or bf16",
                        honert::name(result)));
  if (!fitTogether(scales->a.mode, scales->b.mode))
    return fails(format("has scales of %s and %s, which no library multiplies",
                        honert::name(scales->a.mode),
                        honert::name(scales->b.mode)));
  bool isDense = k < 2 || (strides[2] == 1 && strides[4] == 1);
  if (batch != 1 || !isDense)
    return fails("has codes in a batch, or not with k last and dense");
  if (std::max({m, n, k}) > INT32_MAX)
    return fails("has more than 2^31 - 1 rows, columns or terms");
  auto isInside = [&](const ProductScales::Side &side, int64_t rows) {
    return side.offset >= 0 && side.offset <= arenaBytes &&
           side.bytes(rows, k) <= arenaBytes - side.offset;
  };
  if (!isInside(scales->a, m) || !isInside(scales->b, n))
    return fails("has scales outside the arena");
  return Status();
}
