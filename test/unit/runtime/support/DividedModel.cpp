//===- DividedModel.cpp - One model on any mesh ---------------------------===//

#include "support/DividedModel.h"

#include <algorithm>

using namespace honert;
using namespace test;

static int64_t sizeOf(const MeshSizes &mesh, const std::string &axis) {
  for (const auto &[name, size] : mesh)
    if (name == axis)
      return size;
  return 1;
}

std::string test::textOf(const MeshSizes &mesh) {
  std::string text;
  for (const auto &[name, size] : mesh)
    text += (text.empty() ? "" : ",") + name + "=" + std::to_string(size);
  return text;
}

std::vector<int64_t> DividedTensor::localIn(const MeshSizes &mesh) const {
  std::vector<int64_t> dims = whole;
  for (size_t dim = 0; dim != divisions.size(); ++dim)
    for (const char *axis : divisions[dim].first)
      dims[dim] /= sizeOf(mesh, axis);
  return dims;
}

int64_t test::describe(const DividedTensor &tensor, const MeshSizes &mesh,
                       int64_t offset, honert_program *program) {
  std::vector<int64_t> dims = tensor.localIn(mesh);
  auto rank = int64_t(dims.size());
  honert_argument(program, tensor.kind, tensor.fqn, int64_t(tensor.dtype), rank,
                  dims.data(), offset);
  honert_argument_whole(program, rank, tensor.whole.data());
  for (size_t dim = 0; dim != tensor.divisions.size(); ++dim) {
    const auto &[names, cuts] = tensor.divisions[dim];
    std::vector<int64_t> axes;
    for (const char *name : names)
      for (size_t axis = 0; axis != mesh.size(); ++axis)
        if (mesh[axis].first == name)
          axes.push_back(int64_t(axis));
    if (!axes.empty())
      honert_argument_division(program, int64_t(dim), int64_t(axes.size()),
                               axes.data(), int64_t(cuts.size()), cuts.data(),
                               /*snake=*/0);
  }
  return *byteCount(tensor.dtype, dims);
}

