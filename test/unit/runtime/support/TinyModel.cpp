//===- TinyModel.cpp - A bigram model in plain loops ----------------------===//

#include "support/TinyModel.h"
#include "base/Philox.h"
#include "support/Describe.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace test;

namespace {

constexpr int64_t V = TinyModel::vocab;

// Kernels see buffers only: sizes that differ between models are read from the
// int64 `sizes` buffer: tokens per batch, micro-batches, and noise * 1e6.
struct Sizes {
  int64_t positions, microBatches, noise;
};

const Sizes &sizesOf(void *buffer) {
  return *static_cast<const Sizes *>(buffer);
}

/// buffers: sizes, table [V, V], bias [V], scale [V], mask [V], tokens,
/// targets, probs [P, V], losses [P]. Items: positions.
void forward(void *const *buffers, int64_t lo, int64_t hi) {
  auto *table = static_cast<const float *>(buffers[1]);
  auto *bias = static_cast<const float *>(buffers[2]);
  auto *scale = static_cast<const float *>(buffers[3]);
  auto *mask = static_cast<const float *>(buffers[4]);
  auto *tokens = static_cast<const int64_t *>(buffers[5]);
  auto *targets = static_cast<const int64_t *>(buffers[6]);
  auto *probs = static_cast<float *>(buffers[7]);
  auto *losses = static_cast<float *>(buffers[8]);
  for (int64_t p = lo; p < hi; ++p) {
    float *row = probs + p * V;
    float largest = -INFINITY, sum = 0;
    for (int64_t v = 0; v < V; ++v) {
      row[v] = table[tokens[p] * V + v] * scale[v] + bias[v] + mask[v];
      largest = std::max(largest, row[v]);
    }
    for (int64_t v = 0; v < V; ++v)
      sum += row[v] = std::exp(row[v] - largest);
    for (int64_t v = 0; v < V; ++v)
      row[v] /= sum;
    losses[p] = -std::log(row[targets[p]]);
  }
}

/// buffers: sizes, losses [P], loss. Adds the mean, divided by the number of
/// micro-batches.
void addLoss(void *const *buffers, int64_t, int64_t) {
  const Sizes &sizes = sizesOf(buffers[0]);
  auto *losses = static_cast<const float *>(buffers[1]);
  float sum = 0;
  for (int64_t p = 0; p < sizes.positions; ++p)
    sum += losses[p];
  *static_cast<float *>(buffers[2]) +=
      sum / static_cast<float>(sizes.positions * sizes.microBatches);
}

/// buffers: sizes, probs, tokens, targets, scale, rng, table_grad [V, V],
/// bias_grad [V]. Adds; items: rows of the table.
void backward(void *const *buffers, int64_t lo, int64_t hi) {
  const Sizes &sizes = sizesOf(buffers[0]);
  auto *probs = static_cast<const float *>(buffers[1]);
  auto *tokens = static_cast<const int64_t *>(buffers[2]);
  auto *targets = static_cast<const int64_t *>(buffers[3]);
  auto *scale = static_cast<const float *>(buffers[4]);
  auto *key = static_cast<const int64_t *>(buffers[5]);
  auto *tableGrad = static_cast<float *>(buffers[6]);
  auto *biasGrad = static_cast<float *>(buffers[7]);
  auto share = 1.0f / static_cast<float>(sizes.positions * sizes.microBatches);
  for (int64_t v = lo; v < hi; ++v)
    for (int64_t p = 0; p < sizes.positions; ++p) {
      float own = probs[p * V + v] - (targets[p] == v ? 1.0f : 0.0f);
      biasGrad[v] += own * share;
      if (tokens[p] != v)
        continue;
      for (int64_t u = 0; u < V; ++u)
        tableGrad[v * V + u] +=
            (probs[p * V + u] - (targets[p] == u ? 1.0f : 0.0f)) * scale[u] *
            share;
    }
  for (int64_t v = lo; v < hi; ++v) {
    honert::PhiloxCounter words = honert::philox(
        {static_cast<uint32_t>(v), 0, static_cast<uint32_t>(key[1]),
         static_cast<uint32_t>(key[2])},
        honert::philoxKey(static_cast<uint64_t>(key[0])));
    biasGrad[v] += static_cast<float>(sizes.noise) * 1e-6f *
                   (static_cast<float>(words[0] >> 8) * 0x1p-24f - 0.5f);
  }
}

/// buffers: table_grad, bias_grad, norm.
void gradNorm(void *const *buffers, int64_t, int64_t) {
  double sum = 0;
  auto *table = static_cast<const float *>(buffers[0]);
  auto *bias = static_cast<const float *>(buffers[1]);
  for (int64_t i = 0; i < V * V; ++i)
    sum += double(table[i]) * table[i];
  for (int64_t i = 0; i < V; ++i)
    sum += double(bias[i]) * bias[i];
  *static_cast<float *>(buffers[2]) = static_cast<float>(std::sqrt(sum));
}

/// buffers: param, grad, exp_avg, exp_avg_sq, lr, weight_decay, clip, step,
/// norm. Items: elements.
void adamw(void *const *buffers, int64_t lo, int64_t hi) {
  auto *param = static_cast<float *>(buffers[0]);
  auto *grad = static_cast<const float *>(buffers[1]);
  auto *mean = static_cast<float *>(buffers[2]);
  auto *square = static_cast<float *>(buffers[3]);
  auto scalar = [&](int i) { return *static_cast<const float *>(buffers[i]); };
  float lr = scalar(4), decay = scalar(5), clip = scalar(6), norm = scalar(8);
  auto step = static_cast<float>(*static_cast<const int64_t *>(buffers[7]));
  float factor = norm > clip ? clip / norm : 1.0f;
  for (int64_t i = lo; i < hi; ++i) {
    float g = grad[i] * factor;
    mean[i] = 0.9f * mean[i] + 0.1f * g;
    square[i] = 0.99f * square[i] + 0.01f * g * g;
    float first = mean[i] / (1 - std::pow(0.9f, step));
    float second = square[i] / (1 - std::pow(0.99f, step));
    param[i] -= lr * (decay * param[i] + first / (std::sqrt(second) + 1e-8f));
  }
}

/// buffers: from, to. Items: bytes.
void copyBytes(void *const *buffers, int64_t lo, int64_t hi) {
  std::copy(static_cast<const char *>(buffers[0]) + lo,
            static_cast<const char *>(buffers[0]) + hi,
            static_cast<char *>(buffers[1]) + lo);
}

/// Offsets of everything, and the calls that describe it.
class Describer {
public:
  Describer(const TinyModel &model, honert_program *program)
      : model(model), program(program), positions(model.rows * model.columns) {}

