//===- Tolerance.h - How far a GPU's numbers may be off ---------*- C++ -*-===//

#ifndef HONERT_EXEC_CUDA_COMPARE_TOLERANCE_H
#define HONERT_EXEC_CUDA_COMPARE_TOLERANCE_H

#include "program/Program.h"

#include <vector>

namespace honert {

/// Difference of neighbouring numbers of a type near 1: f32 2^-23; 0 of types
/// that are no floats.
double epsilon(DType dtype);

/// Relative error, to the product of their norms, of a sum of `terms` products
/// of two vectors in f32, in whatever order: tensor cores add 16 products at a
/// time and cut the sum off behind its last bit, which is no worse than
/// rounding each of `terms` / 16 sums and a few sums of partial sums.
double sumError(int64_t terms);

/// What a launch should have written to a tensor, which lies in the mirror of
/// the arena, and how far each element may be off.
struct Expected {
  ArenaTensor tensor;
  double most = 0;  ///< absolute, of every element
  double units = 0; ///< and of units in the element's last place
  /// And of each element, in order; NaN: the tensor leaves it out; infinity: it
  /// may be anything. Or empty.
  std::vector<float> each = {};
  bool isCompared = true; ///< else taken over as it is

  /// Bounds of elements that are still to be told, all left out.
  static std::vector<float> none(int64_t count);
  /// Whether the element is one of the tensor, not one between its rows.
  bool has(int64_t element) const;
  double allowed(int64_t element, double value) const;
};

/// How a tensor differs from what is expected.
struct Difference {
  int64_t wrong = 0; ///< elements that are farther off than they may be
  int64_t first = 0; ///< of these
  double worst = 0;  ///< of the others, as a share of what is allowed

  /// "1.5 on the GPU, expected 1 within 0.1 (3 of 64 elements differ)", of the
  /// first; `seen` and `should` hold the tensor.
  std::string text(const Expected &expected, const char *seen,
                   const char *should) const;
};

Difference compare(const Expected &expected, const char *seen,
                   const char *should);

} // namespace honert

#endif // HONERT_EXEC_CUDA_COMPARE_TOLERANCE_H
