//===- PlanDialect.cpp - The plan dialect and its verifiers ---------------===//

#include "hone/IR/ResultNames.h"
#include "hone/Plan/Plan.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace hone;
using namespace hone::plan;

#include "hone/Plan/PlanDialect.cpp.inc"
#include "hone/Plan/PlanEnums.cpp.inc"

#define GET_OP_CLASSES
#include "hone/Plan/PlanOps.cpp.inc"

void PlanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "hone/Plan/PlanOps.cpp.inc"
      >();
}

void *PlanDialect::getRegisteredInterfaceForOp(TypeID interface,
                                               OperationName) {
  return findResultNames(interface);
}

LogicalResult ProgramOp::verify() {
  if (int64_t(getArena()) < 0 || getArena() % alignment != 0) // program_c1
    return emitOpError() << "arena is " << int64_t(getArena())
                         << ", expected a non-negative multiple of "
                         << alignment;
  if (getStage() && int64_t(*getStage()) < 0) // program_c2
    return emitOpError() << "is of stage " << int64_t(*getStage())
                         << ", expected a number from 0";
  if (getHost() && (int64_t(*getHost()) <= 0 || // program_c3
                    *getHost() % alignment != 0))
    return emitOpError() << "has a second arena of " << int64_t(*getHost())
                         << " bytes, expected a positive multiple of "
                         << alignment;
  return success();
}

/// Checks that [offset, offset + bytes) lies in the arena of the program
/// around `op`.
static LogicalResult verifyInside(Operation *op, int64_t offset,
                                  int64_t bytes) {
  int64_t arena = op->getParentOfType<ProgramOp>().getArena();
  if (offset >= 0 && bytes <= arena && offset <= arena - bytes)
    return success();
  return op->emitOpError() << "covers " << bytes << " bytes from " << offset
                           << " on, expected inside [0, " << arena << ")";
}

/// The same of the second arena.
static LogicalResult verifyOnHost(Operation *op, int64_t offset,
                                  int64_t bytes) {
  int64_t host = op->getParentOfType<ProgramOp>().getHost().value_or(0);
  if (offset >= 0 && bytes <= host && offset <= host - bytes)
    return success();
  return op->emitOpError() << "covers " << bytes << " bytes from " << offset
                           << " on, expected inside [0, " << host
                           << ") of the second arena";
}

LogicalResult ArgumentOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape())
    return emitOpError() << "has type " << getType()
                         << ", expected a tensor of static shape";
  if (getOffset() % alignment != 0) // argument_c1
    return emitOpError() << "offset is " << getOffset()
                         << ", expected a multiple of " << alignment;
  if (int64_t(getWindow()) < 1) // argument_c2
    return emitOpError() << "has a window of " << int64_t(getWindow())
                         << " instances, expected at least 1";
  if (getHost() && getWindow() != 1) // argument_c2
    return emitOpError() << "has a window of " << int64_t(getWindow())
                         << " instances in the second arena, expected 1";
  if (getHost())
    return verifyOnHost(*this, getOffset(), getEnd() - getOffset());
  return verifyInside(*this, getOffset(), getEnd() - getOffset());
}

int64_t ArgumentOp::getEnd() {
  return getOffset() + windowBytes(getType(), getWindow());
}

int64_t hone::plan::windowBytes(Type type, int64_t instances) {
  int64_t bytes = byteSize(type);
  return (instances - 1) * int64_t(llvm::alignTo(bytes, alignment)) + bytes;
}

int64_t hone::plan::extentBytes(MemRefType type) {
  if (type.getNumElements() == 0)
    return 0; // and MLIR gives no strides
  auto [strides, offset] = getStridesAndOffset(type);
  int64_t last = offset;
  for (auto [size, stride] : llvm::zip(type.getShape(), strides))
    last += (size - 1) * stride;
  return (last + 1) * elementByteWidth(type.getElementType());
}

int64_t hone::plan::arenaOffset(Value buffer) {
  if (auto view = buffer.getDefiningOp<ViewOp>())
    return arenaOffset(view.getBase()) + view.getOffset();
  return buffer.getDefiningOp<BufferOp>().getOffset();
}

bool hone::plan::overlap(Value a, Value b) {
  int64_t aBegin = arenaOffset(a), bBegin = arenaOffset(b);
  int64_t aEnd = aBegin + extentBytes(cast<MemRefType>(a.getType()));
  int64_t bEnd = bBegin + extentBytes(cast<MemRefType>(b.getType()));
  return aBegin < bEnd && bBegin < aEnd;
}

BufferOp hone::plan::rootBuffer(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewOp>())
    buffer = view.getBase();
  return buffer.getDefiningOp<BufferOp>();
}

/// Checks that every address of a buffer is known.
static LogicalResult verifyStatic(Operation *op, MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (type.getNumElements() == 0) // has no address
    return success();
  if (succeeded(getStridesAndOffset(type, strides, offset)) &&
      !ShapedType::isDynamic(offset) && !ShapedType::isDynamicShape(strides))
    return success();
  return op->emitOpError() << "has type " << type
                           << ", expected static strides";
}

LogicalResult BufferOp::verify() {
  if (failed(verifyStatic(*this, cast<MemRefType>(getType())))) // buffer_c1
    return failure();
  return verifyInside(*this, getOffset(), // buffer_c1
                      extentBytes(cast<MemRefType>(getType())));
}

LogicalResult ViewOp::verify() {
  if (!isa_and_present<BufferOp, ViewOp>(getBase().getDefiningOp()))
    return emitOpError("has a base that is no buffer of the arena");
  if (failed(verifyStatic(*this, cast<MemRefType>(getType())))) // view_c1
    return failure();
  return verifyInside(*this, arenaOffset(getResult()), // view_c1
                      extentBytes(cast<MemRefType>(getType())));
}

