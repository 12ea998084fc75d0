//===- Matmul.h - Matrix products by oneDNN -------------------------------===//

#ifndef HONERT_EXEC_CPU_MATMUL_H
#define HONERT_EXEC_CPU_MATMUL_H

#include "base/Parallel.h"
#include "exec/cpu/DnnlEngine.h"
#include "exec/cpu/Matrices.h"
#include "program/Program.h"

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace honert {

/// The scales of a and b of a product of codes.
std::array<Scales, 2> scalesOf(const MatmulLaunch &launch, const char *arena);

/// One product of the program, ready to run.
class Matmul {
public:
  virtual ~Matmul() = default;
  /// Bytes of workspace that a run needs.
  virtual int64_t neededBytes() const = 0;
  /// Gives the product its operands' arena and a workspace.
  virtual void bind(char *arena, char *workspace) = 0;
  virtual Status run() const = 0;
};

/// One primitive of the library per distinct problem.
/// Primitives keep no state: their scratch memory is part of a workspace that
/// is shared by all products of the program, since these run one after another.
class MatmulLibrary {
public:
  MatmulLibrary(const ThreadPool &pool, DnnlEngine &engine)
      : pool(pool), engine(engine), dnnl(engine.dnnl) {}
  ~MatmulLibrary();
  MatmulLibrary(const MatmulLibrary &) = delete;
  MatmulLibrary &operator=(const MatmulLibrary &) = delete;

  /// Makes `launch` ready to run, the primitives included. All products are
  /// prepared before the first is bound.
  Status prepare(const std::string &name, const MatmulLaunch &launch,
                 std::unique_ptr<Matmul> &matmul);
  Status prepare(const std::string &name, const GroupedMatmulLaunch &launch,
                 std::unique_ptr<Matmul> &matmul);
  /// Bytes the workspace needs for every product prepared so far.
  int64_t workspaceBytes() const { return workspace; }
  /// "oneDNN 2.6.3, bf16 products on bf16 units", or empty if no product was
  /// prepared.
  std::string versionText() const;
  /// Whether there are products of other types than f32, and whether any are on
  /// the processor's units for bf16.
  bool multipliesNarrow() const {
    return operandTypes.size() > operandTypes.count(DType::f32);
  }
  bool usesBFloatUnits() const;

  /// A number of rows or terms that each call says.
  static constexpr int64_t anySize = DNNL_RUNTIME_DIM_VAL;

  /// What the library is asked to compute. `m` and `k` may be anySize.
  struct Problem {
    int64_t batch, m, n, k;
    MatrixStrides lhs, rhs, out;
    DType operand, result; ///< of the output in memory
    bool bias;
    DType biasType;
    bool accumulate;
    bool oneThread;

    bool operator<(const Problem &other) const;
  };
  struct Primitive {
    dnnl_primitive_t primitive = nullptr;
    dnnl_memory_desc_t lhs, rhs, bias, out, scratch;
    int64_t scratchBytes = 0;
    std::string implementation;

    /// The library's plain loops: slow.
    bool isReference() const;
    /// Kernels whose sums do not depend on the thread count, up to
    /// MatmulPlan::sumLength() terms: those for AVX-512. Others share small
    /// sums too.
    bool isThreadInvariant() const;
  };
  /// One execution of a primitive.
  struct Call {
    const Primitive *primitive;
    const char *lhs, *rhs, *bias;
    char *out;
    int64_t m = 0, k = 0; ///< where the problem has anySize
  };

  Status lookUp(const std::string &name, const Problem &problem,
                const Primitive *&primitive);
  /// By stream number `thread`: one for each thread.
  dnnl_status_t execute(const Call &call, int thread, char *scratch) const;

  const ThreadPool &pool;

private:
  Status build(const std::string &name, const Problem &problem,
               Primitive &primitive);
  Status describe(const Problem &problem, Primitive &primitive) const;
  bool multiplies(DType operand) const;
  bool onBFloatUnits(DType operand) const;

  DnnlEngine &engine;
  const DnnlFunctions &dnnl;
  std::map<Problem, Primitive> primitives;
  std::set<DType> operandTypes; // of products prepared so far
  int64_t workspace = 0;
};

} // namespace honert

#endif // HONERT_EXEC_CPU_MATMUL_H