  void run() {
    meta();
    table = place(V * V * 4), bias = place(V * 4), scale = place(V * 4);
    sizes = place(sizeof(Sizes)), mask = place(V * 4);
    for (int64_t *state : {&tableMean, &tableSquare, &tableGrad})
      *state = place(V * V * 4);
    for (int64_t *state : {&biasMean, &biasSquare, &biasGrad})
      *state = place(V * 4);
    tokens = place(positions * 8), targets = place(positions * 8);
    rng = place(24), lr = place(4), decay = place(4), clip = place(4);
    step = place(8), loss = place(4), norm = place(4);
    probs = place(positions * V * 4), losses = place(positions * 4);
    evalLoss = place(4);
    honert_arena(program, layout.bytes());
    honert_category(program, "parameters", (V * V + V) * 4);
    arguments();
    functions();
  }

private:
  int64_t place(int64_t bytes) { return layout.take(bytes); }

  void meta() {
    honert_meta(program, "model", "tiny");
    honert_meta(program, "fingerprint", model.fingerprint);
    honert_meta(program, "precision", model.precision);
    honert_meta(program, "optimizer", model.optimizer);
    honert_meta_number(program, "abi", HONERT_ABI);
    honert_meta_number(program, "micro_batches", double(model.microBatches));
    honert_meta_number(program, "crossing_attentions",
                       double(model.crossingAttentions));
    honert_meta_number(program, "lr", 0.01);
    honert_meta_number(program, "weight_decay", 0.1);
    honert_meta_number(program, "clip", 1.0);
    honert_meta_number(program, "parameters", double(V * V + V));
    honert_meta_number(program, "flops_per_step", 1e6);
    honert_meta_number(program, "model_flops_per_token", 6.0 * V);
  }

  void argument(int64_t kind, const std::string &fqn, int64_t dtype,
                std::vector<int64_t> dims, int64_t offset) {
    honert_argument(program, kind, fqn.c_str(), dtype, int64_t(dims.size()),
                    dims.data(), offset);
  }

