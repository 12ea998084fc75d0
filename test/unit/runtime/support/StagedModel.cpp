//===- StagedModel.cpp - One model in stages or not -----------------------===//

#include "support/StagedModel.h"
#include "program/Stages.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <deque>

using namespace honert;
using namespace test;

static constexpr int64_t D = StagedModel::features;

//===----------------------------------------------------------------------===//
// Kernels, each over positions or elements in one range
//===----------------------------------------------------------------------===//

static float *floats(void *buffer) { return static_cast<float *>(buffer); }
static int64_t *numbers(void *buffer) { return static_cast<int64_t *>(buffer); }

/// buffers: table, tokens, result. Items: positions.
static void embed(void *const *buffers, int64_t lo, int64_t hi) {
  for (int64_t i = lo * D; i < hi * D; ++i)
    floats(buffers[2])[i] =
        floats(buffers[0])[numbers(buffers[1])[i / D] * D + i % D];
}

/// buffers: from, to. Items: positions.
static void copy(void *const *buffers, int64_t lo, int64_t hi) {
  std::copy(floats(buffers[0]) + lo * D, floats(buffers[0]) + hi * D,
            floats(buffers[1]) + lo * D);
}

/// buffers: input, weight, rng, result. Items: positions.
static void layer(void *const *buffers, int64_t lo, int64_t hi) {
  const int64_t *key = numbers(buffers[2]);
  float noise = static_cast<float>(key[1] + 3 * key[2]) * 0x1p-8f;
  for (int64_t i = lo * D; i < hi * D; ++i)
    floats(buffers[3])[i] =
        floats(buffers[0])[i] * floats(buffers[1])[i % D] + noise;
}

static float expectedOf(const int64_t *targets, const float *table, int64_t i) {
  float expected = static_cast<float>(targets[i / D]) / 32;
  return table ? expected + table[i] : expected;
}

/// buffers: input, targets, loss, and perhaps a table. Adds.
static void addLoss(void *const *buffers, int64_t lo, int64_t hi) {
  float sum = 0;
  for (int64_t i = lo * D; i < hi * D; ++i) {
    float off = floats(buffers[0])[i] -
                expectedOf(numbers(buffers[1]), floats(buffers[3]), i);
    sum += off * off;
  }
  *floats(buffers[2]) += sum / 64;
}

/// buffers: input, targets, gradient, table.
static void lossGradient(void *const *buffers, int64_t lo, int64_t hi) {
  for (int64_t i = lo * D; i < hi * D; ++i)
    floats(buffers[2])[i] =
        (floats(buffers[0])[i] -
         expectedOf(numbers(buffers[1]), floats(buffers[3]), i)) /
        32;
}

/// buffers: gradient of the result, input, weight, gradient of the weight,
/// gradient of the input. Adds to that of the weight.
static void layerGradient(void *const *buffers, int64_t lo, int64_t hi) {
  for (int64_t i = lo * D; i < hi * D; ++i) {
    floats(buffers[3])[i % D] += floats(buffers[0])[i] * floats(buffers[1])[i];
    floats(buffers[4])[i] = floats(buffers[0])[i] * floats(buffers[2])[i % D];
  }
}

/// buffers: gradient of the result, tokens, gradient of the table. Adds.
static void embedGradient(void *const *buffers, int64_t lo, int64_t hi) {
  for (int64_t i = lo * D; i < hi * D; ++i)
    floats(buffers[2])[numbers(buffers[1])[i / D] * D + i % D] +=
        floats(buffers[0])[i];
}

/// buffers: gradient, norm. The norm is the largest element: it does not depend
/// on an order.
static void raiseNorm(void *const *buffers, int64_t lo, int64_t hi) {
  for (int64_t i = lo; i < hi; ++i)
    *floats(buffers[1]) =
        std::max(*floats(buffers[1]), std::abs(floats(buffers[0])[i]));
}

/// buffers: weight, gradient, moment, rate, rng.
static void move(void *const *buffers, int64_t lo, int64_t hi) {
  float noise = static_cast<float>(numbers(buffers[4])[2]) * 0x1p-12f;
  for (int64_t i = lo; i < hi; ++i) {
    float &moment = floats(buffers[2])[i];
    moment = 0.5f * moment + floats(buffers[1])[i];
    floats(buffers[0])[i] -= *floats(buffers[3]) * moment + noise;
  }
}

/// buffers: updates.
static void count(void *const *buffers, int64_t, int64_t) {
  ++*numbers(buffers[0]);
}

static int64_t sleepingRank;

/// buffers: own rank.
static void sleepIfOwn(void *const *buffers, int64_t, int64_t) {
  timespec time = {60, 0};
  if (*numbers(buffers[0]) == sleepingRank)
    nanosleep(&time, nullptr);
}

