//===- Branches.h - Products beside the launches behind them ----*- C++ -*-===//

#ifndef HONERT_EXEC_CUDA_BRANCHES_H
#define HONERT_EXEC_CUDA_BRANCHES_H

#include "exec/cuda/core/Device.h"
#include "program/Program.h"

#include <map>
#include <optional>
#include <vector>

namespace honert {

/// Which products of a function run on a stream of their own, and before which
/// launch of the main stream each has to be done.
///
/// A product may run beside the launches behind it up to the first that touches
/// what it writes, or writes what it reads: the plan of the arena has put them
/// in an order, so this is known from ranges of bytes. It is worth a branch if
/// there is a launch in between, as behind the product of a weight's gradient;
/// a product that the next launch reads stays where it is.
struct BranchPlan {
  static constexpr size_t never = SIZE_MAX;

  explicit BranchPlan(const Function &function);

  bool isBeside(size_t launch) const { return joins.count(launch) != 0; }

  /// Of each product beside others, the launch that waits for it, or the number
  /// of launches: the end of the function.
  std::map<size_t, size_t> joins;
  /// By launch, the last product that it waits for; `never`: none.
  std::vector<size_t> awaited;
};

/// The same on a device: a stream, and an event at the end of each product that
/// is on it. Products there are in order, so that waiting for one waits for
/// those before it.
class Branches {
public:
  ~Branches();

  /// Makes the stream.
  Status start(const Device &device);
  Status add(const Function &function);
  bool isStarted() const { return side != nullptr; }
  /// Products beside others, of all functions.
  size_t count() const { return products; }

  bool isBeside(const Function &function, size_t launch) const;
  CUstream stream() const { return side; }
  /// The product of a launch comes after what is on the main stream.
  Status fork() const;
  /// It has been put on the stream.
  Status end(const Function &function, size_t launch) const;
  /// The main stream waits for the products that launch needs; the number of
  /// launches: for all that are left.
  Status join(const Function &function, size_t launch) const;

private:
  struct Known {
    BranchPlan plan;
    std::map<size_t, DeviceEvent> done; ///< by launch
  };

  const Device *device = nullptr;
  CUstream side = nullptr;
  DeviceEvent ready;
  std::map<const Function *, Known> functions;
  size_t products = 0;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_BRANCHES_H
