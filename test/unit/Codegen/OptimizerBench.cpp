//===- OptimizerBench.cpp - Rates of the update and the norm --------------===//
//
//   hone-optimizer-bench [layers]
//
// AdamW over the parameters of GPT-2 124M with so many layers (12), and the
// norm of their gradients, on one thread and on two, beside loops that move the
// same bytes and compute next to nothing: three arrays are updated in place
// from a fourth, and one is summed. Rates are of the bytes that the update must
// touch; times are the least of ten.
//
//===----------------------------------------------------------------------===//

#include "Jit.h"

#include "Codegen/CPU/OptimizerKernels.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

using namespace hone;
using namespace hone::test;

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

static double leastSeconds(const std::function<void()> &run) {
  double least = 1e9;
  for (int repetition = 0; repetition < 10; ++repetition) {
    auto begin = std::chrono::steady_clock::now();
    run();
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - begin;
    least = std::min(least, time.count());
  }
  return least;
}

/// Runs [0, items) on `threads` threads.
static void onThreads(int threads, int64_t items,
                      const std::function<void(int64_t, int64_t)> &run) {
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t)
    others.emplace_back(run, items * t / threads, items * (t + 1) / threads);
  run(0, items / threads);
  for (std::thread &other : others)
    other.join();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static std::vector<int64_t> parameterSizes(int layers) {
  const int64_t h = 768;
  std::vector<int64_t> sizes = {50257 * h, 1024 * h, h, h};
  for (int layer = 0; layer < layers; ++layer)
    for (int64_t size : {h, h, 3 * h * h, 3 * h, h * h, h, h, h, 4 * h * h,
                         4 * h, 4 * h * h, h})
      sizes.push_back(size);
  return sizes;
}

static std::string joined(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

namespace {
/// The program of a step as text, with memory for its buffers.
class StepText {
public:
  StepText(const std::vector<int64_t> &sizes, bool workingCopy);
  std::string text() const;

  std::vector<std::vector<float>> memory;   // of each buffer
  std::vector<void *> buffers, normBuffers; // operands of the two launches

private:
  void buffer(const std::string &name, const std::string &type, int64_t floats);
  void input(const std::string &name, const std::string &type, int64_t floats);
  void result(const std::string &name, const std::string &type,
              const std::string &value);
  void addUpdate(int64_t number, int64_t size, bool workingCopy);
  void addNorm(const std::vector<int64_t> &sizes);

  int64_t at = 0; // end of the arena so far
  std::string declared, body;
  // The update: operands, arguments and results.
  std::vector<std::string> names, types, arguments, outs, outTypes, yields,
      results;
  // The norm: operands, arguments and their types.
  std::vector<std::string> gradNames, gradTypes, grads, gradArguments, tensors;
  std::string scratch;
  std::vector<void *> copies;
};
} // namespace

void StepText::buffer(const std::string &name, const std::string &type,
                      int64_t floats) {
  declared += "%" + name + " = plan.buffer at " + std::to_string(at) +
              " : memref<" + type + ">\n";
  at += (floats * 4 + 63) / 64 * 64;
  memory.emplace_back(floats, 1e-3f);
}

void StepText::input(const std::string &name, const std::string &type,
                     int64_t floats) {
  buffer(name, type, floats);
  names.push_back("%" + name);
  types.push_back("memref<" + type + ">");
  arguments.push_back("%a" + name + ": tensor<" + type + ">");
  buffers.push_back(memory.back().data());
}

/// `value` of the body is written to the buffer `name`.
void StepText::result(const std::string &name, const std::string &type,
                      const std::string &value) {
  outs.push_back("%" + name);
  outTypes.push_back("memref<" + type + ">");
  yields.push_back(value);
  results.push_back("tensor<" + type + ">");
}

/// AdamW of one tensor, in place, with a bf16 working copy if asked for.
void StepText::addUpdate(int64_t number, int64_t size, bool workingCopy) {
  std::string n = std::to_string(number), type = std::to_string(size) + "xf32",
              low = std::to_string(size) + "xbf16",
              tensor = "tensor<" + type + ">";
  for (const char *name : {"p", "g", "m", "v"})
    input(name + n, type, size);
  normBuffers.push_back(buffers[buffers.size() - 3]);
  gradNames.push_back("%g" + n);
  gradTypes.push_back("memref<" + type + ">");
  body += "%x" + n + ":" + (workingCopy ? "4" : "3") + " = hone.adamw %ap" + n +
          ", %ag" + n + ", %am" + n + ", %av" + n +
          " lr %alr weight_decay %awd step %at grad_scale %ac {beta1 = 0.9, "
          "beta2 = 0.999, eps = 1.0e-8} : (" +
          joined({tensor, tensor, tensor, tensor}) +
          ", tensor<f32>, tensor<f32>, tensor<i64>, tensor<f32>) -> (" +
          joined({tensor, tensor, tensor}) +
          (workingCopy ? ", tensor<" + low + ">" : "") + ")\n";
  int index = 0;
  for (const char *name : {"p", "m", "v"})
    result(name + n, type, "%x" + n + "#" + std::to_string(index++));
  if (workingCopy) {
    buffer("s" + n, low, (size + 1) / 2);
    result("s" + n, low, "%x" + n + "#3");
    copies.push_back(memory.back().data());
  }
}

/// The norm of all gradients.
void StepText::addNorm(const std::vector<int64_t> &sizes) {
  int64_t partials = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    partials += llvm::divideCeil(sizes[i], normChunk);
    std::string name = "%b" + std::to_string(i),
                tensor = "tensor<" + std::to_string(sizes[i]) + "xf32>";
    grads.push_back(name);
    tensors.push_back(tensor);
    gradArguments.push_back(name + ": " + tensor);
  }
  buffer("norm", "f32", 1);
  normBuffers.push_back(memory.back().data());
  scratch = std::to_string(partials) + "xf32";
  buffer("sums", scratch, partials);
  normBuffers.push_back(memory.back().data());
}

