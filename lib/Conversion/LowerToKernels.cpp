//===- LowerToKernels.cpp - From the plan to kernels and calls ------------===//

#include "hone/Analysis/Scratch.h"
#include "hone/Analysis/Strides.h"
#include "hone/Conversion/AttentionKernels.h"
#include "hone/Conversion/GatherKernels.h"
#include "hone/Conversion/OptimizerKernels.h"
#include "hone/Conversion/Passes.h"
#include "hone/Conversion/PointKernels.h"
#include "hone/Conversion/RopeKernels.h"
#include "hone/Conversion/RowKernels.h"

#include "hone/Plan/AbiNumbers.h"

#include "DescribeMemory.h"
#include "ProgramWriter.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace hone {
#define GEN_PASS_DEF_LOWERTOKERNELS
#include "hone/Conversion/Passes.h.inc"
} // namespace hone

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

/// The names that a location carries (module of the user's model), innermost
/// last, "a/b", or "".
static std::string nameOf(Location loc) {
  std::string text;
  loc->walk([&](Location part) {
    if (auto name = dyn_cast<NameLoc>(part)) {
      if (!text.empty())
        text += "/";
      text += name.getName().getValue();
    }
    return WalkResult::advance();
  });
  return text;
}

namespace {

/// A matrix product as the library sees it: inputs by number, one stride per
/// index. See honert_matmul.
struct MatrixProduct {
  int64_t batch, m, n, k;
  Type operand, result; // of the elements
  SmallVector<int64_t> strides;
  unsigned lhs, rhs;
  std::optional<unsigned> bias, addend;
};

class Lowering {
public:
  Lowering(ModuleOp module, ProgramOp program)
      : module(module), program(program), builder(module.getContext()),
        writer(module) {}
  LogicalResult run();

private:
  void describeProgram();
  void describeArgument(ArgumentOp argument);
  LogicalResult describeFunction(FunctionOp function);
  void describeResult(ResultOp result);
  LogicalResult describeLaunch(LaunchOp launch);
  LogicalResult describeProduct(LaunchOp launch);
  LogicalResult describeNorm(LaunchOp launch);
  using Emitter =
      function_ref<FailureOr<Kernel>(OpBuilder &, StringRef, LaunchOp)>;
  LogicalResult describeKernel(LaunchOp launch, StringRef stage,
                               Emitter emitter);
  void describeCall(LaunchOp launch, const Kernel &kernel,
                    ArrayRef<int64_t> offsets);
  Kernel finishKernel(Kernel kernel, ArrayRef<bool> shared);
  std::string keyOf(LaunchOp launch, StringRef stage);
  std::string labelOf(LaunchOp launch);

  ModuleOp module;
  ProgramOp program;
  OpBuilder builder;
  ProgramWriter writer;
  llvm::StringMap<Kernel> kernels; // by what they compute
};

} // namespace

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

void Lowering::describeProgram() {
  auto text = [&](StringRef key, StringRef attribute) {
    if (auto value = module->getAttrOfType<StringAttr>(attribute))
      writer.call("honert_meta",
                  {writer.string(key), writer.string(value.getValue())});
  };
  text("model", attr::model);
  text("precision", attr::precision);
  for (StringRef key : {"package", "fingerprint", "target", "compiler"})
    text(key, ("hone." + key).str());
  auto number = [&](StringRef key, double value) {
    writer.call("honert_meta_number",
                {writer.string(key), writer.number(value)});
  };
  int64_t microBatches = 1;
  if (auto count = module->getAttrOfType<IntegerAttr>(attr::microBatches))
    microBatches = count.getInt();
  number("abi", 1);
  number("micro_batches", microBatches);
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
  for (auto function : program.getOps<FunctionOp>()) {
    auto own = function->getAttrOfType<IntegerAttr>("plan.flops");
    StringRef name = function.getSymName();
    if (own && name != "evaluate")
      flops += own.getInt() * (name == "accumulate" ? microBatches : 1);
  }
  for (auto argument : program.getOps<ArgumentOp>()) {
    int64_t elements = cast<ShapedType>(argument.getType()).getNumElements();
    if (argument.getKind() == kind::param)
      parameters += countElements(argument.getParts().value_or(ArrayAttr()),
                                  argument.getType());
    if (argument.getRole() == StringRef("tokens"))
      tokens = elements * microBatches;
  }
  number("parameters", parameters);
  number("flops_per_step", flops);
  if (tokens > 0)
    number("model_flops_per_token", double(flops) / tokens);
  describeMemory(program, writer);
}

