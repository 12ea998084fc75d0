//===- Comparison.h - Each launch of a GPU beside the host's ----*- C++ -*-===//

#ifndef HONERT_EXEC_CUDA_COMPARE_COMPARISON_H
#define HONERT_EXEC_CUDA_COMPARE_COMPARISON_H

#include "base/Arena.h"
#include "exec/cuda/compare/Reference.h"
#include "exec/cuda/core/Device.h"

#include <map>

namespace honert {

/// Compares what launches write on a GPU with what they write on the host
/// (--compare-launches). Both begin with the same bytes of the arena, so that
/// the first launch that differs is the one that is wrong.
///
/// After start(), per function: begin(); per launch expect(), the launch
/// itself, check(); then end(). The main stream is idle in each of these calls.
class LaunchComparison {
public:
  LaunchComparison(const Program &program, const Device &device,
                   const DeviceMemory &arena, const char *hostArena,
                   bool roundsToTf32, const ThreadPool &pool,
                   ProcessGroup *world);

  Status start();
  Status begin(const Function &function);
  Status expect(const Launch &launch);
  /// Errors: an element that differs, with its kernel, source line, tensor,
  /// index and both values; bytes that changed outside of what the launch
  /// writes.
  Status check(const Launch &launch);
  Status end();

  /// "launches as the host's: 97, of these bit for bit: 61"
  std::string summary() const;

private:
  using Tensors = std::vector<Expected>;

  Status download(int64_t offset, int64_t bytes, char *to) const;
  void beginCopy(const CopyLaunch &copy);
  Status checkCopies(const Launch &launch, int64_t token);
  Status compare(const Launch &launch, const Expected &expected);
  void take(const Expected &expected);
  Status checkRest(const std::string &who);
  std::string nameOf(const Expected &expected, int64_t element) const;
  std::string whoOf(const Launch &launch) const;

  const Program &program;
  const Device &device;
  const DeviceMemory &arena;
  const char *const hostArena; ///< the second arena, if there is one
  LaunchReference reference;
  Arena mirror; ///< what the arena should hold
  std::vector<char> actual;
  const Function *function = nullptr;
  size_t number = 0;                ///< of the launch in its function, from 1
  Tensors written;                  ///< by the launch
  std::map<int64_t, Tensors> begun; ///< by collectives, by token
  std::map<int64_t, std::vector<CopyLaunch>> copies; ///< begun, by token
  int64_t equal = 0, close = 0, taken = 0;           ///< launches
  double worst = 0;     ///< of differences, as a share of what is allowed
  std::string worstWho; ///< its launch
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_COMPARE_COMPARISON_H
