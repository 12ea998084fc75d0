//===- ScatterTest.cpp - Sums of rows by id, on a GPU as on a CPU ---------===//

#include "DeviceRun.h"

#include "Codegen/CPU/GatherKernels.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace hone;
using namespace hone::test;

namespace {

enum class Ids { Uniform, Zipf, Equal, Outside };
enum class Addend { None, Apart, InPlace };

struct Scatter {
  std::string element;
  int64_t tokens, rows, width;
  Ids ids = Ids::Uniform;
  Addend addend = Addend::None;
  std::string idType = "i64";
};

std::string tensor(int64_t rows, int64_t columns, const std::string &element) {
  return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) +
         "x" + element + ">";
}

std::string textOf(const Scatter &scatter) {
  std::string table = tensor(scatter.rows, scatter.width, scatter.element),
              grad = tensor(scatter.tokens, scatter.width, scatter.element),
              ids = "tensor<" + std::to_string(scatter.tokens) + "x" +
                    scatter.idType + ">";
  std::string text = "func.func @f(%g: " + grad + ", %i: " + ids +
                     ", %a: " + table + ") -> " + table +
                     " {\n  %y = hone.embedding_bwd %g, %i : " + grad + ", " +
                     ids + " -> " + table + "\n";
  if (scatter.addend == Addend::None)
    return text + "  return %y : " + table + "\n}";
  return text + "  %z = hone.add %a, %y : " + table +
         "\n  return %z : " + table + "\n}";
}

/// Row k of 1, 2, ... with a chance of 1/k: the k for a number in [0, 1).
int64_t zipf(double chance, int64_t rows) {
  return std::min(rows, int64_t(std::pow(double(rows) + 1, chance))) - 1;
}

std::vector<double> drawIds(const Scatter &scatter) {
  std::mt19937 random(int(scatter.tokens));
  std::uniform_real_distribution<double> chance;
  std::vector<double> ids;
  for (int64_t token = 0; token < scatter.tokens; ++token) {
    int64_t id = int64_t(random() % uint32_t(scatter.rows));
    if (scatter.ids == Ids::Zipf)
      id = zipf(chance(random), scatter.rows);
    if (scatter.ids == Ids::Equal)
      id = scatter.rows / 2;
    if (scatter.ids == Ids::Outside && token % 3 == 0)
      id = token % 2 == 0 ? -1 - token % 5 : scatter.rows + token % 5;
    ids.push_back(double(id));
  }
  return ids;
}

/// A GPU in two orders of threads, and a CPU: the same bits.
void expectBitsOfCpu(const Scatter &scatter) {
  std::string text = textOf(scatter);
  SCOPED_TRACE(text);
  CaseOptions options{KernelFamily::gather, /*tolerance=*/0};
  options.data = {{1, drawIds(scatter)}};
  if (scatter.addend == Addend::InPlace)
    options.inPlace = {{2, 0}};
  // What is added to nothing must not become 0.
  if (scatter.addend != Addend::None && scatter.ids == Ids::Outside)
    options.data.emplace_back(
        2, std::vector<double>(scatter.rows * scatter.width, -0.0));
  interp::Tensors onCpu = runKernel(emitGather, text, options);
  std::vector<std::vector<char>> onDevice =
      expectOnDevice(emitGather, text, options, onCpu);
  EXPECT_TRUE(onDevice.front() == bytesOf(onCpu.front())) << "bits differ";
}

} // namespace

TEST(Scatter, OfFewTokens) {
  expectBitsOfCpu({"f32", 0, 3, 4});
  expectBitsOfCpu({"f32", 1, 1, 8});
  expectBitsOfCpu({"bf16", 31, 1, 16, Ids::Equal, Addend::Apart});
  expectBitsOfCpu({"f16", 18, 11, 33, Ids::Uniform, Addend::InPlace});
  expectBitsOfCpu({"f64", 33, 300, 6, Ids::Zipf});
}

TEST(Scatter, OfRowsInSeveralTiles) {
  for (const char *element : {"f32", "bf16"})
    for (Addend addend : {Addend::None, Addend::Apart, Addend::InPlace})
      expectBitsOfCpu({element, 77, 13, 776, Ids::Zipf, addend});
}

/// The warps of a block share rows of many tokens.
TEST(Scatter, OfRowsWithManyTokens) {
  expectBitsOfCpu({"f32", 1001, 9, 24, Ids::Zipf, Addend::InPlace});
  expectBitsOfCpu({"f32", 900, 5, 140, Ids::Uniform});
  expectBitsOfCpu({"bf16", 1111, 40, 264, Ids::Zipf, Addend::Apart});
  expectBitsOfCpu({"f16", 700, 3, 33, Ids::Equal, Addend::InPlace});
  expectBitsOfCpu({"f64", 600, 4, 6, Ids::Outside});
}

TEST(Scatter, LeavesOutWhatIsNoRow) {
  for (Addend addend : {Addend::None, Addend::Apart, Addend::InPlace})
    expectBitsOfCpu({"f32", 500, 100, 12, Ids::Outside, addend});
}

TEST(Scatter, TakesIdsOfAnyWidth) {
  expectBitsOfCpu({"f32", 444, 90, 8, Ids::Outside, Addend::None, "i32"});
  expectBitsOfCpu({"f32", 333, 90, 8, Ids::Outside, Addend::None, "i8"});
}

/// The batch of GPT-2 124M and its table, of fewer columns: 12 seconds each, so
/// the others have a quarter of it.
TEST(Scatter, OfTheSizeOfATrainingStep) {
  expectBitsOfCpu({"f32", 65536, 50304, 4, Ids::Zipf, Addend::InPlace});
  for (Ids ids : {Ids::Uniform, Ids::Equal})
    expectBitsOfCpu({"f32", 16384, 12576, 4, ids, Addend::InPlace});
}
