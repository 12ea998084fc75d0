//===- Matmul.h - Matrix products by oneDNN -------------------------------===//

#ifndef HONERT_CPU_MATMUL_H
#define HONERT_CPU_MATMUL_H

#include "cpu/Dnnl.h"
#include "cpu/MatmulPlan.h"
#include "cpu/Parallel.h"

#include <map>
#include <memory>
#include <vector>

namespace honert {

class Matmul;

/// The library's engine and stream, and one primitive per distinct problem.
/// Primitives keep no state: their scratch memory is part of a workspace that
/// is shared by all products of the program, since these run one after another.
class MatmulLibrary {
public:
  explicit MatmulLibrary(const ThreadPool &pool) : pool(pool) {}
  ~MatmulLibrary();
  MatmulLibrary(const MatmulLibrary &) = delete;
  MatmulLibrary &operator=(const MatmulLibrary &) = delete;

  /// Makes `launch` ready to run over the arena at `arena`, the primitive
  /// included. All are prepared before the first is bound.
  Status prepare(const std::string &name, const MatmulLaunch &launch,
                 char *arena, std::unique_ptr<Matmul> &matmul);
  /// Bytes the workspace needs for every product prepared so far.
  int64_t workspaceBytes() const { return workspace; }
  /// "oneDNN 2.6.3", or empty if no product was prepared.
  std::string versionText() const {
    return engine ? dnnl.versionText() : std::string();
  }

private:
  friend class Matmul;

  struct Problem {
    int64_t batch, m, n, k;
    MatrixStrides lhs, rhs, out;
    bool bias, accumulate;

    bool operator<(const Problem &other) const;
  };
  struct Primitive {
    dnnl_primitive_t primitive = nullptr;
    dnnl_memory_desc_t lhs, rhs, bias, out, scratch;
    int64_t scratchBytes = 0;
    bool isReference = false; ///< the library's plain loops: slow
  };

  Status start();
  Status build(const std::string &name, const Problem &problem,
               Primitive &primitive);
  Status describe(const Problem &problem, Primitive &primitive) const;
  Status lookUp(const std::string &name, const MatmulPlan &plan,
                const Primitive *&primitive);

  const ThreadPool &pool;
  DnnlFunctions dnnl;
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
  std::map<Problem, Primitive> primitives;
  int64_t workspace = 0;
};

/// One product of the program.
class Matmul {
public:
  ~Matmul();

  /// Gives the product its workspace (MatmulLibrary::workspaceBytes).
  Status bind(char *workspace);
  Status run() const;

private:
  friend class MatmulLibrary;
  Matmul(MatmulLibrary &library, std::string name)
      : library(library), name(std::move(name)) {}

  void prefill(float *out, const MatrixStrides &strides) const;

  MatmulLibrary &library;
  std::string name;
  MatmulLaunch launch;
  MatmulPlan plan;
  const MatmulLibrary::Primitive *primitive = nullptr; // null: nothing to sum
  float *lhs, *rhs, *out;
  const float *bias = nullptr, *addend = nullptr;
  float *packedLhs = nullptr, *packedRhs = nullptr, *packedOut = nullptr;
  std::vector<dnnl_memory_t> memories;
  std::vector<dnnl_exec_arg_t> operands;
};

} // namespace honert

#endif // HONERT_CPU_MATMUL_H
