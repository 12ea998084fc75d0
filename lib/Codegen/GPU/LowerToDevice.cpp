//===- LowerToDevice.cpp - From the plan to kernels of a GPU --------------===//

#include "LowerToDevice.h"

#include "ActivationKernels.h"
#include "AddKernels.h"
#include "Attention.h"
#include "Codegen/Program/Lowering.h"
#include "DataMovementKernels.h"
#include "GatherKernels.h"
#include "GroupedKernels.h"
#include "NormKernels.h"
#include "QuantizeKernels.h"
#include "RopeKernels.h"
#include "RowKernels.h"
#include "ScatterKernels.h"
#include "SelectionKernels.h"
#include "UpdateKernels.h"
#include "hone/Analysis/Memory/Scratch.h"
#include "hone/Codegen/Program/AttentionPlans.h"
#include "hone/Codegen/Program/DeviceImages.h"
#include "hone/Plan/LaunchLabel.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace hone;
using namespace hone::plan;

namespace {
class DeviceLowering : public ProgramLowering {
public:
  explicit DeviceLowering(ModuleOp module);

private:
  using Emitter = function_ref<FailureOr<GridKernel>(OpBuilder &, StringRef)>;
  using LaunchEmitter = FailureOr<GridKernel> (*)(OpBuilder &, StringRef,
                                                  LaunchOp);

  LogicalResult describeLaunch(LaunchOp launch) override;
  LogicalResult describeActivation(LaunchOp launch,
                                   const ProductActivation &product) override;
  LogicalResult finish() override;
  LogicalResult describeNorm(LaunchOp launch);
  LogicalResult describeAdds(LaunchOp launch);
  LogicalResult describeScatter(LaunchOp launch);
  LogicalResult describeLine(LaunchOp launch);
  LogicalResult describeRow(LaunchOp launch);
  LogicalResult describeCodes(LaunchOp launch);
  LogicalResult describeAmax(LaunchOp launch);
  LogicalResult describeAttention(LaunchOp launch);
  LogicalResult describeAlone(LaunchOp launch, LaunchEmitter emitter);
  /// Describes the launch of a kernel that takes the launch's buffers, or the
  /// arena alone.
  LogicalResult describeKernel(LaunchOp launch, StringRef stage,
                               bool takesArena, Emitter emitter);
  /// The kernel of a stage of a launch, made for the first of equal ones.
  FailureOr<GridKernel> kernelOf(LaunchOp launch, StringRef stage,
                                 bool takesArena, Emitter emitter);
  SmallVector<Value> gridOperands(GridKernel kernel);
  void describeTensors(StringRef call, ArrayRef<Value> buffers);
  void describeAccesses(LaunchOp launch);
  void promise(gpu::GPUFuncOp func, LaunchOp launch);
  std::string nameFor(LaunchOp launch, StringRef stage);

  gpu::GPUModuleOp device;
  llvm::StringMap<GridKernel> kernels; // by what they compute
};
} // namespace

DeviceLowering::DeviceLowering(ModuleOp module) : ProgramLowering(module) {
  builder.setInsertionPointToEnd(module.getBody());
  device = builder.create<gpu::GPUModuleOp>(module.getLoc(), "hone_device");
  module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                  builder.getUnitAttr());
}

/// A text that is equal for launches whose buffers are aligned alike, as far as
/// accesses of 16 bytes go.
static std::string alignmentsOf(LaunchOp launch) {
  std::string text;
  for (Value buffer : launch->getOperands())
    text += "," + std::to_string(arenaOffset(buffer) % 16);
  return text;
}

/// Where buffers share no memory with one that is written, the compiler may
/// reorder accesses and read through the texture path.
void DeviceLowering::promise(gpu::GPUFuncOp func, LaunchOp launch) {
  for (auto [index, isShared] : llvm::enumerate(aliasedBuffers(launch))) {
    if (isShared)
      continue;
    func.setArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName(),
                    builder.getUnitAttr());
    if (index < launch.getInputs().size())
      func.setArgAttr(index, LLVM::LLVMDialect::getReadonlyAttrName(),
                      builder.getUnitAttr());
  }
}