  void arguments() {
    const bool sums = model.microBatches > 1;
    argument(0, "table", 0, {V, V}, table);
    honert_argument_init(program, 2, 0, 0.5, "head.weight\n");
    argument(0, "bias", 0, {V}, bias);
    honert_argument_init(program, 3, -0.1, 0.1, "");
    argument(1, "scale", 0, {V}, scale);
    honert_argument_init(program, model.needsFile ? 4 : 1, 1, 0, "");
    argument(1, "sizes", 4, {3}, sizes);
    honert_argument_init(program, 4, 0, 0, "");
    values = {positions, model.microBatches, int64_t(model.noise * 1e6)};
    honert_argument_data(program, storedSizes(), sizeof(Sizes));
    argument(2, "exp_avg.table", 0, {V, V}, tableMean);
    argument(2, "exp_avg_sq.table", 0, {V, V}, tableSquare);
    argument(2, "exp_avg.bias", 0, {V}, biasMean);
    argument(2, "exp_avg_sq.bias", 0, {V}, biasSquare);
    argument(4, "tokens", 4, {model.rows, model.columns}, tokens);
    honert_argument_role(program, 1, V);
    argument(4, "targets", 4, {model.rows, model.columns}, targets);
    honert_argument_role(program, 2, V);
    if (model.hasMask)
      argument(4, "mask", 0, {V}, mask);
    argument(5, "rng", 4, {3}, rng);
    if (sums) {
      argument(3, "table", 0, {V, V}, tableGrad);
      argument(3, "bias", 0, {V}, biasGrad);
      argument(6, "loss", 0, {}, loss);
    }
    argument(6, "lr", 0, {}, lr);
    argument(6, "weight_decay", 0, {}, decay);
    argument(6, "clip", 0, {}, clip);
    argument(6, "step", 4, {}, step);
  }

  /// The value of `sizes` must outlive the program: kept per distinct value.
  const char *storedSizes() {
    static std::vector<std::unique_ptr<Sizes>> kept;
    kept.push_back(std::make_unique<Sizes>(values));
    return reinterpret_cast<const char *>(kept.back().get());
  }

  void launch(const char *name, honert_kernel kernel, int64_t items,
              int64_t grain, std::vector<int64_t> offsets) {
    honert_launch(program, name, "model.py:1", kernel, items, grain,
                  int64_t(offsets.size()), offsets.data());
  }
  void result(const char *name, std::vector<int64_t> dims, int64_t offset) {
    honert_result(program, name, 0, int64_t(dims.size()), dims.data(), offset);
  }

  void forwardTo(int64_t sum) {
    if (!model.hasMask) // read all the same
      honert_zero(program, mask, V * 4);
    launch("forward", forward, positions, 1,
           {sizes, table, bias, scale, mask, tokens, targets, probs, losses});
    launch("loss", addLoss, 1, 1, {sizes, losses, sum});
  }
  void gradients() {
    launch("backward", backward, V, 4,
           {sizes, probs, tokens, targets, scale, rng, tableGrad, biasGrad});
  }
  void update() {
    launch("norm", gradNorm, 1, 1, {tableGrad, biasGrad, norm});
    launch("adamw", adamw, V * V, 64,
           {table, tableGrad, tableMean, tableSquare, lr, decay, clip, step,
            norm});
    launch("adamw", adamw, V, 8,
           {bias, biasGrad, biasMean, biasSquare, lr, decay, clip, step, norm});
    result("grad_norm", {}, norm);
  }

  void functions() {
    if (model.microBatches > 1) {
      honert_function(program, "accumulate");
      forwardTo(loss);
      gradients();
      honert_function(program, "update");
      update();
    } else {
      honert_function(program, "step");
      if (model.before)
        launch("before", model.before, 1, 1, {});
      honert_zero(program, tableGrad, V * V * 4);
      honert_zero(program, biasGrad, V * 4);
      honert_zero(program, loss, 4);
      forwardTo(loss);
      gradients();
      update();
      result("loss", {}, loss);
      result("grad.table", {V, V}, tableGrad);
      result("grad.bias", {V}, biasGrad);
    }
    honert_function(program, "evaluate");
    honert_zero(program, evalLoss, 4);
    honert_zero(program, norm, 4);
    forwardTo(norm);
    launch("move", copyBytes, 4, 4, {norm, evalLoss});
    result("loss", {}, evalLoss);
  }

  const TinyModel &model;
  honert_program *program;
  int64_t positions;
  Sizes values;
  Layout layout;
  int64_t table, bias, scale, sizes, mask, tableMean, tableSquare, tableGrad,
      biasMean, biasSquare, biasGrad, tokens, targets, rng, lr, decay, clip,
      step, loss, norm, probs, losses, evalLoss;
};

} // namespace

void test::describe(const TinyModel &model, honert_program *program) {
  Describer(model, program).run();
}