void Lowering::describeArgument(ArgumentOp argument) {
  auto type = cast<RankedTensorType>(argument.getType());
  writer.call("honert_argument",
              {writer.integer(abi::kind(argument.getKind())),
               writer.string(argument.getFqn()),
               writer.integer(abi::dtype(type.getElementType())),
               writer.integer(type.getRank()), writer.array(type.getShape()),
               writer.integer(argument.getOffset())});
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
  if (argument.getKind() == kind::input)
    writer.call("honert_argument_role",
                {writer.integer(abi::role(argument.getRole().value_or(""))),
                 writer.integer(argument.getVocab().value_or(0))});
}

void Lowering::describeResult(ResultOp result) {
  auto type = cast<MemRefType>(result.getBuffer().getType());
  writer.call("honert_result",
              {writer.string(result.getName()),
               writer.integer(abi::dtype(type.getElementType())),
               writer.integer(type.getRank()), writer.array(type.getShape()),
               writer.integer(arenaOffset(result.getBuffer()))});
}

LogicalResult Lowering::describeFunction(FunctionOp function) {
  writer.call("honert_function", {writer.string(function.getSymName())});
  for (Operation &op : function.getBody().front()) {
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      if (failed(describeLaunch(launch)))
        return failure();
    } else if (auto result = dyn_cast<ResultOp>(op)) {
      describeResult(result);
    }
  }
  return success();
}