/// What a kernel computes, for who reads a profile: its first ops besides those
/// that only move or choose values, and a row of its largest result, as
/// "max_sub_exp_sum_bf16x50304".
static std::string workOf(LaunchOp launch) {
  llvm::SmallSetVector<StringRef, 4> words;
  constexpr size_t most = 4;
  for (Operation &op : launch.getBodyBlock().without_terminator()) {
    if (cast<HoneOpInterface>(op).getNumericClass() == NumericClass::copy ||
        words.size() == most)
      continue;
    auto reduce = dyn_cast<ReduceOp>(op);
    words.insert(reduce ? stringifyReduceKind(reduce.getKind())
                        : op.getName().stripDialect());
  }
  if (words.empty())
    words.insert(mainOp(launch)->getName().stripDialect());
  auto type = cast<MemRefType>(launch.getOutputs().front().getType());
  for (Value output : launch.getOutputs())
    if (auto other = cast<MemRefType>(output.getType());
        other.getNumElements() > type.getNumElements())
      type = other;
  std::string text = llvm::join(words, "_") + "_";
  llvm::raw_string_ostream(text)
      << type.getElementType() << "x"
      << (type.getRank() == 0 ? 1 : type.getShape().back());
  return text;
}

/// "k3_row_max_sub_exp_sum_bf16x50304", and what the kernel does of a launch
/// that has several.
std::string DeviceLowering::nameFor(LaunchOp launch, StringRef stage) {
  std::string name = kernelName(launch) + "_" + workOf(launch);
  if (!stage.empty())
    name += ("_" + stage).str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_'; // as PTX has names
  return name;
}

FailureOr<GridKernel> DeviceLowering::kernelOf(LaunchOp launch, StringRef stage,
                                               bool takesArena,
                                               Emitter emitter) {
  std::string key = keyOf(launch, stage) + alignmentsOf(launch);
  auto found = kernels.find(key);
  if (found == kernels.end()) {
    builder.setInsertionPoint(device.getBody(), --device.getBody()->end());
    FailureOr<GridKernel> kernel = emitter(builder, nameFor(launch, stage));
    if (failed(kernel))
      return failure();
    if (!takesArena)
      promise(kernel->func, launch);
    found = kernels.try_emplace(key, *kernel).first;
  }
  return found->second;
}

SmallVector<Value> DeviceLowering::gridOperands(GridKernel kernel) {
  return {writer.string(kernel.func.getName()), writer.integer(kernel.blocks),
          writer.integer(kernel.threads)};
}

void DeviceLowering::describeTensors(StringRef call, ArrayRef<Value> buffers) {
  SmallVector<int64_t> tensors;
  for (Value buffer : buffers) {
    auto type = cast<MemRefType>(buffer.getType());
    Type element = type.getElementType();
    tensors.append({abi::dtype(element), arenaOffset(buffer),
                    extentBytes(type) / elementByteWidth(element)});
  }
  writer.call(call,
              {writer.integer(tensors.size() / 3), writer.array(tensors)});
}

/// All that the kernels of a launch read and write: which of them touches what,
/// a comparison of each with its emulation need not know.
void DeviceLowering::describeAccesses(LaunchOp launch) {
  SmallVector<Value> written(launch.getOutputs());
  llvm::append_range(written, launch.getScratch());
  describeTensors("honert_device_writes", written);
  describeTensors("honert_device_reads",
                  SmallVector<Value>(launch.getInputs()));
}

/// A kernel with a table has the places of tensors in its code, so that it
/// finds no other instance of a window than the first.
static LogicalResult checkPlaces(LaunchOp launch) {
  auto program = launch->getParentOfType<ProgramOp>();
  for (auto argument : program.getOps<ArgumentOp>()) {
    if (argument.getWindow() == 1)
      continue;
    auto type = cast<RankedTensorType>(argument.getType());
    int64_t bytes =
        type.getNumElements() * elementByteWidth(type.getElementType());
    for (Value buffer : launch->getOperands())
      if (int64_t at = arenaOffset(buffer) - int64_t(argument.getOffset());
          at >= 0 && at < bytes)
        return launch.emitOpError("reads window '")
               << argument.getFqn() << "' by a table of places, expected "
               << "arguments of one instance";
  }
  return success();
}

