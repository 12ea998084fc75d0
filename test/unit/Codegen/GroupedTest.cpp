//===- GroupedTest.cpp - Products of groups of rows -----------------------===//

#include "KernelCase.h"
#include "KernelText.h"

#include "Codegen/CPU/GenericKernels.h"
#include "DeviceRun.h"

#include "gtest/gtest.h"

using namespace hone;
using namespace hone::test;

namespace {

// Ends of the groups of 9 rows: an empty group, rows behind the last end, and
// ends that no program should give.
const std::vector<double> endings[] = {
    {2, 2, 9}, {0, 4, 7}, {9, 9, 9}, {-3, 5, 40}};

CaseOptions options(const std::string &element, unsigned argument,
                    const std::vector<double> &ends) {
  return {KernelFamily::groupedContraction,
          element == "bf16"  ? 0x1p-8
          : element == "f64" ? 1e-14
                             : 4e-6,
          {},
          {{argument, ends}}};
}

} // namespace

TEST(Grouped, Dot) {
  for (const char *element : {"f32", "f64", "bf16"})
    for (const std::vector<double> &ends : endings)
      for (bool isPlain : {true, false})
        expectLikeInterpreter(
            emitPoint,
            with("func.func @f(%x: tensor<9x5xT>, %w: tensor<WxT>, %e: "
                 "tensor<3xi64>) -> tensor<9x7xT> {\n"
                 "  %y = hone.grouped_dot %x, %w, %e contract C : "
                 "tensor<9x5xT>, tensor<WxT>, tensor<3xi64> -> tensor<9x7xT>\n"
                 "  return %y : tensor<9x7xT>\n}",
                 {{"WxT", std::string(isPlain ? "3x5x7x" : "3x7x5x") + element},
                  {"contract C", isPlain ? "contract 1" : "contract 2"},
                  {"xT>", std::string("x") + element + ">"}}),
            options(element, 2, ends));
}

TEST(Grouped, GradientOfTheWeight) {
  for (const char *element : {"f32", "f64", "bf16"})
    for (const std::vector<double> &ends : endings)
      expectLikeInterpreter(
          emitPoint,
          with("func.func @f(%x: tensor<9x5xT>, %g: tensor<9x7xT>, %e: "
               "tensor<3xi32>) -> tensor<3x5x7xT> {\n"
               "  %y = hone.grouped_dot_bwd_weight %x, %g, %e : tensor<9x5xT>, "
               "tensor<9x7xT>, tensor<3xi32> -> tensor<3x5x7xT>\n"
               "  return %y : tensor<3x5x7xT>\n}",
               {{"xT>", std::string("x") + element + ">"}}),
          options(element, 2, ends));
}

//===----------------------------------------------------------------------===//
// Tensor cores
//===----------------------------------------------------------------------===//

namespace {
/// Rows with `depth` terms in groups that end so, for matrices of `width`.
struct Shape {
  int64_t rows, depth, width;
  std::vector<double> ends;
};

/// Of 36 groups of three rows, the 33rd without.
std::vector<double> manyEnds() {
  std::vector<double> ends;
  for (int group = 1; group <= 36; ++group)
    ends.push_back(group == 33 ? 5 : 3 * group);
  return ends;
}

// Tiles of 128 and of 64; more steps than there are stages, and steps that end
// early; copies of 16, 8, 4 and 2 bytes; groups at borders of tiles, without
// rows, with all of them, and more than a warp has lanes; rows behind the last
// end, and ends that no program should give.
const Shape shapes[] = {
    {262, 136, 72, {0, 130, 130, 220}}, {256, 64, 128, {128, 256}},
    {140, 36, 20, {140, 140}},          {70, 34, 66, {0, 70, 70}},
    {90, 33, 35, {50, 20, -4, 900}},    {129, 24, 8, {0, 0}},
    {110, 40, 24, manyEnds()},          {40, 16, 64, {40}},
};

/// The op with types in place of words: `LHS`, `RHS`, `ENDS` and `OUT`.
std::string function(const std::string &op, const std::string &lhs,
                     const std::string &rhs, size_t groups,
                     const std::string &out) {
  return with("func.func @f(%a: LHS, %b: RHS, %e: ENDS) -> OUT {\n"
              "  %y = hone.OP : LHS, RHS, ENDS -> OUT\n"
              "  return %y : OUT\n}",
              {{"OP", op},
               {"LHS", "tensor<" + lhs + ">"},
               {"RHS", "tensor<" + rhs + ">"},
               {"ENDS", "tensor<" + std::to_string(groups) + "xi32>"},
               {"OUT", "tensor<" + out + ">"}});
}

std::string sizes(std::vector<int64_t> all, const std::string &element) {
  std::string text;
  for (int64_t size : all)
    text += std::to_string(size) + "x";
  return text + element;
}

/// Types of operands and result; bf16 alone but for the first shape.
struct Types {
  std::string operand, result;
};
std::vector<Types> typesOf(const Shape &shape) {
  if (&shape != shapes)
    return {{"bf16", "bf16"}};
  return {{"bf16", "bf16"}, {"f16", "f16"}, {"bf16", "f32"}};
}

/// Products are exact in f32. Sums of so many terms near 1 are rounded to 24
/// bits, in another order than the interpreter's; where that moves a result to
/// another side, it is the type's next number.
CaseOptions tensorCoreCase(const Types &types, const Shape &shape,
                           int64_t terms) {
  double next = types.result == "bf16"  ? 0x1p-7
                : types.result == "f16" ? 0x1p-10
                                        : 0;
  return {KernelFamily::groupedContraction,
          next + double(terms) * 0x1p-23,
          {},
          {{2, shape.ends}}};
}
} // namespace

TEST(Grouped, TensorCoresMultiplyRows) {
  for (const Shape &shape : shapes)
    for (int contract : {1, 2})
      for (const Types &types : typesOf(shape)) {
        auto groups = int64_t(shape.ends.size());
        std::vector<int64_t> matrix = {groups, shape.depth, shape.width};
        if (contract == 2)
          std::swap(matrix[1], matrix[2]);
        expectLikeInterpreterOnDevice(
            emitPoint,
            function("grouped_dot %a, %b, %e contract " +
                         std::to_string(contract),
                     sizes({shape.rows, shape.depth}, types.operand),
                     sizes(matrix, types.operand), shape.ends.size(),
                     sizes({shape.rows, shape.width}, types.result)),
            tensorCoreCase(types, shape, shape.depth));
      }
}

TEST(Grouped, TensorCoresSumRows) {
  for (const Shape &shape : shapes)
    for (const Types &types : typesOf(shape))
      expectLikeInterpreterOnDevice(
          emitPoint,
          function("grouped_dot_bwd_weight %a, %b, %e",
                   sizes({shape.rows, shape.depth}, types.operand),
                   sizes({shape.rows, shape.width}, types.operand),
                   shape.ends.size(),
                   sizes({int64_t(shape.ends.size()), shape.depth, shape.width},
                         types.result)),
          tensorCoreCase(types, shape, shape.rows));
}
