//===- GroupedTest.cpp - Products of groups of rows -----------------------===//

#include "KernelCase.h"
#include "KernelText.h"

#include "Codegen/CPU/GenericKernels.h"

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
