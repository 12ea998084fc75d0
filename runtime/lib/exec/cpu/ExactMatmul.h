//===- ExactMatmul.h - Products whose bits no shape decides -----*- C++ -*-===//

#ifndef HONERT_EXEC_CPU_EXACTMATMUL_H
#define HONERT_EXEC_CPU_EXACTMATMUL_H

#include "exec/cpu/Matmul.h"

namespace honert {

/// A product of an exact program. Each sum is added up in f64, in the order of
/// its terms, whose products f64 holds exactly, and rounded to the result's
/// type; bias and addend are added to that as ops behind the product would. An
/// element's bits depend on its row, its column, bias and addend alone: not on
/// the size of the product, the threads, or the processor.
class ExactMatmul final : public Matmul {
public:
  ExactMatmul(const ThreadPool &pool, const MatmulLaunch &launch)
      : pool(pool), launch(launch) {}

  int64_t neededBytes() const override { return 0; }
  void bind(char *arena, char *workspace) override;
  Status run() const override;

private:
  void computeTile(int64_t batch, int64_t row, int64_t col) const;

  const ThreadPool &pool;
  MatmulLaunch launch;
  Matrices lhs, rhs, out, addend;
  const char *bias = nullptr;
};

} // namespace honert

#endif // HONERT_EXEC_CPU_EXACTMATMUL_H
