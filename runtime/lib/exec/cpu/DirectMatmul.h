//===- DirectMatmul.h - Products the library computes in their type -------===//

#ifndef HONERT_EXEC_CPU_DIRECTMATMUL_H
#define HONERT_EXEC_CPU_DIRECTMATMUL_H

#include "exec/cpu/Matmul.h"
#include "exec/cpu/MatmulPlan.h"

namespace honert {

/// A product of operands of f32 or bf16, or of codes: copies, a prefilled
/// output, and library calls.
class DirectMatmul final : public Matmul {
public:
  /// `multiplied`: what codes become, f32 or bf16.
  DirectMatmul(MatmulLibrary &library, std::string name,
               const MatmulLaunch &launch, DType multiplied = DType::f32)
      : library(library), name(std::move(name)), launch(launch),
        multiplied(multiplied), plan(planIt(Packing::needed)) {}

  /// Chooses the plan and makes its primitives; not for products without terms.
  Status prepare();
  int64_t neededBytes() const override;
  /// Bytes of operands that are copied: those of a whole one each.
  int64_t copiedBytes() const { return plan.packedBytes(); }
  /// How many rows of one result can be made with copies of so many bytes; 0:
  /// too few.
  int64_t rowsWithin(int64_t bytes) const;
  void bind(char *arena, char *workspace) override;
  Status run() const override;

private:
  using Problem = MatmulLibrary::Problem;

  /// A part of the product and where its operands begin, in elements; bias -1:
  /// another part adds it.
  struct Part {
    const MatmulLibrary::Primitive *primitive;
    int64_t lhs, rhs, bias, out;
  };

  enum class Mode {
    together,   ///< calls one after the other, each on all threads
    sideBySide, ///< calls at the same time, each on one thread
    alone       ///< one call on the calling thread: too small to share
  };

  MatmulPlan planIt(Packing packing) const {
    return planMatmul(launch, packing, multiplied);
  }
  Status tryPacking(Packing packing, const MatmulLibrary::Primitive *&whole);
  Status cutSum();
  Status cutOutput();
  Status addPart(const Problem &problem, const Part &place);
  Problem wholeProblem() const;
  void prefill() const;
  dnnl_status_t runPart(const Part &part, int thread) const;
  dnnl_status_t runParts() const;

  MatmulLibrary &library;
  std::string name;
  MatmulLaunch launch;
  DType multiplied;
  MatmulPlan plan;
  Mode mode = Mode::together;
  std::vector<Part> parts;  // empty: nothing to sum
  int64_t scratchBytes = 0; // of one call
  // Operands in memory, and what the library reads and writes: the same, or
  // copies of them.
  std::array<Scales, 2> scales; // of codes
  Matrices lhs, rhs, out;
  Matrices libraryLhs, libraryRhs, libraryOut;
  Matrices addend;
  const char *bias = nullptr;
  char *scratch = nullptr;
};

} // namespace honert

#endif // HONERT_EXEC_CPU_DIRECTMATMUL_H
