//===- GatherTest.cpp - Kernels that pick or add rows ---------------------===//

#include "KernelCase.h"

#include "Codegen/CPU/GatherKernels.h"

#include "gtest/gtest.h"

using namespace hone;
using namespace hone::test;

namespace {

std::string embedding(const std::string &element, const std::string &ids,
                      int64_t width) {
  std::string table =
                  "tensor<11x" + std::to_string(width) + "x" + element + ">",
              idType = "tensor<2x9x" + ids + ">",
              result =
                  "tensor<2x9x" + std::to_string(width) + "x" + element + ">";
  return "func.func @f(%t: " + table + ", %i: " + idType + ") -> " + result +
         " {\n  %y = hone.embedding %t, %i : " + table + ", " + idType +
         " -> " + result + "\n  return %y : " + result + "\n}";
}

/// The gradient of a table of 11 rows, alone or added to an input.
std::string scatter(const std::string &element, int64_t width, bool adds) {
  std::string table =
                  "tensor<11x" + std::to_string(width) + "x" + element + ">",
              grad =
                  "tensor<2x9x" + std::to_string(width) + "x" + element + ">",
              ids = "tensor<2x9xi64>";
  std::string text = "func.func @f(%g: " + grad + ", %i: " + ids +
                     ", %a: " + table + ") -> " + table +
                     " {\n  %y = hone.embedding_bwd "
                     "%g, %i : " +
                     grad + ", " + ids + " -> " + table + "\n";
  if (!adds)
    return text + "  return %y : " + table + "\n}";
  return text + "  %z = hone.add %a, %y : " + table +
         "\n  return %z : " + table + "\n}";
}

CaseOptions options(double tolerance) {
  CaseOptions options{KernelFamily::gather, tolerance};
  options.idBound = 11;
  return options;
}

} // namespace

TEST(Gather, Embedding) {
  for (const char *element : {"f32", "f64", "bf16", "f16"})
    for (const char *ids : {"i64", "i32", "i8"})
      for (int64_t width : {1, 16, 33, 80})
        expectLikeInterpreter(emitGather, embedding(element, ids, width),
                              options(0));
}

TEST(Gather, EmbeddingOfWideRows) {
  for (const char *element : {"f32", "bf16"})
    for (int64_t width : {768, 1601, 12288})
      for (int64_t shift : {0, 1, 4}) {
        CaseOptions moved = options(0);
        moved.shift = shift;
        expectLikeInterpreter(emitGather, embedding(element, "i64", width),
                              moved);
      }
}

TEST(Gather, EmbeddingBwd) {
  for (int64_t width : {1, 16, 33, 80}) {
    // Added in the order of ids: the same bits as the reference in f64; in
    // f32, the reference accumulates in f64.
    expectLikeInterpreter(emitGather, scatter("f64", width, false), options(0));
    expectLikeInterpreter(emitGather, scatter("f32", width, false),
                          options(1e-6));
    expectLikeInterpreter(emitGather, scatter("bf16", width, false),
                          options(0x1p-8));
  }
}

/// Sums of narrow elements stay on the stack, for some thousand columns at a
/// time. A sum that is added to an input may be rounded twice.
TEST(Gather, EmbeddingBwdOfWideRows) {
  for (int64_t width : {4096, 4097, 8200})
    for (bool adds : {false, true})
      expectLikeInterpreter(emitGather, scatter("bf16", width, adds),
                            options(adds ? 0x1p-6 : 0x1p-7));
}

TEST(Gather, EmbeddingBwdOntoAnInput) {
  for (const char *element : {"f32", "f64", "bf16", "f16"})
    for (int64_t width : {16, 33}) {
      CaseOptions apart = options(element == std::string("bf16")  ? 0x1p-7
                                  : element == std::string("f16") ? 0x1p-10
                                                                  : 1e-6);
      expectLikeInterpreter(emitGather, scatter(element, width, true), apart);
      CaseOptions inPlace = apart;
      inPlace.inPlace = {{2, 0}};
      expectLikeInterpreter(emitGather, scatter(element, width, true), inPlace);
    }
}

TEST(Gather, AllIdsEqual) {
  CaseOptions same = options(1e-6);
  same.data = {{1, std::vector<double>(18, 10)}};
  expectLikeInterpreter(emitGather, scatter("f32", 33, false), same);
}

TEST(Gather, RefusesOtherBodies) {
  EXPECT_EQ(refusalOf(emitGather, R"(
    func.func @f(%t: tensor<11x8xf32>, %i: tensor<4xi64>) -> tensor<4x8xf32> {
      %y = hone.embedding %t, %i : tensor<11x8xf32>, tensor<4xi64> -> tensor<4x8xf32>
      %z = hone.neg %y : tensor<4x8xf32>
      return %z : tensor<4x8xf32>
    })",
                      options(0)),
            "'plan.launch' op of family gather holds other ops than one "
            "embedding, or one embedding_bwd and an add of an input");
}