/// Whether a tensor and a buffer agree in shape and element type.
static bool agree(Type tensor, Type buffer) {
  auto shaped = cast<ShapedType>(buffer);
  return RankedTensorType::get(shaped.getShape(), shaped.getElementType()) ==
         tensor;
}

LogicalResult LaunchOp::verify() {
  Block &body = getBodyBlock();
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (body.getNumArguments() != getInputs().size() || !yield ||
      yield.getValues().size() != getOutputs().size()) // launch_c1
    return emitOpError() << "has " << getInputs().size() << " inputs and "
                         << getOutputs().size()
                         << " outputs, expected as many block arguments and "
                            "yielded values";
  for (auto [argument, buffer] : llvm::zip(body.getArguments(), getInputs()))
    if (!agree(argument.getType(), buffer.getType())) // launch_c1
      return emitOpError() << "reads " << buffer.getType() << " as "
                           << argument.getType();
  for (auto [value, buffer] : llvm::zip(yield.getValues(), getOutputs()))
    if (!agree(value.getType(), buffer.getType())) // launch_c1
      return emitOpError() << "writes " << value.getType() << " to "
                           << buffer.getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Copies between the arenas
//===----------------------------------------------------------------------===//

LogicalResult CopyOp::verify() {
  auto type = cast<MemRefType>(getBuffer().getType());
  if (!isa_and_present<BufferOp, ViewOp>(getBuffer().getDefiningOp()))
    return emitOpError("copies what is no buffer of the arena");
  if (getOffset() % alignment != 0) // copy_c1
    return emitOpError() << "has offset " << int64_t(getOffset())
                         << ", expected a multiple of " << alignment;
  if (extentBytes(type) !=
      type.getNumElements() *
          elementByteWidth(type.getElementType())) // copy_c2
    return emitOpError() << "copies " << type
                         << " with gaps, expected one run of memory";
  if (int64_t(getToken()) < 0) // copy_c3
    return emitOpError() << "has token " << int64_t(getToken())
                         << ", expected a number from 0";
  return verifyOnHost(*this, getOffset(), extentBytes(type)); // copy_c1
}

bool hone::plan::overlapOnHost(CopyOp a, CopyOp b) {
  auto endOf = [](CopyOp copy) {
    return int64_t(copy.getOffset()) +
           extentBytes(cast<MemRefType>(copy.getBuffer().getType()));
  };
  return int64_t(a.getOffset()) < endOf(b) && int64_t(b.getOffset()) < endOf(a);
}

LogicalResult WaitOp::verify() {
  for (Operation *op = (*this)->getPrevNode(); op; op = op->getPrevNode()) {
    if (auto wait = dyn_cast<WaitOp>(op); wait && wait.getToken() == getToken())
      return emitOpError() << "is the second for token " // wait_c1
                           << int64_t(getToken());
    if (auto copy = dyn_cast<CopyOp>(op); copy && copy.getToken() == getToken())
      return success();
  }
  return emitOpError() << "is for token " << int64_t(getToken()) // wait_c1
                       << ", with which no copy before it has begun";
}

//===----------------------------------------------------------------------===//
// Lists of stages
//===----------------------------------------------------------------------===//

/// Checks that `micro` of an action is a micro-batch.
template <typename Action> static LogicalResult verifyMicro(Action action) {
  if (int64_t(action.getMicro()) >= 0)
    return success();
  return action.emitOpError()
         << "is for micro-batch " << int64_t(action.getMicro())
         << ", expected a number from 0";
}

/// The list has one op for each action: what they name is looked up once.
LogicalResult ActionsOp::verifyRegions() {
  auto program = cast<ProgramOp>((*this)->getParentOp());
  if (getName() != "step" && getName() != "evaluate") // actions_c1
    return emitOpError() << "is list '" << getName()
                         << "', expected 'step' or 'evaluate'";
  if (!program.getStage()) // actions_c2
    return emitOpError("is in a program without stage, expected 'stage N'");
  for (auto other : program.getOps<ActionsOp>())
    if (other != *this && other.getName() == getName()) // actions_c2
      return emitOpError() << "is list '" << getName()
                           << "', which the program has twice";
  for (auto run : getOps<RunOp>()) {
    if (!isa_and_present<FunctionOp>(
            program.lookupSymbol(run.getFunction()))) // run_c1
      return run.emitOpError() << "is of " << run.getFunctionAttr()
                               << ", which is no function of the program";
    if (failed(verifyMicro(run))) // run_c2
      return failure();
    if (int64_t(run.getBeside().value_or(0)) < 0) // run_c2
      return run.emitOpError()
             << "is beside micro-batch " << int64_t(*run.getBeside())
             << ", expected a number from 0";
    if (run.getBeside() && getName() != "step") // run_c3
      return run.emitOpError() << "is beside another micro-batch in list '"
                               << getName() << "', expected list 'step'";
  }
  llvm::DenseSet<std::pair<StringRef, StringRef>> arguments;
  for (auto argument : program.getOps<ArgumentOp>())
    arguments.insert({argument.getKind(), argument.getFqn()});
  for (auto transfer : getOps<TransferOp>()) {
    if (!arguments.contains({transfer.getKind(), transfer.getFqn()}))
      return transfer.emitOpError() // transfer_c1
             << "is of " << transfer.getKind() << " '" << transfer.getFqn()
             << "', which is no argument of the program";
    if (failed(verifyMicro(transfer))) // transfer_c2
      return failure();
    int64_t peer = transfer.getPeer();
    if (peer < 0 || peer == int64_t(*program.getStage())) // transfer_c3
      return transfer.emitOpError()
             << "has peer " << peer << ", expected another stage than "
             << int64_t(*program.getStage());
  }
  return success();
}