static void describeMesh(const MeshSizes &mesh, honert_program *program) {
  honert_meta(program, "model", "divided");
  honert_meta(program, "fingerprint", "divided");
  for (const auto &[name, size] : mesh)
    honert_mesh_axis(program, name.c_str(), size, "");
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

ProgramPtr test::dividedState(const MeshSizes &mesh) {
  enum { param, buffer, opt };
  enum { none, constant, normal, uniform };
  static const std::vector<char> mask = {1, 0, 0, 0, 1, 1, 0, 0,
                                         1, 1, 1, 0, 1, 1, 1, 1};
  ProgramPtr made = makeProgram();
  honert_program *program = made.get();
  describeMesh(mesh, program);
  Layout layout;
  auto add = [&](const DividedTensor &tensor) {
    int64_t offset = layout.take(*byteCount(tensor.dtype, tensor.whole));
    describe(tensor, mesh, offset, program);
  };
  auto part = [&](const char *fqn, std::vector<int64_t> offset,
                  std::vector<int64_t> shape) {
    honert_argument_part(program, fqn, 2, offset.data(), shape.data());
  };
  // Two matrices of 5 columns, one below the other, padded to 6.
  add({param, "qk", DType::f32, {8, 6}, {{{"a"}, {4}}, {{"b"}, {}}}});
  part("q", {0, 0}, {4, 5});
  part("k", {4, 0}, {3, 5});
  honert_argument_init(program, normal, 0, 1, "");
  add({param, "table", DType::f32, {24, 4}, {{{"b", "a"}, {}}}});
  honert_argument_init(program, normal, 0, 0.02, "head");
  // As ZeRO-1 has them: a parameter in parts, its copy whole on each rank.
  add({param, "master", DType::f32, {8, 5}, {{{"a"}, {}}}});
  honert_argument_init(program, normal, 0, 1, "");
  add({7, "master", DType::bf16, {8, 5}, {}});
  add({param, "norm", DType::bf16, {6}, {}});
  honert_argument_init(program, uniform, -1, 1, "");
  add({param, "wide", DType::f64, {4, 6}, {{{}, {}}, {{"c"}, {2}}}});
  honert_argument_init(program, normal, 0, 1, "");
  add({buffer, "mask", DType::i1, {4, 4}, {{{}, {}}, {{"a"}, {}}}});
  honert_argument_data(program, mask.data(), 16);
  add({buffer, "mean", DType::f32, {8}, {{{"a", "c"}, {}}}});
  honert_argument_init(program, constant, 0.5, 0, "");
  add({opt, "exp_avg.table", DType::f32, {24, 4}, {{{"c", "b", "a"}, {}}}});
  honert_argument_init(program, uniform, 0, 1, "");
  add({opt, "exp_avg.norm", DType::f32, {6}, {{{"b"}, {}}}});
  honert_argument_init(program, uniform, 0, 1, "");
  add({opt, "seen", DType::i64, {}, {}});
  honert_argument_init(program, constant, 7, 0, "");
  honert_arena(program, layout.bytes());
  return made;
}

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

/// buffers: ids, sum. Adds the ids, exactly: all are small.
static void sumIds(void *const *buffers, int64_t lo, int64_t hi) {
  auto *ids = static_cast<const int64_t *>(buffers[0]);
  for (int64_t i = lo; i < hi; ++i)
    *static_cast<float *>(buffers[1]) += static_cast<float>(ids[i]);
}

/// buffers: ids, gradient. Adds a rank's term, a small integer.
static void addFirstId(void *const *buffers, int64_t lo, int64_t hi) {
  auto *ids = static_cast<const int64_t *>(buffers[0]);
  for (int64_t i = lo; i < hi; ++i)
    static_cast<float *>(buffers[1])[i] += static_cast<float>(ids[0]);
}

/// buffers: sum, loss. Adds.
static void addLoss(void *const *buffers, int64_t, int64_t) {
  *static_cast<float *>(buffers[1]) +=
      *static_cast<const float *>(buffers[0]) / 1024;
}

/// buffers: values, loss, lr, rng. Items: elements.
static void move(void *const *buffers, int64_t lo, int64_t hi) {
  auto *values = static_cast<float *>(buffers[0]);
  auto *loss = static_cast<const float *>(buffers[1]);
  auto *rate = static_cast<const float *>(buffers[2]);
  auto *key = static_cast<const int64_t *>(buffers[3]);
  for (int64_t i = lo; i < hi; ++i)
    values[i] += *rate * (*loss - values[i]) +
                 static_cast<float>(key[0] + key[1]) * 0x1p-10f;
}

// What one rank does, if anything.
static DividedModel acting;

/// buffers: own rank, rng, weight.
static void act(void *const *buffers, int64_t, int64_t) {
  auto *rank = static_cast<const int64_t *>(buffers[0]);
  auto *key = static_cast<const int64_t *>(buffers[1]);
  if (*rank == acting.actingRank)
    acting.action(key[1], static_cast<float *>(buffers[2]));
}

namespace {
class ModelDescriber {
public:
  ModelDescriber(const DividedModel &model, honert_program *program)
      : model(model), program(program) {}

  void run() {
    honert_meta_number(program, "abi", HONERT_ABI);
    honert_meta_number(program, "micro_batches", double(model.microBatches));
    honert_meta_number(program, "lr", 0.125);
    honert_meta_number(program, "flops_per_step", 1e6);
    add(weight, {0, "w", DType::f32, {8, 12}, {{{}, {}}, {{"tp"}, {4}}}});
    honert_argument_init(program, 2, 0, 1, "");
    add(moment,
        {2, "exp_avg.w", DType::f32, {8, 12}, {{{"dp"}, {}}, {{"tp"}, {4}}}});
    add(tokens, {4, "tokens", DType::i64, {8, 6}, {{{"dp"}, {}}}});
    honert_argument_role(program, 1, 32);
    add(targets, {4, "targets", DType::i64, {8, 6}, {{{"dp"}, {}}}});
    honert_argument_role(program, 2, 32);
    add(rng, {5, "rng", DType::i64, {3}, {}});
    add(rate, {6, "lr", DType::f32, {}, {}});
    if (model.microBatches > 1) {
      add(gradient, {3, "w", DType::f32, {8, 12}, {{{}, {}}, {{"tp"}, {4}}}});
      if (std::vector<int64_t> axes = axesCalled("dp"); !axes.empty())
        honert_argument_partial(program, 1, axes.data());
      add(loss, {6, "loss", DType::f32, {}, {}});
    } else
      loss = layout.take(4);
    own = layout.take(8), sum = layout.take(4), evaluated = layout.take(4);
    functions();
    honert_arena(program, layout.bytes());
  }

private:
  void add(int64_t &offset, const DividedTensor &tensor) {
    offset = layout.take(*byteCount(tensor.dtype, tensor.whole));
    describe(tensor, model.mesh, offset, program);
  }
  int64_t countOf(const char *fqn) {
    for (const Argument &argument : program->arguments)
      if (argument.fqn == fqn)
        return *elementCount(argument.dims);
    return 0;
  }
  void launch(const char *name, honert_kernel kernel, int64_t items,
              std::vector<int64_t> offsets) {
    honert_launch(program, name, "", kernel, items, items,
                  int64_t(offsets.size()), offsets.data());
  }
  std::vector<int64_t> axes() const {
    std::vector<int64_t> all;
    for (size_t axis = 0; axis != model.mesh.size(); ++axis)
      all.push_back(int64_t(axis));
    return all;
  }
  std::vector<int64_t> axesCalled(const std::string &name) const {
    std::vector<int64_t> found;
    for (size_t axis = 0; axis != model.mesh.size(); ++axis)
      if (model.mesh[axis].first == name)
        found.push_back(int64_t(axis));
    return found;
  }
  void result(const char *name, const char *like, int64_t offset) {
    std::vector<int64_t> dims;
    for (const Argument &argument : program->arguments)
      if (argument.fqn == like)
        dims = argument.dims;
    honert_result(program, name, 0, int64_t(dims.size()), dims.data(), offset);
  }

  void forwardTo(int64_t target) {
    honert_zero(program, sum, 4);
    for (int64_t ids : {tokens, targets})
      launch("sum", sumIds, countOf("tokens"), {ids, sum});
    if (std::vector<int64_t> axes = axesCalled("dp"); !axes.empty())
      honert_collective(program, "sum", "", /*all_reduce*/ 0, /*sum*/ 0, 0,
                        /*f32*/ 0, 1, 1, axes.data(), sum, sum, -1);
    launch("loss", addLoss, 1, {sum, target});
  }
  void addAct() {
    std::vector<int64_t> all = axes();
    honert_coordinate(program, int64_t(all.size()), all.data(), own);
    launch("act", act, 1, {own, rng, weight});
  }
  void update() {
    launch("weight", move, countOf("w"), {weight, loss, rate, rng});
    launch("moment", move, countOf("exp_avg.w"), {moment, loss, rate, rng});
    if (!model.actsInMicroBatches)
      addAct();
    if (model.microBatches == 1)
      result("grad.w", "w", weight);
  }
  void functions() {
    if (model.microBatches > 1) {
      honert_function(program, "accumulate");
      launch("gradient", addFirstId, countOf("w"), {tokens, gradient});
      forwardTo(loss);
      if (model.actsInMicroBatches)
        addAct();
      honert_function(program, "update");
      update();
    } else {
      honert_function(program, "step");
      honert_zero(program, loss, 4);
      forwardTo(loss);
      update();
      result("loss", "", loss);
    }
    honert_function(program, "evaluate");
    honert_zero(program, evaluated, 4);
    forwardTo(evaluated);
    result("loss", "", evaluated);
  }

  const DividedModel &model;
  honert_program *program;
  Layout layout;
  int64_t weight, moment, gradient, tokens, targets, rng, rate, loss, own, sum,
      evaluated;
};
} // namespace

void test::describe(const DividedModel &model, honert_program *program) {
  acting = model;
  describeMesh(model.mesh, program);
  ModelDescriber(model, program).run();
}

ProgramPtr test::describe(const DividedModel &model) {
  ProgramPtr program = makeProgram();
  describe(model, program.get());
  return program;
}
