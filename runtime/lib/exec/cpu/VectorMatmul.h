//===- VectorMatmul.h - Products of a vector and a matrix -------*- C++ -*-===//

#ifndef HONERT_EXEC_CPU_VECTORMATMUL_H
#define HONERT_EXEC_CPU_VECTORMATMUL_H

#include "exec/cpu/Matmul.h"

namespace honert {

/// A product with one row or one column, as of one token and a weight. It takes
/// as long as reading the matrix, once and where it lies: oneDNN would copy a
/// weight into another layout on every call. Sums are kept in f32; their order
/// depends on the shape only.
class VectorMatmul final : public Matmul {
public:
  /// Whether the launch is such a product, of f32 or bf16, with a matrix that
  /// has no gaps between the elements of its rows or of its columns.
  static bool accepts(const MatmulLaunch &launch);

  VectorMatmul(const ThreadPool &pool, const MatmulLaunch &launch);

  int64_t neededBytes() const override;
  void bind(char *arena, char *workspace) override;
  Status run() const override;

private:
  /// Elements `stride` apart.
  struct Line {
    char *data = nullptr;
    DType dtype = DType::f32;
    int64_t stride = 0;

    char *at(int64_t index) const {
      return data + index * stride * byteWidth(dtype);
    }
    float load(int64_t index) const {
      return dtype == DType::f32
                 ? *reinterpret_cast<const float *>(at(index))
                 : static_cast<float>(loadElement(dtype, at(index)));
    }
    void store(int64_t index, float value) const {
      if (dtype == DType::f32)
        *reinterpret_cast<float *>(at(index)) = value;
      else
        storeElement(dtype, at(index), value);
    }
  };

  template <typename Element> void run(const Element *matrix) const;
  template <typename Element>
  void addTile(const Element *matrix, int64_t tile) const;
  void finish(int64_t lo, int64_t hi) const;
  bool hasRows() const { return alongColumns == 1; }
  int64_t countPartials() const;

  const ThreadPool &pool;
  MatmulLaunch launch;
  int64_t columns;                ///< elements of the result
  int64_t alongTerms;             ///< strides of the matrix: from a term of the
  int64_t alongColumns;           ///< sums to the next, from a sum to the next
  Line vector, out, addend, bias; ///< without data: absent
  const char *matrix = nullptr;
  float *terms = nullptr;    ///< the vector, in f32
  float *partials = nullptr; ///< for each tile of terms, a row of sums
};

} // namespace honert

#endif // HONERT_EXEC_CPU_VECTORMATMUL_H