LogicalResult DeviceLowering::describeKernel(LaunchOp launch, StringRef stage,
                                             bool takesArena, Emitter emitter) {
  if (takesArena && failed(checkPlaces(launch)))
    return failure();
  FailureOr<GridKernel> kernel = kernelOf(launch, stage, takesArena, emitter);
  if (failed(kernel))
    return failure();
  if (kernel->blocks == 0)
    return success();
  SmallVector<Value> operands = nameOperands(launch);
  llvm::append_range(operands, gridOperands(*kernel));
  if (takesArena)
    operands.append({writer.integer(1), writer.array({-1})}); // the arena
  else
    llvm::append_range(operands, offsetOperands(launch));
  writer.call("honert_device_launch", operands);
  describeAccesses(launch);
  return success();
}

LogicalResult
DeviceLowering::describeActivation(LaunchOp launch,
                                   const ProductActivation &product) {
  FailureOr<GridKernel> kernel =
      kernelOf(launch, "activation", /*takesArena=*/false,
               [&](OpBuilder &b, StringRef name) {
                 return emitProductActivation(b, name, launch, product);
               });
  if (failed(kernel))
    return failure();
  if (kernel->blocks == 0)
    return success();
  SmallVector<Value> operands = gridOperands(*kernel);
  llvm::append_range(operands, offsetOperands(launch));
  writer.call("honert_matmul_activation", operands);
  return success();
}

/// A launch of one kernel.
LogicalResult DeviceLowering::describeAlone(LaunchOp launch,
                                            LaunchEmitter emitter) {
  bool hasTable = launch.getFamily() == KernelFamily::multiTensor;
  return describeKernel(
      launch, "", hasTable,
      [&](OpBuilder &b, StringRef name) { return emitter(b, name, launch); });
}

LogicalResult DeviceLowering::describeRow(LaunchOp launch) {
  zeroMagnitudes(launch);
  if (failed(describeKernel(launch, "", /*takesArena=*/false,
                            [&](OpBuilder &b, StringRef name) {
                              return emitDeviceRowKernel(b, name, launch);
                            })))
    return failure();
  if (launch.getScratch().empty())
    return success();
  return describeKernel(launch, "sums", /*takesArena=*/false,
                        [&](OpBuilder &b, StringRef name) {
                          return emitDevicePartialSums(b, name, launch);
                        });
}

LogicalResult DeviceLowering::describeCodes(LaunchOp launch) {
  if (failed(describeAlone(launch, emitDeviceQuantize)))
    return failure();
  if (launch.getScratch().empty())
    return success();
  return describeKernel(launch, "sums", /*takesArena=*/false,
                        [&](OpBuilder &b, StringRef name) {
                          return emitDeviceCodeSums(b, name, launch);
                        });
}

/// Of an input, or of what the kernel computes as one that makes codes does.
LogicalResult DeviceLowering::describeAmax(LaunchOp launch) {
  zeroMagnitudes(launch);
  bool isOfInput = isa<AmaxOp>(launch.getBodyBlock().front());
  return describeAlone(launch, isOfInput ? emitDeviceAmax : emitDeviceQuantize);
}

LogicalResult DeviceLowering::describeScatter(LaunchOp launch) {
  if (failed(describeKernel(launch, "sort", /*takesArena=*/false,
                            [&](OpBuilder &b, StringRef name) {
                              return emitDeviceScatterSort(b, name, launch);
                            })))
    return failure();
  return describeKernel(launch, "", /*takesArena=*/false,
                        [&](OpBuilder &b, StringRef name) {
                          return emitDeviceScatterSums(b, name, launch);
                        });
}

LogicalResult DeviceLowering::describeLine(LaunchOp launch) {
  auto stages = lineStages(launch);
  if (failed(stages))
    return failure();
  for (LineStage stage : *stages)
    if (failed(describeKernel(launch, stage.name, /*takesArena=*/false,
                              [&](OpBuilder &b, StringRef name) {
                                return stage.emit(b, name, launch);
                              })))
      return failure();
  return success();
}

