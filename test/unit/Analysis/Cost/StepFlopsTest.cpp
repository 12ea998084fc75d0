//===- StepFlopsTest.cpp - The arithmetic that a step is judged by --------===//

#include "hone/Analysis/Cost/StepFlops.h"

#include "hone/IR/Hone.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace hone;

namespace {

TEST(StepFlops, CountsProductsOfEachMicroBatch) {
  MLIRContext context;
  context.loadDialect<HoneDialect, func::FuncDialect>();
  std::string functions;
  for (const char *name : {"accumulate", "update", "evaluate"})
    functions += std::string("func.func @") + name + R"((
        %x: tensor<32x64xf32>, %w: tensor<64x16xf32>) {
      %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0]
          : tensor<32x64xf32>, tensor<64x16xf32> -> tensor<32x16xf32>
      %z = hone.tanh %y : tensor<32x16xf32>
      return
    })";
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(functions, &context);
  ASSERT_TRUE(module);
  // Three micro-batches and one update; nothing of @evaluate and no map.
  EXPECT_EQ(modelFlops(*module, 3), 4 * 2. * 32 * 64 * 16);
}

} // namespace
