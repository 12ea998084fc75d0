//===- RowsMatmul.h - Products by groups of their rows --------------------===//

#ifndef HONERT_EXEC_CPU_ROWSMATMUL_H
#define HONERT_EXEC_CPU_ROWSMATMUL_H

#include "exec/cpu/DirectMatmul.h"

namespace honert {

/// A product of which the library needs copies, made by some rows of the result
/// after the other, so that the copies are small. Sums are those of the whole.
class RowsMatmul final : public Matmul {
public:
  RowsMatmul(MatmulLibrary &library, std::string name,
             const MatmulLaunch &launch, int64_t rows)
      : library(library), name(std::move(name)), launch(launch), rows(rows) {}

  Status prepare();
  int64_t neededBytes() const override;
  void bind(char *arena, char *workspace) override;
  Status run() const override;

private:
  MatmulLaunch launchOf(int64_t batch, int64_t row) const;

  MatmulLibrary &library;
  std::string name;
  MatmulLaunch launch;
  int64_t rows; ///< of one product
  std::vector<std::unique_ptr<DirectMatmul>> products;
};

} // namespace honert

#endif // HONERT_EXEC_CPU_ROWSMATMUL_H
