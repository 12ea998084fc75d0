//===- AlgorithmCache.h - Which algorithms were the fastest ---------------===//

#ifndef HONERT_EXEC_CUDA_PRODUCTS_ALGORITHMCACHE_H
#define HONERT_EXEC_CUDA_PRODUCTS_ALGORITHMCACHE_H

#include "exec/cuda/products/Cublas.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace honert {

/// The fastest of some algorithms, and how that is known.
struct TimedAlgorithm {
  cublasLtMatmulAlgo_t algorithm = {};
  int64_t samples = 0; ///< runs that were timed
  double seconds = 0;  ///< median of these
};

/// A line for each problem: its key and its algorithm.
std::string textOf(const std::map<std::string, TimedAlgorithm> &algorithms);
/// What textOf() wrote; lines that are none are left out.
std::map<std::string, TimedAlgorithm> parseAlgorithms(std::string_view text);

/// Algorithms by problem, in a file that later runs read:
/// $XDG_CACHE_HOME/hone/matmul-algorithms (without the variable: ~/.cache).
/// Keys name the library's version and the GPU. The file is only a memory: one
/// that is missing, of another kind or cannot be written costs time, no run.
class AlgorithmCache {
public:
  /// Reads the file; `path` may be empty, for none.
  explicit AlgorithmCache(std::string path);

  std::optional<TimedAlgorithm> find(const std::string &key) const;
  void add(const std::string &key, const TimedAlgorithm &algorithm);
  /// Writes the file whole if something was added, with what others have added
  /// to it meanwhile.
  void save();

  static std::string defaultPath();

private:
  void read();

  std::string path;
  std::map<std::string, TimedAlgorithm> entries;
  bool hasNews = false;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_PRODUCTS_ALGORITHMCACHE_H
