//===- TensorCores.cpp - Products of fragments by a warp ------------------===//

#include "TensorCores.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace hone;
using namespace hone::tensorcores;

/// Calls `llvm.nvvm.NAME`.
static Value callIntrinsic(DeviceBuilder &b, const Twine &name, Type result,
                           ValueRange operands) {
  SmallVector<Type> types;
  if (result)
    types.push_back(result);
  auto call = b.create<LLVM::CallIntrinsicOp>(
      types, b.getStringAttr("llvm.nvvm." + name), operands,
      LLVM::FastmathFlags::none);
  return result ? call.getResults() : Value();
}

/// The parts of a struct of `count` elements.
static SmallVector<Value> partsOf(DeviceBuilder &b, Value all, int64_t count) {
  SmallVector<Value> parts;
  for (int64_t part = 0; part < count; ++part)
    parts.push_back(b.create<LLVM::ExtractValueOp>(all, part));
  return parts;
}

static Type structOf(Type element, int64_t count) {
  return LLVM::LLVMStructType::getLiteral(element.getContext(),
                                          SmallVector<Type>(count, element));
}

static Type pointerTo(DeviceBuilder &b, NVVM::NVVMMemorySpace space) {
  return LLVM::LLVMPointerType::get(b.getContext(), unsigned(space));
}

Value tensorcores::sharedMemory(DeviceBuilder &b, gpu::GPUFuncOp func,
                                int64_t bytes) {
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  Value memory = func.addWorkgroupAttribution(
      MemRefType::get({bytes}, b.getI8Type(), MemRefLayoutAttrInterface(),
                      space),
      b.getLoc());
  Value address = b.create<arith::IndexCastOp>(
      b.getI64Type(), b.create<memref::ExtractAlignedPointerAsIndexOp>(memory));
  return b.create<LLVM::IntToPtrOp>(pointerTo(b, NVVM::kSharedMemorySpace),
                                    address);
}

void tensorcores::copyAsync(DeviceBuilder &b, Value to, Value from,
                            int64_t bytes, Value read) {
  Value global = b.create<LLVM::AddrSpaceCastOp>(
      pointerTo(b, NVVM::kGlobalMemorySpace), from);
  // What one block reads, another may read too: 16 bytes leave the L1 alone.
  StringRef cache = bytes == 16 ? "cg" : "ca";
  callIntrinsic(b,
                "cp.async." + cache + ".shared.global." + Twine(bytes) + ".s",
                Type(), {to, global, read});
}

void tensorcores::closeCopies(DeviceBuilder &b) {
  b.create<NVVM::CpAsyncCommitGroupOp>();
}

void tensorcores::waitForCopies(DeviceBuilder &b, int64_t left) {
  b.create<NVVM::CpAsyncWaitGroupOp>(uint32_t(left));
}

SmallVector<Value> tensorcores::loadMatrices(DeviceBuilder &b, Value row,
                                             bool areTransposed) {
  constexpr int64_t matrices = 4;
  StringRef order = areTransposed ? ".trans" : "";
  Value all =
      callIntrinsic(b, "ldmatrix.sync.aligned.m8n8.x4" + order + ".b16.p3",
                    structOf(b.getI32Type(), matrices), row);
  return partsOf(b, all, matrices);
}

SmallVector<Value> tensorcores::multiply(DeviceBuilder &b, Type element,
                                         ValueRange a, ValueRange other,
                                         ValueRange sums) {
  SmallVector<Value> operands;
  for (ValueRange pairs : {a, other})
    for (Value pair : pairs) {
      if (element.isF16())
        pair = b.create<LLVM::BitcastOp>(VectorType::get({2}, element), pair);
      operands.push_back(pair);
    }
  llvm::append_range(operands, sums);
  Value all = callIntrinsic(b,
                            Twine("mma.m16n8k16.row.col.") +
                                (element.isF16() ? "f32.f32" : "bf16"),
                            structOf(b.getF32Type(), laneSums), operands);
  return partsOf(b, all, laneSums);
}