StepText::StepText(const std::vector<int64_t> &sizes, bool workingCopy) {
  for (const char *scalar : {"lr", "wd", "c"})
    input(scalar, "f32", 1);
  input("t", "i64", 2);
  *static_cast<int64_t *>(buffers.back()) = 3;
  for (size_t i = 0; i < sizes.size(); ++i)
    addUpdate(i, sizes[i], workingCopy);
  for (size_t i = 0; i < sizes.size(); ++i) {
    for (size_t j : {0, 2, 3})
      buffers.push_back(buffers[4 + 4 * i + j]);
    if (workingCopy)
      buffers.push_back(copies[i]);
  }
  addNorm(sizes);
}

std::string StepText::text() const {
  return "plan.program @p arena 1099511627776 {\nplan.function @step {\n" +
         declared + "plan.launch multi_tensor ins(" + joined(names) + " : " +
         joined(types) + ") outs(" + joined(outs) + " : " + joined(outTypes) +
         ") {\n^bb0(" + joined(arguments) + "):\n" + body + "plan.yield " +
         joined(yields) + " : " + joined(results) +
         "\n}\nplan.launch multi_tensor ins(" + joined(gradNames) + " : " +
         joined(gradTypes) +
         ") outs(%norm : memref<f32>) scratch(%sums : memref<" + scratch +
         ">) {\n^bb0(" + joined(gradArguments) + "):\n%n = hone.global_norm " +
         joined(grads) + " : (" + joined(tensors) +
         ") -> tensor<f32>\nplan.yield %n : tensor<f32>\n}\n}\n}\n";
}

