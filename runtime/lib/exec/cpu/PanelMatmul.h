//===- PanelMatmul.h - Products by panels of their operands ---------------===//

#ifndef HONERT_EXEC_CPU_PANELMATMUL_H
#define HONERT_EXEC_CPU_PANELMATMUL_H

#include "exec/cpu/DirectMatmul.h"

#include <array>

namespace honert {

/// A product whose operands the library cannot read where they are: panels of
/// them are copied, multiplied, and the sums kept in f32 and rounded once to
/// the result's type. So the copies are small, however large the product. The
/// panels depend on the shape only.
class PanelMatmul final : public Matmul {
public:
  /// `multiplied`: the type of the copies. f32 where no unit of the processor
  /// multiplies the operands' type (widening is exact), else that type. Codes
  /// become bf16 where units multiply that.
  PanelMatmul(MatmulLibrary &library, std::string name,
              const MatmulLaunch &launch, DType multiplied);

  Status prepare();
  int64_t neededBytes() const override;
  void bind(char *arena, char *workspace) override;
  Status run() const override;

private:
  /// Sizes along batch, m, n and k, or a place along them.
  using Box = std::array<int64_t, 4>;

  MatmulLaunch launchOf(const Box &panel) const;
  void start(const Box &at, const Box &panel) const;
  Status addTerms(const Box &at, const Box &panel) const;

  MatmulLibrary &library;
  std::string name;
  MatmulLaunch launch;
  DType multiplied;
  Box whole, largest; ///< the product, the largest panel
  /// One for each size of panel: those at the ends are smaller.
  std::map<Box, std::unique_ptr<DirectMatmul>> products;
  int64_t lhsBytes, rhsBytes, outBytes; ///< of panels
  std::array<Scales, 2> scales;         ///< of codes
  Matrices lhs, rhs, out, addend;       ///< in the arena
  const char *bias = nullptr;
  char *panels = nullptr;
};

} // namespace honert

#endif // HONERT_EXEC_CPU_PANELMATMUL_H
