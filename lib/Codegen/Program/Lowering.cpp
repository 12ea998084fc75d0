//===- Lowering.cpp - Describes a planned program -------------------------===//

#include "Lowering.h"

#include "DescribeMemory.h"
#include "hone/Analysis/Cost/KernelCost.h"
#include "hone/Analysis/Cost/StepFlops.h"
#include "hone/IR/Documents.h"
#include "hone/IR/DroppedRows.h"
#include "hone/IR/IndexedOps.h"
#include "hone/Plan/AbiNumbers.h"
#include "hone/Plan/LaunchLabel.h"
#include "hone/Sharding/IR/Dist.h"

using namespace mlir;
using namespace hone;
using namespace hone::plan;

//===----------------------------------------------------------------------===//
// Locations
//===----------------------------------------------------------------------===//

/// The first source line a location leads to, "file:line", or "".
static std::string sourceOf(Location loc) {
  std::string text;
  loc->walk([&](Location part) {
    auto line = dyn_cast<FileLineColLoc>(part);
    if (!line)
      return WalkResult::advance();
    text = (line.getFilename().getValue() + ":" + Twine(line.getLine())).str();
    return WalkResult::interrupt();
  });
  return text;
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// What holds for all stages.
void ProgramLowering::describeFacts() {
  auto text = [&](StringRef key, StringRef attribute) {
    if (auto value = module->getAttrOfType<StringAttr>(attribute))
      writer.call("honert_meta",
                  {writer.string(key), writer.string(value.getValue())});
  };
  text("model", attr::model);
  text("precision", attr::precision);
  for (StringRef key : {"package", "fingerprint", "target", "compiler",
                        "weights", "weights_id", "cpu", "cpu_features"})
    text(key, ("hone." + key).str());
  auto number = [&](StringRef key, double value) {
    writer.call("honert_meta_number",
                {writer.string(key), writer.number(value)});
  };
  int64_t microBatches = 1;
  if (auto count = module->getAttrOfType<IntegerAttr>(attr::microBatches))
    microBatches = count.getInt();
  number("abi", 2);
  number("micro_batches", microBatches);
  if (isMeshInvariant(module))
    number("mesh_invariant", 1);
  if (auto count = module->getAttrOfType<IntegerAttr>(attr::crossingAttentions))
    number("crossing_attentions", double(count.getInt()));
  if (auto optimizer = module->getAttrOfType<DictionaryAttr>(attr::optimizer)) {
    if (auto name = optimizer.getAs<StringAttr>("name"))
      writer.call("honert_meta",
                  {writer.string("optimizer"), writer.string(name.getValue())});
    for (StringRef key : {"lr", "weight_decay", "clip"})
      if (auto value = optimizer.getAs<FloatAttr>(key)) {
        double plain = value.getValueAsDouble();
        number(key, std::isinf(plain) ? 0 : plain); // clip 0: none
      }
  }
  int64_t flops = 0, tokens = 0, parameters = 0;
  for (ProgramOp program : programs) {
    for (auto function : program.getOps<FunctionOp>())
      if (auto own = function->getAttrOfType<IntegerAttr>("plan.flops"))
        flops +=
            own.getInt() * timesPerStep(function.getSymName(), microBatches);
    for (auto argument : program.getOps<ArgumentOp>()) {
      RankedTensorType whole = wholeTypeOf(argument);
      int64_t elements = whole.getNumElements();
      if (argument.getKind() == kind::param)
        parameters +=
            countElements(argument.getParts().value_or(ArrayAttr()), whole);
      if (argument.getRole() == StringRef("tokens"))
        tokens = elements * microBatches;
    }
  }
  // Each program is run by as many ranks as the others.
  flops *= mesh ? mesh->numRanks() / int64_t(programs.size()) : 1;
  number("parameters", parameters);
  number("flops_per_step", flops);
  if (tokens > 0)
    number("model_flops_per_token", double(flops) / tokens);
}

void ProgramLowering::describeArgument(ArgumentOp argument) {
  auto type = cast<RankedTensorType>(argument.getType());
  writer.call("honert_argument",
              {writer.integer(abi::kind(argument.getKind())),
               writer.string(argument.getFqn()),
               writer.integer(abi::dtype(type.getElementType())),
               writer.integer(type.getRank()), writer.array(type.getShape()),
               writer.integer(argument.getOffset())});
  if (argument.getHost())
    writer.call("honert_argument_host", {});
  if (argument.getWindow() != 1)
    writer.call("honert_argument_window",
                {writer.integer(argument.getWindow())});
  describeSharding(argument);
  if (auto parts = argument.getParts())
    for (auto part : parts->getAsRange<PartAttr>())
      writer.call("honert_argument_part",
                  {writer.string(part.getName()),
                   writer.integer(part.getShape().size()),
                   writer.array(part.getOffset()),
                   writer.array(part.getShape())});
  abi::Init init = abi::init(argument.getInit().value_or(DictionaryAttr()));
  std::string aliases =
      abi::aliases(argument.getAliases().value_or(ArrayAttr()));
  if (init.kind != 0 || !aliases.empty())
    writer.call("honert_argument_init",
                {writer.integer(init.kind), writer.number(init.a),
                 writer.number(init.b), writer.string(aliases)});
  // Values of a buffer that come with the package stay in the executable.
  auto data = argument.getInit() ? argument.getInit()->getAs<StringAttr>("data")
                                 : StringAttr();
  if (data)
    writer.call("honert_argument_data",
                {writer.string(data), writer.integer(data.size())});
  if (argument.getChanges())
    writer.call("honert_argument_changes", {});
  if (argument.getKind() == kind::input)
    writer.call("honert_argument_role",
                {writer.integer(abi::role(argument.getRole().value_or(""))),
                 writer.integer(argument.getVocab().value_or(0))});
  if (auto ignored = argument->getAttrOfType<IntegerAttr>(attr::ignore))
    writer.call("honert_argument_ignore", {writer.integer(ignored.getInt())});
  describeIdCheck(argument.getFqn(),
                  argument->getAttrOfType<DictionaryAttr>(attr::ids));
  describeDropped(argument.getFqn(),
                  argument->getAttrOfType<DictionaryAttr>(attr::dropped));
}

/// What a check of ids says of itself, once for each name.
void ProgramLowering::describeIdCheck(StringRef name, DictionaryAttr ids) {
  if (ids && described.insert(name).second)
    writer.call("honert_id_check",
                {writer.string(name),
                 writer.string(ids.getAs<StringAttr>("op").getValue()),
                 writer.string(ids.getAs<StringAttr>("source").getValue()),
                 writer.integer(ids.getAs<IntegerAttr>("size").getInt())});
}

void ProgramLowering::describeResult(ResultOp result) {
  auto type = cast<MemRefType>(result.getBuffer().getType());
  writer.call("honert_result",
              {writer.string(result.getName()),
               writer.integer(abi::dtype(type.getElementType())),
               writer.integer(type.getRank()), writer.array(type.getShape()),
               writer.integer(arenaOffset(result.getBuffer()))});
  describeIdCheck(result.getName(),
                  result->getAttrOfType<DictionaryAttr>(attr::ids));
  describeDropped(result.getName(),
                  result->getAttrOfType<DictionaryAttr>(attr::dropped));
}

/// What a count of dropped rows says of itself, once for each name.
void ProgramLowering::describeDropped(StringRef name, DictionaryAttr dropped) {
  auto number = [&](StringRef key) {
    return writer.number(dropped.getAs<FloatAttr>(key).getValueAsDouble());
  };
  if (dropped && described.insert(name).second)
    writer.call("honert_dropped_rows",
                {writer.string(name),
                 writer.string(dropped.getAs<StringAttr>("source").getValue()),
                 writer.integer(dropped.getAs<IntegerAttr>("rows").getInt()),
                 number("factor"), number("enough"),
                 writer.integer(dropped.getAs<BoolAttr>("stops").getValue())});
}

void ProgramLowering::describeCost(LaunchOp launch) {
  OpCost cost = launchCost(launch);
  writer.call("honert_launch_cost",
              {writer.string(stringifyKernelFamily(launch.getFamily())),
               writer.integer(cost.bytesRead + cost.bytesWritten),
               writer.integer(cost.flops)});
}

void ProgramLowering::describeCopy(CopyOp copy) {
  writer.call(
      "honert_copy",
      {writer.string(("copy " + stringifyDirection(copy.getDirection())).str()),
       writer.integer(abi::direction(stringifyDirection(copy.getDirection()))),
       writer.integer(arenaOffset(copy.getBuffer())),
       writer.integer(copy.getOffset()),
       writer.integer(
           extentBytes(cast<MemRefType>(copy.getBuffer().getType()))),
       writer.integer(copy.getToken())});
}

LogicalResult ProgramLowering::describeFunction(FunctionOp function) {
  writer.call("honert_function", {writer.string(function.getSymName())});
  for (Operation &op : function.getBody().front()) {
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      if (failed(describeLaunch(launch)))
        return failure();
      describeCost(launch);
    } else if (auto result = dyn_cast<ResultOp>(op)) {
      describeResult(result);
    } else if (auto copy = dyn_cast<CopyOp>(op)) {
      describeCopy(copy);
    } else if (auto wait = dyn_cast<plan::WaitOp>(op)) {
      writer.call("honert_copy_wait", {writer.integer(wait.getToken())});
    }
  }
  return success();
}

