//===- PhiloxTest.cpp - Random words against known answers ----------------===//

#include "AttentionReference.h"
#include "Jit.h"

#include "Codegen/Common/Kernel.h"
#include "Codegen/Common/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace hone;
using hone::test::philoxWord;

namespace {

/// Both forms of the words of the 64 elements from `first` on.
struct Words {
  std::vector<uint32_t> byLane, byRun;
};

Words runKernel(int64_t first, int64_t salt, const int64_t key[3]) {
  auto context = test::makeContext();
  OpBuilder builder(context.get());
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  ImplicitLocOpBuilder b(builder.getUnknownLoc(), builder);
  b.setInsertionPointToEnd(module->getBody());
  auto keyType = MemRefType::get({3}, b.getI64Type());
  auto out = MemRefType::get({64}, b.getI32Type());
  auto func = b.create<func::FuncOp>(
      "words",
      b.getFunctionType({keyType, out, out, b.getIndexType(), b.getIndexType()},
                        {}));
  Block *entry = func.addEntryBlock();
  b.setInsertionPointToEnd(entry);
  Value keyValue = emitPhiloxKey(b, b.getLoc(), entry->getArgument(0));
  Value start =
      b.create<arith::IndexCastOp>(b.getI64Type(), entry->getArgument(3));
  Value saltValue = b.create<arith::ConstantOp>(b.getI64IntegerAttr(salt));
  std::array<Value, 4> run =
      emitPhiloxRun(b, b.getLoc(), start, saltValue, keyValue);
  for (int64_t part = 0; part < 4; ++part) {
    Value at = b.create<arith::ConstantIndexOp>(part * kernelLanes);
    b.create<vector::StoreOp>(run[part], entry->getArgument(2), at);
    SmallVector<int64_t> lanes;
    for (int64_t lane = 0; lane < kernelLanes; ++lane)
      lanes.push_back(part * kernelLanes + lane);
    auto type = VectorType::get({kernelLanes}, b.getI64Type());
    Value index = b.create<arith::AddIOp>(
        b.create<vector::BroadcastOp>(type, start),
        b.create<arith::ConstantOp>(
            DenseElementsAttr::get(type, ArrayRef<int64_t>(lanes))));
    b.create<vector::StoreOp>(
        emitPhiloxWord(b, b.getLoc(), index, saltValue, keyValue),
        entry->getArgument(1), at);
  }
  b.create<func::ReturnOp>();

  Words words{std::vector<uint32_t>(64), std::vector<uint32_t>(64)};
  test::Jit jit(*module);
  jit.call(
      "words",
      {const_cast<int64_t *>(key), words.byLane.data(), words.byRun.data()},
      first, 0);
  return words;
}

// Vectors of the Random123 distribution.
TEST(Philox, KnownAnswers) {
  const int64_t zeros[3] = {0, 0, 0};
  Words zero = runKernel(0, 0, zeros);
  EXPECT_EQ(zero.byLane[0], 0x6627e8d5u);
  EXPECT_EQ(zero.byLane[1], 0xe169c58du);
  EXPECT_EQ(zero.byLane[2], 0xbc57ac4cu);
  EXPECT_EQ(zero.byLane[3], 0x9b00dbd8u);
  const int64_t digitsOfPi[3] = {int64_t(0x299f31d0a4093822), 0x13198a2e,
                                 0x03707344};
  Words pi = runKernel(4 * int64_t(0x243f6a88), 0x85a308d3, digitsOfPi);
  EXPECT_EQ(pi.byRun[0], 0xd16cfe09u);
  EXPECT_EQ(pi.byRun[1], 0x94fdccebu);
  EXPECT_EQ(pi.byRun[2], 0x5001e420u);
  EXPECT_EQ(pi.byRun[3], 0x24126ea1u);
}

TEST(Philox, RunAndLanesAgreeWithScalarCode) {
  const int64_t key[3] = {-12345678901234567, 17, 3};
  for (int64_t first : {int64_t(0), int64_t(4), int64_t(1) << 33}) {
    Words words = runKernel(first, 7, key);
    for (int64_t i = 0; i < 64; ++i) {
      EXPECT_EQ(words.byLane[i], philoxWord(first + i, 7, key)) << first + i;
      EXPECT_EQ(words.byRun[i], philoxWord(first + i, 7, key)) << first + i;
    }
  }
}

TEST(Philox, CountersAndKeysAreTakenModuloTwoToThe32) {
  const int64_t key[3] = {5, (int64_t(1) << 32) + 9, -1};
  Words words = runKernel(8, (int64_t(3) << 32) + 2, key);
  for (int64_t i = 0; i < 64; ++i)
    EXPECT_EQ(words.byRun[i], philoxWord(8 + i, 2, key)) << i;
}

} // namespace
