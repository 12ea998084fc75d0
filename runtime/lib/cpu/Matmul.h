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

/// The library's engine and streams, and one primitive per distinct problem.
/// Primitives keep no state: their scratch memory is part of a workspace that
/// is shared by all products of the program, since these run one after another.
class MatmulLibrary {
public:
  explicit MatmulLibrary(const ThreadPool &pool) : pool(pool) {}
  ~MatmulLibrary();
  MatmulLibrary(const MatmulLibrary &) = delete;
  MatmulLibrary &operator=(const MatmulLibrary &) = delete;

  /// Makes `launch` ready to run over the arena at `arena`, the primitives
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

  /// What the library is asked to compute.
  struct Problem {
    int64_t batch, m, n, k;
    MatrixStrides lhs, rhs, out;
    bool bias, accumulate;
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
    const float *lhs, *rhs, *bias;
    float *out;
  };

  Status start();
  Status build(const std::string &name, const Problem &problem,
               Primitive &primitive);
  Status describe(const Problem &problem, Primitive &primitive) const;
  Status lookUp(const std::string &name, const Problem &problem,
                const Primitive *&primitive);
  dnnl_status_t execute(const Call &call, dnnl_stream_t stream,
                        char *scratch) const;

  const ThreadPool &pool;
  DnnlFunctions dnnl;
  dnnl_engine_t engine = nullptr;
  std::vector<dnnl_stream_t> streams; // one per thread
  std::map<Problem, Primitive> primitives;
  int64_t workspace = 0;
};

/// One product of the program: copies, a prefilled output, and library calls.
class Matmul {
public:
  /// Gives the product its workspace (MatmulLibrary::workspaceBytes).
  void bind(char *workspace);
  Status run() const;

private:
  friend class MatmulLibrary;
  using Problem = MatmulLibrary::Problem;
  Matmul(MatmulLibrary &library, std::string name)
      : library(library), name(std::move(name)) {}

  /// A part of the product and where its operands begin, in elements.
  struct Part {
    const MatmulLibrary::Primitive *primitive;
    int64_t lhs, rhs, bias, out;
  };

  enum class Mode {
    together,   ///< calls one after the other, each on all threads
    sideBySide, ///< calls at the same time, each on one thread
    alone       ///< one call on the calling thread: too small to share
  };

  Status choosePlan();
  Status cutSum();
  Status cutOutput();
  Status addPart(const Problem &problem, const Part &place);
  Problem wholeProblem() const;
  int64_t neededBytes() const;
  void prefill(float *out, const MatrixStrides &strides) const;

  MatmulLibrary &library;
  std::string name;
  MatmulLaunch launch;
  MatmulPlan plan;
  Mode mode = Mode::together;
  std::vector<Part> parts;  // empty: nothing to sum
  int64_t scratchBytes = 0; // of one call
  float *lhs, *rhs, *out;
  const float *bias = nullptr, *addend = nullptr;
  float *packedLhs = nullptr, *packedRhs = nullptr, *packedOut = nullptr;
  char *scratch = nullptr;
};

} // namespace honert

#endif // HONERT_CPU_MATMUL_H