LogicalResult DeviceLowering::describeNorm(LaunchOp launch) {
  llvm::SmallSetVector<Type, 2> elements;
  for (Value input : launch.getInputs())
    elements.insert(getElementTypeOrSelf(input.getType()));
  for (Type element : elements) {
    std::string stage;
    llvm::raw_string_ostream(stage) << "squares " << element;
    auto emit = [&](OpBuilder &b, StringRef name) {
      return emitDeviceSquareSums(b, name, launch, cast<FloatType>(element));
    };
    if (failed(describeKernel(launch, stage, /*takesArena=*/true, emit)))
      return failure();
  }
  return describeKernel(launch, "root", /*takesArena=*/true,
                        [&](OpBuilder &b, StringRef name) {
                          return emitDeviceNormFinish(b, name, launch);
                        });
}

LogicalResult DeviceLowering::describeAdds(LaunchOp launch) {
  llvm::SmallSetVector<Type, 2> elements;
  for (Value output : launch.getOutputs())
    elements.insert(getElementTypeOrSelf(output.getType()));
  for (Type element : elements) {
    std::string stage;
    llvm::raw_string_ostream(stage) << "adds " << element;
    auto emit = [&](OpBuilder &b, StringRef name) {
      return emitDeviceAdds(b, name, launch, element);
    };
    if (failed(describeKernel(launch, stage, /*takesArena=*/true, emit)))
      return failure();
  }
  return success();
}

LogicalResult DeviceLowering::describeAttention(LaunchOp launch) {
  FailureOr<AttentionCall> call = describeAttentionCall(launch);
  if (failed(call))
    return failure();
  LibraryScratch scratch = LibraryScratch::of(launch.getBodyBlock());
  StringRef stage = scratch.seed ? "seed" : scratch.lengths ? "lengths" : "";
  if (!stage.empty() &&
      failed(describeKernel(launch, stage, /*takesArena=*/false,
                            [&](OpBuilder &b, StringRef name) {
                              return emitAttentionInputs(b, name, launch);
                            })))
    return failure();
  SmallVector<Value> operands = nameOperands(launch);
  operands.append({writer.string(call->problem),
                   writer.integer(call->offsets.size()),
                   writer.array(call->offsets), writer.integer(call->workspace),
                   writer.integer(call->workspaceBytes)});
  writer.call("honert_attention", operands);
  writer.callPart(requestAttentionPlan(
      module, {call->problem, call->workspaceBytes, launch.getLoc()}));
  return success();
}

LogicalResult DeviceLowering::describeLaunch(LaunchOp launch) {
  Operation *main = mainOp(launch);
  Operation *last = launch.getBodyBlock().getTerminator()->getPrevNode();
  if (isa_and_nonnull<QuantizeOp>(last))
    return describeCodes(launch);
  if (launch.getFamily() == KernelFamily::dataMovement &&
      isa_and_nonnull<AmaxOp>(last))
    return describeAmax(launch);
  switch (launch.getFamily()) {
  case KernelFamily::collective:
    return describeCollective(launch);
  case KernelFamily::contraction:
    return describeProduct(launch);
  case KernelFamily::attention:
    return describeAttention(launch);
  case KernelFamily::rope:
    return describeAlone(launch, emitDeviceRope);
  case KernelFamily::map:
  case KernelFamily::row:
    return describeRow(launch);
  case KernelFamily::gather:
    if (isa<EmbeddingBwdOp>(main))
      return describeScatter(launch);
    return describeAlone(launch, emitDeviceGather);
  case KernelFamily::multiTensor:
    if (isa<GlobalNormOp>(main))
      return describeNorm(launch);
    if (isa<AddOp>(main))
      return describeAdds(launch);
    return describeAlone(launch, emitDeviceUpdates);
  case KernelFamily::line:
    return describeLine(launch);
  case KernelFamily::groupedContraction:
    return describeAlone(launch, emitDeviceGrouped);
  case KernelFamily::convolution:
  case KernelFamily::dataMovement:
  case KernelFamily::column:
  case KernelFamily::view:
    return describeAlone(launch, emitDevicePoint);
  }
  llvm_unreachable("unknown family");
}

LogicalResult DeviceLowering::finish() {
  writer.callPart(deviceImagesName);
  return success();
}

LogicalResult hone::lowerToDevice(ModuleOp module) {
  return DeviceLowering(module).run();
}
