//===- LowerDeviceCode.cpp - From a gpu.module to llvm and nvvm -----------===//

#include "hone/Target/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace hone {
#define GEN_PASS_DEF_LOWERDEVICECODE
#include "hone/Target/Passes.h.inc"
} // namespace hone

using namespace mlir;

/// Whether the op has an instruction, for the types that device code uses.
static bool hasInstruction(Operation *op) {
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
             math::CountLeadingZerosOp, math::CountTrailingZerosOp,
             math::CtPopOp, math::FloorOp, math::FmaOp, math::RoundEvenOp,
             math::SqrtOp, math::TruncOp>(op);
}

/// Refuses what would end as a call into a library, and parameters that are
/// more than an address.
static LogicalResult checkInput(gpu::GPUModuleOp module) {
  WalkResult walk = module.walk([](Operation *op) -> WalkResult {
    if ((isa_and_present<math::MathDialect>(op->getDialect()) &&
         !hasInstruction(op)) ||
        isa<arith::RemFOp>(op))
      return op->emitOpError("of ")
             << op->getResult(0).getType()
             << " has neither an instruction nor a polynomial on a GPU";
    auto func = dyn_cast<FunctionOpInterface>(op);
    if (!func)
      return WalkResult::advance();
    for (auto [index, type] : llvm::enumerate(func.getArgumentTypes())) {
      auto buffer = dyn_cast<BaseMemRefType>(type);
      if (buffer && !LLVMTypeConverter::canConvertToBarePtr(buffer))
        return op->emitOpError("'")
               << func.getName() << "' has parameter " << index << " of type "
               << type << ", expected a static shape and strides";
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Writes memory spaces as numbers: the conversions of other dialects know
/// nothing of the gpu dialect's names.
static void numberMemorySpaces(gpu::GPUModuleOp module) {
  AttrTypeReplacer replacer;
  Builder builder(module.getContext());
  replacer.addReplacement(
      [&](gpu::AddressSpaceAttr space) -> std::optional<Attribute> {
        switch (space.getValue()) {
        case gpu::AddressSpace::Global:
          return builder.getI64IntegerAttr(NVVM::kGlobalMemorySpace);
        case gpu::AddressSpace::Workgroup:
          return builder.getI64IntegerAttr(NVVM::kSharedMemorySpace);
        case gpu::AddressSpace::Private:
          break;
        }
        // The stack has generic addresses.
        return builder.getI64IntegerAttr(0);
      });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

/// What a single conversion cannot do: ops that become others of their own
/// dialect first.
static LogicalResult simplify(gpu::GPUModuleOp module) {
  module.walk([](memref::PrefetchOp op) { op.erase(); });
  RewritePatternSet patterns(module.getContext());
  populateGpuShufflePatterns(patterns);
  vector::populateVectorToVectorCanonicalizationPatterns(patterns);
  vector::populateVectorBroadcastLoweringPatterns(patterns);
  vector::populateVectorMaskOpLoweringPatterns(patterns);
  vector::populateVectorShapeCastLoweringPatterns(patterns);
  vector::populateVectorTransferLoweringPatterns(patterns,
                                                 /*maxTransferRank=*/1);
  // Bounds of masks may exceed 32 bits.
  vector::populateVectorMaskMaterializationPatterns(
      patterns, /*force32BitVectorIndices=*/false);
  vector::populateVectorMaskOpLoweringPatterns(patterns);
  vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
  return applyPatternsAndFoldGreedily(module, std::move(patterns));
}

/// math alone: the conversion of the gpu dialect would make library calls of
/// it.
static LogicalResult convertMath(gpu::GPUModuleOp module,
                                 LLVMTypeConverter &converter) {
  RewritePatternSet patterns(module.getContext());
  populateMathToLLVMConversionPatterns(converter, patterns);
  ConversionTarget target(*module.getContext());
  target.addLegalDialect<LLVM::LLVMDialect>();
  target.addIllegalDialect<math::MathDialect>();
  return applyPartialConversion(module, target, std::move(patterns));
}

static LogicalResult convertRest(gpu::GPUModuleOp module,
                                 LLVMTypeConverter &converter) {
  MLIRContext &context = *module.getContext();
  RewritePatternSet patterns(&context);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  index::populateIndexToLLVMConversionPatterns(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  populateGpuToNVVMConversionPatterns(converter, patterns);
  LLVMConversionTarget target(context);
  target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  // An emitter that has a buffer's parts already makes a memref of them by a
  // cast, which meets its inverse here.
  target.addLegalOp<gpu::GPUModuleOp, gpu::ModuleEndOp,
                    UnrealizedConversionCastOp>();
  return applyFullConversion(module, target, std::move(patterns));
}

namespace {
struct LowerDeviceCode : hone::impl::LowerDeviceCodeBase<LowerDeviceCode> {
  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    if (failed(checkInput(module)))
      return signalPassFailure();
    numberMemorySpaces(module);
    LowerToLLVMOptions options(&getContext());
    options.useBarePtrCallConv = true;
    // Offsets into an arena exceed 32 bits.
    options.overrideIndexBitwidth(64);
    LLVMTypeConverter converter(&getContext(), options);
    if (failed(simplify(module)) || failed(convertMath(module, converter)) ||
        failed(convertRest(module, converter)))
      signalPassFailure();
  }
};
} // namespace
