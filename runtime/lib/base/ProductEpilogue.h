//===- ProductEpilogue.h - What a product's call computes besides ---------===//
//
// The compiler decides which product computes a sum, the runtime asks the
// library for it: both must know what the library's call takes.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_BASE_PRODUCTEPILOGUE_H
#define HONERT_BASE_PRODUCTEPILOGUE_H

#include "base/Enumerations.h"

namespace honert {

/// What is done to a product on its way to memory, and what is summed beside
/// it: honert_matmul_epilogue.
enum class Activation { none, gelu, geluAux, geluBwd };
enum class Sums { none, ofResult, ofA, ofB };

/// Whether a call of cuBLASLt computes `sums` with a product of `result`s. Its
/// vector of sums has the result's type, and sums are f32. It sums a result as
/// the gradient of a GELU only, and operands beside neither an activation nor a
/// bias. Elsewhere sums take a product or a kernel of their own, which reads
/// the matrix once more.
constexpr bool hasSumsEpilogue(DType result, Activation activation, Sums sums,
                               bool hasBias) {
  if (sums == Sums::none || result != DType::f32)
    return false;
  return sums == Sums::ofResult ? activation == Activation::geluBwd
                                : activation == Activation::none && !hasBias;
}

} // namespace honert

#endif // HONERT_BASE_PRODUCTEPILOGUE_H
