//===- LowerToKernels.cpp - From the plan to kernels and calls ------------===//

#include "Codegen/CPU/Attention/Kernels.h"
#include "Codegen/CPU/DepthwiseKernels.h"
#include "Codegen/CPU/GatherKernels.h"
#include "Codegen/CPU/GenericKernels.h"
#include "Codegen/CPU/LineKernels.h"
#include "Codegen/CPU/OptimizerKernels.h"
#include "Codegen/CPU/RopeKernels.h"
#include "Codegen/CPU/RowKernels.h"
#include "Codegen/CPU/WeightKernels.h"
#include "hone/Analysis/Memory/Scratch.h"
#include "hone/Codegen/Passes.h"

#include "Codegen/Common/SharedBodies.h"
#include "Codegen/GPU/LowerToDevice.h"
#include "Codegen/Program/Lowering.h"
#include "hone/Analysis/Cost/TargetDescription.h"
#include "hone/Plan/LaunchLabel.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace hone {
#define GEN_PASS_DEF_LOWERTOKERNELS
#include "hone/Codegen/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::plan;

namespace {
class Lowering : public ProgramLowering {
public:
  using ProgramLowering::ProgramLowering;

private:
  LogicalResult describeLaunch(LaunchOp launch) override;
  LogicalResult describeNorm(LaunchOp launch);
  LogicalResult describeConvolution(LaunchOp launch);
  using Emitter =
      function_ref<FailureOr<Kernel>(OpBuilder &, StringRef, LaunchOp)>;
  LogicalResult describeKernel(LaunchOp launch, StringRef stage,
                               Emitter emitter);
  void describeCall(LaunchOp launch, const Kernel &kernel);
  Kernel finishKernel(Kernel kernel, ArrayRef<bool> shared, bool sharesBody);

  llvm::StringMap<Kernel> kernels; // by what they compute
  SharedBodies bodies;
};
} // namespace

LogicalResult Lowering::describeLaunch(LaunchOp launch) {
  Operation *main = mainOp(launch);
  switch (launch.getFamily()) {
  case KernelFamily::collective:
    return describeCollective(launch);
  case KernelFamily::contraction:
    return describeProduct(launch);
  case KernelFamily::attention:
    return describeKernel(launch, "", emitAttention);
  case KernelFamily::rope:
    return describeKernel(launch, "", emitRope);
  case KernelFamily::map:
    zeroMagnitudes(launch);
    return describeKernel(launch, "", emitRowKernel);
  case KernelFamily::row:
    zeroMagnitudes(launch);
    if (failed(describeKernel(launch, "", emitRowKernel)))
      return failure();
    if (launch.getScratch().empty())
      return success();
    return describeKernel(launch, "sums", emitPartialSums);
  case KernelFamily::gather:
    return describeKernel(launch, "", emitGather);
  case KernelFamily::multiTensor:
    if (isa<GlobalNormOp>(main))
      return describeNorm(launch);
    return describeKernel(launch, "", emitUpdates);
  case KernelFamily::line:
    return describeKernel(launch, "", emitLine);
  case KernelFamily::dataMovement:
    return describeKernel(launch, "", emitMovement);
  case KernelFamily::convolution:
    return describeConvolution(launch);
  case KernelFamily::groupedContraction:
    if (describeGroupedProduct(launch))
      return success();
    return describeKernel(launch, "", emitPoint);
  case KernelFamily::column:
  case KernelFamily::view:
    return describeKernel(launch, "", emitPoint);
  }
  llvm_unreachable("unknown family");
}

/// Promises about the kernel's buffers, and the entry the runtime calls.
/// `shared` says which buffers may not be promised to be alone; a kernel that
/// `sharesBody` calls code that others may call (SharedBodies).
Kernel Lowering::finishKernel(Kernel kernel, ArrayRef<bool> shared,
                              bool sharesBody) {
  kernel.func.setPrivate();
  for (auto [index, isShared] : llvm::enumerate(shared))
    if (!isShared)
      kernel.func.setArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName(),
                             builder.getUnitAttr());
  if (sharesBody)
    kernel.func = bodies.share(builder, kernel.func);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(module.getBody());
  declareEntry(builder, kernel);
  return kernel;
}

