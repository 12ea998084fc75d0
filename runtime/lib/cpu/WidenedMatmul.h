//===- WidenedMatmul.h - Products of narrow types, computed in f32 --------===//

#ifndef HONERT_CPU_WIDENEDMATMUL_H
#define HONERT_CPU_WIDENEDMATMUL_H

#include "cpu/DirectMatmul.h"

#include <array>

namespace honert {

/// A product whose operand type no unit of the processor multiplies: panels of
/// the operands are widened to f32, which is exact, multiplied there, and the
/// sums rounded once to the result's type. The panels depend on the shape only.
class WidenedMatmul final : public Matmul {
public:
  WidenedMatmul(MatmulLibrary &library, std::string name,
                const MatmulLaunch &launch);

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
  Box whole, largest; ///< the product, the largest panel
  /// One for each size of panel: those at the ends are smaller.
  std::map<Box, std::unique_ptr<DirectMatmul>> products;
  int64_t lhsBytes, rhsBytes, outBytes; ///< of panels in f32
  Matrices lhs, rhs, out, addend;       ///< in the arena
  const char *bias = nullptr;
  char *panels = nullptr;
};

} // namespace honert

#endif // HONERT_CPU_WIDENEDMATMUL_H