//===----------------------------------------------------------------------===//
// The description
//===----------------------------------------------------------------------===//

namespace {

/// One stage, or the model without stages.
class StageDescriber {
public:
  StageDescriber(const StagedModel &model, int64_t stage,
                 honert_program *program)
      : model(model), stage(stage), stages(std::max<int64_t>(model.stages, 1)),
        program(program) {
    begin = firstLayer(stage);
    end = firstLayer(stage + 1);
    positions = model.rows * model.columns / model.dp;
  }

  void run() {
    arguments();
    honert_function(program, model.stages ? "forward" : "accumulate");
    forward(loss);
    if (model.stages)
      honert_function(program, "backward");
    backward();
    update();
    honert_function(program, "evaluate");
    honert_zero(program, evaluated, 4);
    forward(evaluated);
    if (isLast())
      honert_result(program, "loss", 0, 0, nullptr, evaluated);
    honert_arena(program, layout.bytes());
    if (model.stages)
      lists();
  }

private:
  bool isFirst() const { return stage == 0; }
  bool isLast() const { return stage + 1 == stages; }
  int64_t firstLayer(int64_t of) const {
    return of * StagedModel::layers / stages;
  }

  int64_t argument(Kind kind, const std::string &fqn, DType dtype,
                   std::vector<int64_t> dims, int64_t instances = 1) {
    int64_t bytes = *byteCount(dtype, dims), offset = layout.take(bytes);
    for (int64_t i = 1; i < instances; ++i)
      layout.take(bytes);
    honert_argument(program, int64_t(kind), fqn.c_str(), int64_t(dtype),
                    int64_t(dims.size()), dims.data(), offset);
    if (instances > 1)
      honert_argument_window(program, instances);
    return offset;
  }
  /// A parameter with gradient and moment.
  void weight(const std::string &name, std::vector<int64_t> dims) {
    Weight added;
    added.count = *elementCount(dims);
    added.value = argument(Kind::param, name, DType::f32, dims);
    honert_argument_init(program, /*uniform=*/3, 0.5, 1, "");
    added.moment = argument(Kind::opt, "exp_avg." + name, DType::f32, dims);
    honert_argument_init(program, /*constant=*/1, 0, 0, "");
    added.gradient = argument(Kind::grad, name, DType::f32, dims);
    if (model.dp > 1) {
      std::vector<int64_t> axes = axesCalled("dp");
      honert_argument_partial(program, 1, axes.data());
    }
    weights.push_back(added);
  }
  int64_t ids(const char *name, Role role) {
    int64_t local[] = {model.rows / model.dp, model.columns};
    int64_t whole[] = {model.rows, model.columns};
    int64_t offset =
        argument(Kind::input, name, DType::i64, {local[0], local[1]});
    if (model.dp > 1) {
      std::vector<int64_t> axes = axesCalled("dp");
      honert_argument_whole(program, 2, whole);
      honert_argument_division(program, 0, 1, axes.data(), 0, nullptr,
                               /*snake=*/0);
    }
    honert_argument_role(program, int64_t(role), StagedModel::vocab);
    return offset;
  }

  void arguments() {
    std::vector<int64_t> values = {positions, D};
    if (isFirst())
      weight("table", {StagedModel::vocab, D});
    for (int64_t i = begin; i != end; ++i)
      weight("w" + std::to_string(i), {D});
    updates = argument(Kind::opt, "updates", DType::i64, {});
    honert_argument_init(program, /*constant=*/1, 0, 0, "");
    if (isFirst())
      tokens = ids("tokens", Role::tokens);
    if (isLast())
      targets = ids("targets", Role::targets);
    rng = argument(Kind::rng, "rng", DType::i64, {3});
    rate = argument(Kind::scalar, "lr", DType::f32, {});
    loss = argument(Kind::scalar, "loss", DType::f32, {});
    if (model.isTied && isLast())
      table = isFirst() ? weights.front().value
                        : argument(Kind::workingCopy, "table", DType::f32,
                                   {StagedModel::vocab, D});
    // Inputs of layers, kept for the backward part.
    int64_t kept = model.isGpipe ? model.microBatches : stages - stage;
    for (int64_t i = begin; i <= end; ++i)
      saved.push_back(model.stages ? argument(Kind::saved, saveName(i),
                                              DType::f32, values, kept)
                                   : layout.take(positions * D * 4));
    auto boundary = [&](const std::string &name) {
      return argument(Kind::boundary, name, DType::f32, values,
                      model.boundaries);
    };
    if (!isFirst()) {
      valueIn = boundary(valueName(begin));
      gradientOut = boundary(gradientName(begin));
    }
    if (!isLast()) {
      valueOut = boundary(valueName(end));
      gradientIn = boundary(gradientName(end));
    }
    for (int64_t &scratch : gradients)
      scratch = layout.take(positions * D * 4);
    none = layout.take(positions * D * 4);
    norm = layout.take(4), evaluated = layout.take(4), own = layout.take(8);
  }
  static std::string saveName(int64_t i) { return "x" + std::to_string(i); }
  static std::string valueName(int64_t i) { return "h" + std::to_string(i); }
  static std::string gradientName(int64_t i) { return "g" + std::to_string(i); }

