//===- Autotuner.h - Times the algorithms of a product --------------------===//
//
// Algorithms are compared as a training step runs them: operands hold random
// numbers, clocks are up, and the cache (L2) holds what other kernels used.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_EXEC_CUDA_PRODUCTS_AUTOTUNER_H
#define HONERT_EXEC_CUDA_PRODUCTS_AUTOTUNER_H

#include "base/Types.h"
#include "exec/cuda/core/Device.h"
#include "exec/cuda/products/AlgorithmCache.h"

#include <functional>
#include <map>
#include <vector>

namespace honert {

/// Memory that a product reads, and the type of its elements.
struct ReadOperand {
  DType dtype;
  CUdeviceptr address;
  int64_t bytes;
};

/// A product to be timed.
struct TunedProduct {
  std::vector<ReadOperand> operands; ///< which are overwritten
  int64_t bytes;                     ///< of these and of the result
  /// Puts it on the device's stream.
  std::function<Status(const cublasLtMatmulAlgo_t &)> enqueue;
};

/// Finds the fastest algorithm for the products of a program. Needed only while
/// the program starts: it holds memory of twice the L2, if there is room.
class Autotuner {
public:
  explicit Autotuner(const Device &device) : device(device) {}

  Status start();
  /// How many algorithms to ask the library for.
  int candidates() const;
  /// Times `algorithms`: one at least, candidates() at most. Errors: none runs,
  /// the GPU has failed.
  Status choose(const TunedProduct &product,
                const std::vector<cublasLtMatmulAlgo_t> &algorithms,
                TimedAlgorithm &fastest);

private:
  struct Candidate;

  bool isLate() const;
  Status fill(const ReadOperand &operand);
  const std::vector<char> &patternOf(DType dtype);
  Status runEach(const TunedProduct &product,
                 std::vector<Candidate> &candidates);
  Status warmUp(const TunedProduct &product,
                const cublasLtMatmulAlgo_t &algorithm);
  Status evict(const TunedProduct &product);
  Status timeRound(const TunedProduct &product,
                   std::vector<Candidate> &candidates);
  Status timeRounds(const TunedProduct &product,
                    std::vector<Candidate> &candidates);

  const Device &device;
  int64_t l2Bytes = 0;
  DeviceMemory others; ///< written in place of what other kernels write
  std::vector<DeviceEvent> events; ///< before and after each candidate
  std::map<DType, std::vector<char>> patterns;
  double warmSeconds = 0, spentSeconds = 0; ///< by the GPU's clock
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_PRODUCTS_AUTOTUNER_H