LogicalResult Lowering::run() {
  describeProgram();
  for (auto argument : program.getOps<ArgumentOp>())
    describeArgument(argument);
  for (auto function : program.getOps<FunctionOp>())
    if (failed(describeFunction(function)))
      return failure();
  writer.finish();
  program.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// The op that gives a launch of a library or single-op family its name; the
/// yield of one that copies.
static Operation *mainOp(LaunchOp launch) {
  for (Operation &op : launch.getBodyBlock().without_terminator())
    if (cast<HoneOpInterface>(op).getKernelFamily() == launch.getFamily())
      return &op;
  return &launch.getBodyBlock().front();
}

LogicalResult Lowering::describeLaunch(LaunchOp launch) {
  Operation *main = mainOp(launch);
  switch (launch.getFamily()) {
  case KernelFamily::contraction:
    return describeProduct(launch);
  case KernelFamily::attention:
    return describeKernel(launch, "", emitAttention);
  case KernelFamily::map:
    if (isa<RopeOp>(main))
      return describeKernel(launch, "", emitRope);
    return describeKernel(launch, "", emitRowKernel);
  case KernelFamily::row:
    if (failed(describeKernel(launch, "", emitRowKernel)))
      return failure();
    if (launch.getScratch().empty())
      return success();
    return describeKernel(launch, "sums", emitPartialSums);
  case KernelFamily::gather:
    return describeKernel(launch, "", emitGather);
  case KernelFamily::multi:
    if (isa<GlobalNormOp>(main))
      return describeNorm(launch);
    return describeKernel(launch, "", emitUpdates);
  case KernelFamily::move:
  case KernelFamily::column:
  case KernelFamily::view:
    return describeKernel(launch, "", emitPoint);
  }
  llvm_unreachable("unknown family");
}

/// Which buffers of a launch share memory with one that it writes: two
/// launches can share a kernel only where these agree.
static SmallVector<bool> aliased(LaunchOp launch) {
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

/// A text that is equal for launches whose kernels are: body, types, aliasing.
std::string Lowering::keyOf(LaunchOp launch, StringRef stage) {
  std::string key;
  llvm::raw_string_ostream stream(key);
  stream << stage << "|" << stringifyKernelFamily(launch.getFamily()) << "|";
  for (Value buffer : launch.getOperands())
    stream << buffer.getType() << ",";
  stream << "|" << launch.getInputs().size() << ","
         << launch.getOutputs().size() << "|";
  if (launch.getFamily() == KernelFamily::multi) {
    // Too many to compare in pairs, and few such launches are equal.
    for (Value buffer : launch.getOperands())
      stream << arenaOffset(buffer) << ",";
  } else {
    for (bool shared : aliased(launch))
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

std::string Lowering::labelOf(LaunchOp launch) {
  Operation *main = mainOp(launch);
  std::string label =
      isa<plan::YieldOp>(main) ? "copy" : main->getName().stripDialect().str();
  std::string name = nameOf(launch.getLoc());
  return name.empty() ? label : label + " " + name;
}

/// Promises about the kernel's buffers, and the entry the runtime calls.
/// `shared` says which buffers may not be promised to be alone.
Kernel Lowering::finishKernel(Kernel kernel, ArrayRef<bool> shared) {
  kernel.func.setPrivate();
  for (auto [index, isShared] : llvm::enumerate(shared))
    if (!isShared)
      kernel.func.setArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName(),
                             builder.getUnitAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(module.getBody());
  declareEntry(builder, kernel);
  return kernel;
}

LogicalResult Lowering::describeKernel(LaunchOp launch, StringRef stage,
                                       Emitter emitter) {
  std::string key = keyOf(launch, stage);
  auto found = kernels.find(key);
  if (found == kernels.end()) {
    std::string name = ("k" + Twine(kernels.size()) + "_" +
                        stringifyKernelFamily(launch.getFamily()))
                           .str();
    builder.setInsertionPointToEnd(module.getBody());
    FailureOr<Kernel> kernel = emitter(builder, name, launch);
    if (failed(kernel))
      return failure();
    // A kernel with a table sees other buffers than the launch.
    SmallVector<bool> shared;
    if (kernel->table.tensors.empty())
      shared = aliased(launch);
    found = kernels.try_emplace(key, finishKernel(*kernel, shared)).first;
  }
  SmallVector<int64_t> offsets;
  for (Value buffer : launch.getOperands())
    offsets.push_back(arenaOffset(buffer));
  describeCall(launch, found->second, offsets);
  return success();
}

void Lowering::describeCall(LaunchOp launch, const Kernel &kernel,
                            ArrayRef<int64_t> offsets) {
  func::FuncOp func = kernel.func;
  writer.call("honert_launch",
              {writer.string(labelOf(launch)),
               writer.string(sourceOf(launch.getLoc())),
               writer.kernel((func.getSymName() + "_entry").str()),
               writer.integer(kernel.items), writer.integer(kernel.grain),
               writer.integer(offsets.size()), writer.array(offsets)});
}

//===----------------------------------------------------------------------===//
// Library calls
//===----------------------------------------------------------------------===//

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

/// The number of the input that a value of the body is, or none.
static std::optional<unsigned> inputNumber(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getArgNumber();
  return std::nullopt;
}

/// Reads product (+ bias) (+ addend) from the body of a contraction launch.
static FailureOr<MatrixProduct> readProduct(LaunchOp launch) {
  Block &body = launch.getBodyBlock();
  auto dot = *body.getOps<DotGeneralOp>().begin();
  MatrixProduct product;
  std::optional<unsigned> lhs = inputNumber(dot.getLhs()),
                          rhs = inputNumber(dot.getRhs());
  if (!lhs || !rhs)
    return launch.emitOpError("multiplies values that are no inputs");
  product.lhs = *lhs;
  product.rhs = *rhs;
  for (auto add : body.getOps<AddOp>())
    for (Value operand : add->getOperands()) {
      if (auto broadcast = operand.getDefiningOp<BroadcastOp>())
        product.bias = inputNumber(broadcast.getOperand());
      else if (std::optional<unsigned> number = inputNumber(operand))
        product.addend = number;
    }

  auto memref = [&](unsigned input) {
    return cast<MemRefType>(launch.getInputs()[input].getType());
  };
  SmallVector<CollapsedDims> collapsed;
  auto collapse = [&](MemRefType type, ArrayRef<int64_t> dims) {
    SmallVector<int64_t> strides = rowMajorStrides(type.getShape());
    if (type.getNumElements() != 0) // without elements, MLIR gives no strides
      strides = getStridesAndOffset(type).first;
    auto index = collapseDims(type.getShape(), strides, dims);
    if (index)
      collapsed.push_back(*index);
    return index.has_value();
  };
  // Dimensions of the result: batch, free of lhs, free of rhs.
  int64_t batch = dot.getLhsBatch().size(), rows = dot.getLhsFree().size(),
          rank = cast<ShapedType>(dot.getType()).getRank();
  auto out = cast<MemRefType>(launch.getOutputs().front().getType());
  MemRefType addend = product.addend ? memref(*product.addend) : out;
  auto range = [](int64_t from, int64_t to) {
    return llvm::to_vector(llvm::seq<int64_t>(from, to));
  };
  bool ok = collapse(memref(*lhs), dot.getLhsBatch()) &&
            collapse(memref(*lhs), dot.getLhsFree()) &&
            collapse(memref(*lhs), dot.getLhsContract()) &&
            collapse(memref(*rhs), dot.getRhsBatch()) &&
            collapse(memref(*rhs), dot.getRhsContract()) &&
            collapse(memref(*rhs), dot.getRhsFree());
  for (MemRefType type : {out, addend})
    ok = ok && collapse(type, range(0, batch)) &&
         collapse(type, range(batch, batch + rows)) &&
         collapse(type, range(batch + rows, rank));
  if (!ok)
    return launch.emitOpError("has an operand without one stride per index, "
                              "expected hone-normalize-contractions before");
  product.batch = collapsed[0].size;
  product.m = collapsed[1].size;
  product.k = collapsed[2].size;
  product.n = collapsed[5].size;
  for (const CollapsedDims &index : collapsed)
    product.strides.push_back(index.stride);
  return product;
}

/// Reads the element types, which must be some that the library multiplies.
static LogicalResult readTypes(LaunchOp launch, MatrixProduct &product) {
  Type operand =
      getElementTypeOrSelf(launch.getInputs()[product.lhs].getType());
  Type result = getElementTypeOrSelf(launch.getOutputs().front().getType());
  if (!isa<Float32Type, BFloat16Type, Float16Type>(operand))
    return launch.emitOpError() << "multiplies elements of type " << operand
                                << ", expected f32, bf16 or f16";
  if (result != operand && !result.isF32())
    return launch.emitOpError()
           << "writes products of type " << operand << " as " << result
           << ", expected the same or f32";
  product.operand = operand;
  product.result = result;
  return success();
}

LogicalResult Lowering::describeProduct(LaunchOp launch) {
  FailureOr<MatrixProduct> product = readProduct(launch);
  if (failed(product) || failed(readTypes(launch, *product)))
    return failure();
  auto offset = [&](std::optional<unsigned> input) {
    return writer.integer(input ? arenaOffset(launch.getInputs()[*input]) : -1);
  };
  writer.call("honert_matmul",
              {writer.string(labelOf(launch)),
               writer.string(sourceOf(launch.getLoc())),
               writer.integer(abi::dtype(product->operand)),
               writer.integer(abi::dtype(product->result)),
               writer.integer(product->batch), writer.integer(product->m),
               writer.integer(product->n), writer.integer(product->k),
               writer.array(product->strides), offset(product->lhs),
               offset(product->rhs),
               writer.integer(arenaOffset(launch.getOutputs().front())),
               offset(product->bias), offset(product->addend)});
  return success();
}

namespace {
struct LowerToKernels : hone::impl::LowerToKernelsBase<LowerToKernels> {
  void runOnOperation() override {
    auto programs = getOperation().getOps<ProgramOp>();
    if (!llvm::hasSingleElement(programs)) {
      getOperation().emitError("has no plan.program, or several: run "
                               "hone-plan-memory before");
      return signalPassFailure();
    }
    if (failed(Lowering(getOperation(), *programs.begin()).run()))
      signalPassFailure();
  }
};
} // namespace