  void launch(const char *name, honert_kernel kernel, int64_t items,
              std::vector<int64_t> offsets) {
    honert_launch(program, name, "", kernel, items, items,
                  int64_t(offsets.size()), offsets.data());
  }
  std::vector<int64_t> axesCalled(const std::string &name) const {
    for (size_t axis = 0; axis != program->mesh.axes.size(); ++axis)
      if (program->mesh.axes[axis].name == name)
        return {int64_t(axis)};
    return {};
  }
  void combine(ReduceKind kind, const std::vector<int64_t> &axes, int64_t at,
               int64_t elements) {
    if (!axes.empty())
      honert_collective(program, "all", "", /*all_reduce=*/0, int64_t(kind), 0,
                        /*f32=*/0, elements, int64_t(axes.size()), axes.data(),
                        at, at, -1);
  }
  /// What is added to the targets: the first rows of the table, or zeros.
  int64_t addend() const { return model.isTied ? table : none; }

  void forward(int64_t sum) {
    if (isFirst())
      launch("embed", embed, positions,
             {weights.front().value, tokens, saved.front()});
    else
      launch("copy", copy, positions, {valueIn, saved.front()});
    for (int64_t i = begin; i != end; ++i)
      launch(
          "layer", layer, positions,
          {saved[i - begin], layerWeight(i).value, rng, saved[i - begin + 1]});
    if (!isLast())
      return launch("copy", copy, positions, {saved.back(), valueOut});
    honert_zero(program, none, positions * D * 4);
    launch("loss", addLoss, positions, {saved.back(), targets, sum, addend()});
  }
  void backward() {
    if (model.sleepingRank >= 0) {
      std::vector<int64_t> all;
      for (size_t axis = 0; axis != program->mesh.axes.size(); ++axis)
        all.push_back(int64_t(axis));
      honert_coordinate(program, int64_t(all.size()), all.data(), own);
      launch("sleep", sleepIfOwn, 1, {own});
    }
    int64_t from = gradients[0], to = gradients[1];
    honert_zero(program, none, positions * D * 4);
    if (isLast())
      launch("loss_bwd", lossGradient, positions,
             {saved.back(), targets, from, addend()});
    else
      launch("copy", copy, positions, {gradientIn, from});
    for (int64_t i = end; i-- != begin; std::swap(from, to))
      launch("layer_bwd", layerGradient, positions,
             {from, saved[i - begin], layerWeight(i).value,
              layerWeight(i).gradient, to});
    if (isFirst())
      launch("embed_bwd", embedGradient, positions,
             {from, tokens, weights.front().gradient});
    else
      launch("copy", copy, positions, {from, gradientOut});
  }
  void update() {
    std::vector<int64_t> dp = axesCalled("dp"), all = axesCalled("pp");
    all.insert(all.end(), dp.begin(), dp.end());
    honert_function(program, "update");
    honert_zero(program, norm, 4);
    for (const Weight &weight : weights) {
      combine(ReduceKind::sum, dp, weight.gradient, weight.count);
      launch("norm", raiseNorm, weight.count, {weight.gradient, norm});
    }
    combine(ReduceKind::max, all, norm, 1);
    combine(ReduceKind::sum, all, loss, 1);
    for (const Weight &weight : weights)
      launch("move", move, weight.count,
             {weight.value, weight.gradient, weight.moment, rate, rng});
    launch("count", count, 1, {updates});
    honert_result(program, "grad_norm", 0, 0, nullptr, norm);
  }

  //===--------------------------------------------------------------------===//
  // Lists
  //===--------------------------------------------------------------------===//

  void action(const char *list, ActionKind kind, const std::string &what,
              int64_t micro, int64_t peer = -1) {
    honert_action(program, list, int64_t(kind), what.c_str(), micro, peer);
  }

  /// A function and its micro-batch, in the order of the schedule.
  std::vector<std::pair<bool, int64_t>> schedule() const {
    std::vector<std::pair<bool, int64_t>> order; // is it forward?
    int64_t K = model.microBatches;
    int64_t ahead = model.isGpipe ? K : std::min(K, stages - stage);
    for (int64_t i = 0; i != ahead; ++i)
      order.push_back({true, i});
    for (int64_t i = 0; i != K; ++i) {
      order.push_back({false, i});
      if (ahead + i < K)
        order.push_back({true, ahead + i});
    }
    return order;
  }

