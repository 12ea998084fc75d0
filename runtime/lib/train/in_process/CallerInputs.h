//===- CallerInputs.h - From a caller's tensors to a step's inputs --------===//

#ifndef HONERT_TRAIN_IN_PROCESS_CALLERINPUTS_H
#define HONERT_TRAIN_IN_PROCESS_CALLERINPUTS_H

#include "base/Arena.h"
#include "honert/trainer.h"
#include "program/Parts.h"

namespace honert {

// Devices, as DLPack numbers them.
constexpr int32_t hostDevice = 1, gpuDevice = 2;

/// The inputs of a program, fed from tensors in the caller's memory. They are
/// copied once, from where and as they lie into the arena.
class CallerInputs {
public:
  explicit CallerInputs(const Program &program);

  /// Those of the program, in its order.
  const std::vector<const Argument *> &arguments() const { return inputs; }

  /// Whether `tensors` fit: number, device, types, shapes. They hold
  /// `microBatches` values each, along a first dimension if that is more
  /// than 1.
  Status check(const honert_tensor *const *tensors, int64_t count,
               int64_t microBatches) const;
  /// Writes the values of one of the micro-batches into the arena. Fails where
  /// an id is out of bounds, in the tensor or for the program's type.
  Status load(const honert_tensor *const *tensors, int64_t micro,
              int64_t microBatches, Arena &arena) const;

private:
  Status checkOne(const Argument &argument, const honert_tensor &tensor,
                  int64_t microBatches) const;

  std::vector<const Argument *> inputs;
  std::vector<PartLayout> layouts;
};

/// Sets type and shape of `tensor`, dense and without data; `dims` stays the
/// caller's.
void describeTensor(DType dtype, const Shape &dims, honert_tensor &tensor);

} // namespace honert

#endif // HONERT_TRAIN_IN_PROCESS_CALLERINPUTS_H
