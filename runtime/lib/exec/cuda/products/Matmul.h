//===- Matmul.h - Matrix products by cuBLASLt -----------------------------===//

#ifndef HONERT_EXEC_CUDA_PRODUCTS_MATMUL_H
#define HONERT_EXEC_CUDA_PRODUCTS_MATMUL_H

#include "exec/cuda/core/Device.h"
#include "exec/cuda/products/AlgorithmCache.h"
#include "exec/cuda/products/Autotuner.h"
#include "exec/cuda/products/LibraryProduct.h"
#include "program/ProcessGroup.h"

#include <memory>
#include <vector>

namespace honert {

/// Bytes that an algorithm may use besides: what the library's documentation
/// recommends for Hopper.
constexpr int64_t algorithmBytes = 32 << 20;

/// What all products of a program need of the library's workspace: the
/// algorithms' memory, then vectors of ones for sums and biases that no
/// epilogue may take.
struct MatmulWorkspace {
  int64_t ones32 = 0, ones16 = 0, onesB16 = 0; ///< longest vector of each type
  bool isNeeded = false;
  bool hasCodes = false; ///< products of codes, which older libraries lack

  void add(const MatmulLaunch &launch);
  /// Where the ones of `dtype` begin.
  int64_t onesOffset(DType dtype) const;
  int64_t bytes() const;

private:
  void addOnes(DType dtype, int64_t count);
};

/// How products are computed.
struct MatmulOptions {
  bool tf32 = false;          ///< operands in f32 are rounded to TF32
  bool deterministic = false; ///< the first algorithm without split sums
};

class MatmulDescriptors;

/// A product as it is enqueued.
struct MatmulCalls {
  std::vector<std::unique_ptr<MatmulDescriptors>> products;
  /// The launch's kernel does the activation, after the first product.
  bool needsActivation = false;
};

/// The library, the workspace, and an algorithm per distinct problem: that of
/// the cache file, or the fastest that the library proposes, or the first.
class MatmulLaunches {
public:
  MatmulLaunches(const Device &device, MatmulOptions options);
  ~MatmulLaunches();
  MatmulLaunches(const MatmulLaunches &) = delete;
  MatmulLaunches &operator=(const MatmulLaunches &) = delete;

  /// Opens the library and fills the workspace.
  Status start(const MatmulWorkspace &needed);
  /// Makes a product ready to be enqueued, for `processors` multiprocessors of
  /// the GPU (0: all). Its operands and results in `arena` are overwritten
  /// where algorithms are timed: to be called before anything is kept there.
  Status prepare(const std::string &name, const MatmulLaunch &launch,
                 int64_t processors, const DeviceMemory &arena,
                 MatmulCalls &calls);
  /// Ranks that measure alone choose different algorithms, whose sums round
  /// differently: what they all compute would part. Those of rank `roots[0]`
  /// hold for all, then of what it does not multiply those of roots[1], and so
  /// on. Called by all, after the last prepare().
  Status agree(ProcessGroup &world, const std::vector<int64_t> &roots);
  /// Gives prepared products the algorithms of agree().
  void adopt(MatmulCalls &calls) const;
  /// Runs one product by the first algorithm that the library proposes, and
  /// waits for it; `isKnown`: there is one.
  Status attempt(const LibraryProduct &product, const DeviceMemory &arena,
                 bool &isKnown);
  /// Puts a product on the device's stream, or on one beside it, for which
  /// startBeside() has been called: calls that share a workspace have an order.
  Status enqueue(const MatmulDescriptors &call) const {
    return enqueue(call, device.stream(), workspace);
  }
  Status startBeside();
  Status enqueueBeside(const MatmulDescriptors &call, CUstream stream) const {
    return enqueue(call, stream, besideWorkspace);
  }
  /// To be called after the last prepare() and agree(): tells the cache file
  /// what was found, and frees what that took.
  void finish();

  std::string versionText() const;
  bool roundsToTf32() const { return options.tf32; }

private:
  friend class MatmulDescriptors;

  Status enqueue(const MatmulDescriptors &call, CUstream stream,
                 const DeviceMemory &algorithms) const;
  Status fillOnes();
  Status prepareAll(const std::string &name,
                    const std::vector<LibraryProduct> &products,
                    const DeviceMemory &arena, MatmulCalls &calls,
                    bool &isKnown);
  /// Gives the product its algorithm; `isKnown`: the library has one.
  Status choose(MatmulDescriptors &call, bool &isKnown);
  std::string lacks(const MatmulDescriptors &call) const;
  void tellOfFallback(const MatmulDescriptors &call);
  Status askHeuristic(const MatmulDescriptors &call, int requested,
                      std::vector<cublasLtMatmulAlgo_t> &algorithms);
  Status startTuner();
  /// The fastest of some algorithms.
  Status tune(MatmulDescriptors &call,
              const std::vector<cublasLtMatmulAlgo_t> &algorithms,
              TimedAlgorithm &fastest);
  bool takeCached(const MatmulDescriptors &call, const std::string &key,
                  TimedAlgorithm &algorithm);
  Status find(MatmulDescriptors &call, const std::string &key,
              TimedAlgorithm &algorithm, bool &isKnown);
  void remember(const std::map<std::string, TimedAlgorithm> &algorithms);
  std::string keyOf(const MatmulDescriptors &call) const;

  const Device &device;
  MatmulOptions options;
  CublasFunctions library;
  cublasLtHandle_t handle = nullptr;
  MatmulWorkspace sizes;
  DeviceMemory workspace, besideWorkspace;
  AlgorithmCache cache;
  std::unique_ptr<Autotuner> tuner; ///< from the first timing to finish()
  std::map<std::string, TimedAlgorithm> chosen; ///< in this run
  bool hasToldOfFallback = false;
};

/// One product as the library knows it.
class MatmulDescriptors {
public:
  explicit MatmulDescriptors(const CublasFunctions &library)
      : library(library) {}
  ~MatmulDescriptors();
  MatmulDescriptors(const MatmulDescriptors &) = delete;
  MatmulDescriptors &operator=(const MatmulDescriptors &) = delete;

  Status create(const std::string &name, const LibraryProduct &product,
                const MatmulLaunches &owner, const DeviceMemory &arena);

private:
  friend class MatmulLaunches;

  Status check(cublasStatus_t status, const char *what) const;
  Status createLayout(const LibraryMatrix &matrix, int64_t batch,
                      cublasLtMatrixLayout_t &layout);
  Status setEpilogue(const LibraryProduct &product, const DeviceMemory &arena);
  Status setScales(const LibraryProduct &product, const DeviceMemory &arena);
  void noteOperands(const LibraryProduct &product, const DeviceMemory &arena);

  const CublasFunctions &library;
  std::string name, problem;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t layouts[4] = {}; ///< of a, b, c and d
  /// Of a, b, c and d, of the vector and of aux; 0: none.
  CUdeviceptr addresses[6] = {};
  float beta = 0;
  std::vector<ReadOperand> operands; ///< those in the arena
  int64_t bytes = 0;                 ///< of operands and result
  cublasLtMatmulAlgo_t algorithm = {};
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_PRODUCTS_MATMUL_H