/// A list of a stage, in the words of honert_action.
void ProgramLowering::describeActions(ActionsOp actions) {
  auto describe = [&](StringRef kind, const Twine &what, int64_t micro,
                      int64_t peer) {
    writer.call("honert_action",
                {writer.string(actions.getName()),
                 writer.integer(abi::action(kind)), writer.string(what.str()),
                 writer.integer(micro), writer.integer(peer)});
  };
  for (Operation &op : actions.getBody().front())
    if (auto transfer = dyn_cast<TransferOp>(op))
      describe(stringifyTransfer(transfer.getTransfer()),
               transfer.getKind() + " " + transfer.getFqn(),
               transfer.getMicro(), transfer.getPeer());
    else if (auto run = dyn_cast<RunOp>(op)) {
      describe("run", run.getFunction(), run.getMicro(), /*peer=*/-1);
      if (run.getBeside())
        writer.call("honert_action_beside", {writer.integer(*run.getBeside())});
    }
}

LogicalResult ProgramLowering::describeProgram(ProgramOp program) {
  described.clear();
  if (program.getStage())
    writer.call("honert_stage", {writer.integer(*program.getStage())});
  describeMemory(program, writer);
  for (auto argument : program.getOps<ArgumentOp>())
    describeArgument(argument);
  for (auto function : program.getOps<FunctionOp>())
    if (failed(describeFunction(function)))
      return failure();
  for (auto actions : program.getOps<ActionsOp>())
    describeActions(actions);
  return success();
}