namespace {
/// The kernels of one setting, compiled, with memory for all its tensors.
struct Step {
  Step(const std::vector<int64_t> &sizes, bool workingCopy);
  void update(int threads) {
    onThreads(threads, updateItems, [&](int64_t lo, int64_t hi) {
      jit->callEntry("update", program.buffers, lo, hi);
    });
  }
  void norm(int threads) {
    onThreads(threads, normItems, [&](int64_t lo, int64_t hi) {
      jit->callEntry("squares", program.normBuffers, lo, hi);
    });
  }

  StepText program;
  int64_t updateItems, normItems;
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<Jit> jit;
};
} // namespace

Step::Step(const std::vector<int64_t> &sizes, bool workingCopy)
    : program(sizes, workingCopy), context(makeContext()) {
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(program.text(), context.get());
  if (!module)
    std::exit(1);
  mlir::OpBuilder builder(context.get());
  auto kernels = mlir::OwningOpRef<mlir::ModuleOp>(
      mlir::ModuleOp::create(builder.getUnknownLoc()));
  builder.setInsertionPointToEnd(kernels->getBody());
  module->walk([&](plan::LaunchOp launch) {
    bool isNorm = !launch.getScratch().empty();
    mlir::FailureOr<Kernel> kernel =
        isNorm
            ? emitSquareSums(builder, "squares", launch, builder.getF32Type())
            : emitUpdates(builder, "update", launch);
    if (mlir::failed(kernel))
      std::exit(1);
    (isNorm ? normItems : updateItems) = kernel->items;
    declareEntry(builder, *kernel);
  });
  jit = std::make_unique<Jit>(*kernels);
}

//===----------------------------------------------------------------------===//
// Probes
//===----------------------------------------------------------------------===//

static void moveLikeUpdate(float *__restrict p, const float *__restrict g,
                           float *__restrict m, float *__restrict v,
                           int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    p[i] += g[i];
    m[i] += g[i];
    v[i] += g[i];
  }
}

static float sum(const float *x, int64_t count) {
  constexpr int64_t lanes = 64; // enough to keep additions apart
  float sums[lanes] = {};
  for (int64_t i = 0; i + lanes <= count; i += lanes)
    for (int64_t lane = 0; lane < lanes; ++lane)
      sums[lane] += x[i + lane];
  float total = 0;
  for (float part : sums)
    total += part;
  return total;
}

int main(int argc, char **argv) {
  std::vector<int64_t> sizes =
      parameterSizes(argc > 1 ? std::atoi(argv[1]) : 12);
  int64_t count = 0;
  for (int64_t size : sizes)
    count += size;
  std::printf("%zu tensors, %.1f M parameters\n", sizes.size(), count * 1e-6);
  auto report = [&](const char *what, int threads, double bytes,
                    double seconds) {
    std::printf("%-28s %d threads %8.2f ms %6.1f GB/s\n", what, threads,
                seconds * 1e3, bytes * count / seconds * 1e-9);
  };
  {
    std::vector<float> p(count, 1.0f), g(count, 0.0f), m(count, 1.0f),
        v(count, 1.0f);
    for (int threads : {1, 2}) {
      report("loop of the same traffic", threads, 28, leastSeconds([&] {
               onThreads(threads, count, [&](int64_t lo, int64_t hi) {
                 moveLikeUpdate(&p[lo], &g[lo], &m[lo], &v[lo], hi - lo);
               });
             }));
      static volatile float kept;
      (void)kept;
      report("sum of one array", threads, 4, leastSeconds([&] {
               onThreads(threads, count, [&](int64_t lo, int64_t hi) {
                 kept = sum(&g[lo], hi - lo);
               });
             }));
    }
  }
  for (bool workingCopy : {false, true}) {
    Step step(sizes, workingCopy);
    for (int threads : {1, 2})
      report(workingCopy ? "adamw with bf16 working copy" : "adamw", threads,
             workingCopy ? 30 : 28,
             leastSeconds([&] { step.update(threads); }));
    if (!workingCopy)
      for (int threads : {1, 2})
        report("squares of the norm", threads, 4,
               leastSeconds([&] { step.norm(threads); }));
  }
}