/// Whether the launch draws random numbers: its salts tell it from others.
static bool drawsNumbers(LaunchOp launch) {
  return llvm::any_of(launch.getBodyBlock(), [](Operation &op) {
    auto random = dyn_cast<RandomOpInterface>(op);
    return random && random.getRandomKey();
  });
}

LogicalResult Lowering::describeKernel(LaunchOp launch, StringRef stage,
                                       Emitter emitter) {
  std::string key = keyOf(launch, stage);
  auto found = kernels.find(key);
  if (found == kernels.end()) {
    builder.setInsertionPointToEnd(module.getBody());
    FailureOr<Kernel> kernel = emitter(builder, kernelName(launch), launch);
    if (failed(kernel))
      return failure();
    // A kernel with a table sees other buffers than the launch.
    bool hasTable = !kernel->table.tensors.empty();
    SmallVector<bool> shared;
    if (!hasTable)
      shared = aliasedBuffers(launch);
    Kernel finished =
        finishKernel(*kernel, shared, !hasTable && drawsNumbers(launch));
    found = kernels.try_emplace(key, finished).first;
  }
  describeCall(launch, found->second);
  return success();
}

void Lowering::describeCall(LaunchOp launch, const Kernel &kernel) {
  func::FuncOp func = kernel.func;
  SmallVector<Value> operands = nameOperands(launch);
  operands.append({writer.kernel((func.getSymName() + "_entry").str()),
                   writer.integer(kernel.items), writer.integer(kernel.grain)});
  llvm::append_range(operands, offsetOperands(launch));
  writer.call("honert_launch", operands);
}

/// Where each channel is convolved apart, a kernel on vectors of channels, with
/// a second one for its partial sums; else the library's call; the generic
/// kernel where the library has none, or where bits must not depend on it.
LogicalResult Lowering::describeConvolution(LaunchOp launch) {
  auto op = dyn_cast<ConvolutionOpInterface>(mainOp(launch));
  if (op && !hasVectorKernel(op) && !isMeshInvariant(module) &&
      describeLibraryConvolution(launch))
    return success();
  if (failed(describeKernel(launch, "", emitConvolution)))
    return failure();
  if (launch.getScratch().empty())
    return success();
  return describeKernel(launch, "sums", emitWeightSums);
}

/// Sums of squares, a kernel per element type, then the root of their sum.
LogicalResult Lowering::describeNorm(LaunchOp launch) {
  llvm::SmallSetVector<Type, 2> elements;
  for (Value input : launch.getInputs())
    elements.insert(getElementTypeOrSelf(input.getType()));
  for (Type element : elements) {
    auto emit = [&](OpBuilder &, StringRef name, LaunchOp) {
      return emitSquareSums(builder, name, launch, cast<FloatType>(element));
    };
    std::string stage;
    llvm::raw_string_ostream(stage) << "squares " << element;
    if (failed(describeKernel(launch, stage, emit)))
      return failure();
  }
  return describeKernel(launch, "root", emitNormFinish);
}

namespace {
struct LowerToKernels : hone::impl::LowerToKernelsBase<LowerToKernels> {
  void runOnOperation() override {
    if (failed(checkPrograms()))
      return signalPassFailure();
    FailureOr<TargetDescription> target = getTarget(getOperation());
    if (failed(target))
      return signalPassFailure();
    bool isCuda = target->kind == TargetKind::CUDA;
    LogicalResult lowered =
        isCuda ? lowerToDevice(getOperation()) : Lowering(getOperation()).run();
    if (failed(lowered))
      signalPassFailure();
  }

  LogicalResult checkPrograms();
};
} // namespace

/// There is one program, or one for each stage of a pipeline.
LogicalResult LowerToKernels::checkPrograms() {
  auto programs = getOperation().getOps<ProgramOp>();
  auto isOfStage = [](ProgramOp program) { return bool(program.getStage()); };
  if (llvm::hasSingleElement(programs) ||
      (!programs.empty() && llvm::all_of(programs, isOfStage)))
    return success();
  return getOperation().emitError("has no plan.program, or several that are no "
                                  "stages: run hone-plan-memory before");
}