LogicalResult ProgramLowering::run() {
  describeFacts();
  describeMesh();
  for (ProgramOp program : programs)
    if (failed(describeProgram(program)))
      return failure();
  if (failed(finish()))
    return failure();
  writer.finish();
  for (ProgramOp program : programs)
    program.erase();
  for (auto op : llvm::make_early_inc_range(module.getOps<dist::MeshOp>()))
    op.erase(); // all that is left to say of it is said
  return success();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

SmallVector<bool> hone::aliasedBuffers(LaunchOp launch) {
  OperandRange buffers = launch.getOperands();
  auto isWritten = [&](size_t index) {
    return index >= launch.getInputs().size();
  };
  SmallVector<bool> result(buffers.size(), false);
  for (size_t a = 0; a != buffers.size(); ++a)
    for (size_t b = 0; b != buffers.size(); ++b)
      if (a != b && (isWritten(a) || isWritten(b)) &&
          overlap(buffers[a], buffers[b]))
        result[a] = true;
  return result;
}

std::string ProgramLowering::keyOf(LaunchOp launch, StringRef stage) {
  std::string key;
  llvm::raw_string_ostream stream(key);
  stream << stage << "|" << stringifyKernelFamily(launch.getFamily()) << "|";
  for (Value buffer : launch.getOperands())
    stream << buffer.getType() << ",";
  stream << "|" << launch.getInputs().size() << ","
         << launch.getOutputs().size() << "|";
  if (launch.getFamily() == KernelFamily::multiTensor) {
    // Too many to compare in pairs, and few such launches are equal.
    for (Value buffer : launch.getOperands())
      stream << arenaOffset(buffer) << ",";
  } else {
    for (bool shared : aliasedBuffers(launch))
      stream << shared;
  }
  // Values by number, so that names and locations do not matter.
  DenseMap<Value, unsigned> numbers;
  auto number = [&](Value value) {
    return numbers.try_emplace(value, numbers.size()).first->second;
  };
  for (BlockArgument argument : launch.getBodyBlock().getArguments())
    number(argument);
  for (Operation &op : launch.getBodyBlock()) {
    stream << "|" << op.getName() << op.getRawDictionaryAttrs()
           << op.getPropertiesAsAttribute();
    for (Value operand : op.getOperands())
      stream << " " << number(operand);
    for (Value result : op.getResults())
      stream << " = " << number(result) << ":" << result.getType();
  }
  return key;
}

void ProgramLowering::zeroMagnitudes(LaunchOp launch) {
  Operation *yield = launch.getBodyBlock().getTerminator();
  for (auto [yielded, output] :
       llvm::zip(yield->getOperands(), launch.getOutputs()))
    if (yielded.getDefiningOp<AmaxOp>())
      writer.call("honert_zero", {writer.integer(arenaOffset(output)),
                                  writer.integer(sizeof(float))});
}

SmallVector<Value> ProgramLowering::nameOperands(LaunchOp launch) {
  return {writer.string(labelOf(launch)),
          writer.string(sourceOf(launch.getLoc()))};
}

SmallVector<Value> ProgramLowering::offsetOperands(LaunchOp launch) {
  SmallVector<int64_t> offsets;
  for (Value buffer : launch.getOperands())
    offsets.push_back(arenaOffset(buffer));
  return {writer.integer(offsets.size()), writer.array(offsets)};
}

std::string ProgramLowering::kernelName(LaunchOp launch) {
  return ("k" + Twine(kernelCount++) + "_" +
          stringifyKernelFamily(launch.getFamily()))
      .str();
}
