//===- DividedModel.h - One model on any mesh -----------------------------===//
//
// What a compiled object for several ranks describes, written by hand: every
// kind of state in every kind of division. With the axes that a mesh does not
// have, the divisions along them go, so that one description serves all meshes.
//
//===----------------------------------------------------------------------===//

#ifndef TEST_UNIT_RUNTIME_DIVIDEDMODEL_H
#define TEST_UNIT_RUNTIME_DIVIDEDMODEL_H

#include "support/Describe.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace test {

/// Axes of a mesh with their sizes, the slowest first.
using MeshSizes = std::vector<std::pair<std::string, int64_t>>;

/// "dp=2,tp=2"
std::string textOf(const MeshSizes &mesh);

/// A tensor of all ranks and along which axes its dimensions are divided.
struct DividedTensor {
  int64_t kind;
  const char *fqn;
  honert::DType dtype;
  std::vector<int64_t> whole;
  /// By dimension: axes, and cuts.
  std::vector<std::pair<std::vector<const char *>, std::vector<int64_t>>>
      divisions;

  /// Shape of a rank's part.
  std::vector<int64_t> localIn(const MeshSizes &mesh) const;
};

/// Describes `tensor` at `offset`; returns the bytes that a rank has of it.
int64_t describe(const DividedTensor &tensor, const MeshSizes &mesh,
                 int64_t offset, honert_program *program);

/// State only: packed and padded parameters, their moments, constants.
ProgramPtr dividedState(const MeshSizes &mesh);

/// A model that trains, whose weights have the same bits on every mesh: the
/// tokens of all ranks are summed exactly, and every element moves by itself.
/// Weight [8, 12], tokens [8, 6]. Axis dp divides rows of tokens and of the
/// moment (as in ZeRO-1), tp columns of both matrices, with a cut.
struct DividedModel {
  MeshSizes mesh;
  int64_t microBatches = 1; ///< more: accumulate and update
  /// What one rank does at the end of each step, or micro-batch, with what it
  /// has of the weight.
  int64_t actingRank = -1;
  bool actsInMicroBatches = false;
  std::function<void(int64_t step, float *weight)> action;
};
void describe(const DividedModel &model, honert_program *program);
ProgramPtr describe(const DividedModel &model);

} // namespace test

#endif // TEST_UNIT_RUNTIME_DIVIDEDMODEL_H