  void postReceive(const char *list, bool isForward, int64_t micro) {
    if (isForward && !isFirst())
      action(list, ActionKind::receive, "boundary " + valueName(begin), micro,
             stage - 1);
    if (!isForward && !isLast())
      action(list, ActionKind::receive, "boundary " + gradientName(end), micro,
             stage + 1);
  }
  void awaitReceive(const char *list, bool isForward, int64_t micro) {
    if (isForward && !isFirst())
      action(list, ActionKind::awaitReceive, "boundary " + valueName(begin),
             micro, stage - 1);
    if (!isForward && !isLast())
      action(list, ActionKind::awaitReceive, "boundary " + gradientName(end),
             micro, stage + 1);
  }
  void send(const char *list, ActionKind kind, bool isForward, int64_t micro) {
    if (isForward && !isLast())
      action(list, kind, "boundary " + valueName(end), micro, stage + 1);
    if (!isForward && !isFirst())
      action(list, kind, "boundary " + gradientName(begin), micro, stage - 1);
  }
  /// The table as it is now, to the last stage's copy.
  void handOnTable(const char *list) {
    if (!model.isTied || stages == 1)
      return;
    if (isFirst()) {
      action(list, ActionKind::send, "param table", 0, stages - 1);
      action(list, ActionKind::awaitSend, "param table", 0, stages - 1);
    } else if (isLast()) {
      action(list, ActionKind::receive, "working_copy table", 0, 0);
      action(list, ActionKind::awaitReceive, "working_copy table", 0, 0);
    }
  }

  void lists() {
    std::vector<std::pair<bool, int64_t>> order = schedule();
    bool isEarly = model.boundaries > 1; // receives, by one action
    handOnTable("step");
    std::deque<std::pair<bool, int64_t>> sent; // not awaited
    auto awaitSends = [&](bool isForward, int64_t least) {
      for (size_t i = 0; i != sent.size();)
        if (sent[i].first == isForward && sent[i].second <= least) {
          send("step", ActionKind::awaitSend, isForward, sent[i].second);
          sent.erase(sent.begin() + int64_t(i));
        } else {
          ++i;
        }
    };
    for (size_t i = 0; i != order.size(); ++i) {
      auto [isForward, micro] = order[i];
      if (i == 0 || !isEarly)
        postReceive("step", isForward, micro);
      if (isEarly && i + 1 != order.size())
        postReceive("step", order[i + 1].first, order[i + 1].second);
      awaitReceive("step", isForward, micro);
      awaitSends(isForward, micro - model.boundaries);
      action("step", ActionKind::run, isForward ? "forward" : "backward",
             micro);
      send("step", ActionKind::send, isForward, micro);
      sent.push_back(order[i]);
    }
    awaitSends(true, model.microBatches);
    awaitSends(false, model.microBatches);
    action("step", ActionKind::run, "update", model.microBatches - 1);
    handOnTable("evaluate");
    postReceive("evaluate", true, 0);
    awaitReceive("evaluate", true, 0);
    action("evaluate", ActionKind::run, "evaluate", 0);
    send("evaluate", ActionKind::send, true, 0);
    send("evaluate", ActionKind::awaitSend, true, 0);
  }

  struct Weight {
    int64_t count, value, gradient, moment;
  };
  const Weight &layerWeight(int64_t i) const {
    return weights[size_t(i - begin + (isFirst() ? 1 : 0))];
  }

  const StagedModel &model;
  int64_t stage, stages;
  honert_program *program;
  Layout layout;
  int64_t begin, end; ///< layers
  int64_t positions;  ///< of a rank
  std::vector<Weight> weights;
  std::vector<int64_t> saved; ///< inputs of layers, and what the last makes
  int64_t gradients[2];
  int64_t updates, tokens, targets, rng, rate, loss, table, valueIn, valueOut,
      gradientIn, gradientOut, none, norm, evaluated, own;
};
} // namespace

void test::describe(const StagedModel &model, honert_program *program) {
  sleepingRank = model.sleepingRank;
  honert_meta(program, "model", "staged");
  honert_meta(program, "fingerprint", "staged");
  honert_meta_number(program, "abi", HONERT_ABI);
  honert_meta_number(program, "micro_batches", double(model.microBatches));
  honert_meta_number(program, "lr", 0.0625);
  if (model.stages)
    honert_mesh_axis(program, "pp", model.stages, "");
  if (model.dp > 1)
    honert_mesh_axis(program, "dp", model.dp, "");
  for (int64_t i = 0; i != std::max<int64_t>(model.stages, 1); ++i) {
    if (model.stages)
      honert_stage(program, i);
    StageDescriber(model, i, program).run();
  }
}

ProgramPtr test::makeStaged(const StagedModel &model) {
  ProgramPtr program = makeProgram();
  describe(model, program.get());
  joinStages(*program);
  return program;
}
