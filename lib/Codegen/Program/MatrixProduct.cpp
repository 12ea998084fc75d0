//===- MatrixProduct.cpp - Contractions as calls of a library -------------===//

#include "Lowering.h"

#include "hone/Analysis/Fusion/ContractionGroups.h"
#include "hone/Analysis/Layout/Strides.h"
#include "hone/IR/Fp8.h"
#include "hone/Plan/AbiNumbers.h"

using namespace mlir;
using namespace hone;
using namespace hone::plan;

namespace {
/// A matrix product as the library sees it: one stride per index. See
/// honert_matmul and honert_matmul_epilogue.
class MatrixProduct {
public:
  explicit MatrixProduct(LaunchOp launch) : launch(launch) {}
  /// Reads the body of a contraction launch. Errors are reported.
  LogicalResult read();
  /// Operands of honert_matmul after the names.
  SmallVector<Value> operands(ProgramWriter &writer) const;
  /// Calls of honert_matmul_epilogue: number of the epilogue, aux, its stride,
  /// sums.
  SmallVector<std::array<int64_t, 4>> epilogues() const { return calls; }
  /// Operands of honert_matmul_scales; none where operands are no codes.
  SmallVector<int64_t> scales() const;
  std::optional<ProductActivation> activation() const;

private:
  LogicalResult readBuffers();
  LogicalResult readTypes();
  LogicalResult readStrides();
  LogicalResult readActivation();
  LogicalResult readSums();
  Value inputOf(Value value) const;
  Value outputOf(Value value) const;
  std::optional<CollapsedDims> collapse(Value buffer,
                                        ArrayRef<int64_t> dims) const;

  LaunchOp launch;
  ContractionForm form;
  Value lhs, rhs, result, bias, addend; // buffers; those absent are null
  Value lhsScales, rhsScales;           // buffers; null if there are no codes
  Type operandType, resultType;         // of elements
  int64_t batch, m, n, k;
  SmallVector<int64_t> strides;
  SmallVector<std::array<int64_t, 4>> calls;
};
} // namespace

static SmallVector<int64_t> dimRange(int64_t from, int64_t to) {
  return llvm::to_vector(llvm::seq<int64_t>(from, to));
}

static int64_t offsetOf(Value buffer) {
  return buffer ? arenaOffset(buffer) : -1;
}

/// The buffer that a value of the body comes from, or null.
Value MatrixProduct::inputOf(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument ? LaunchOp(launch).getInputs()[argument.getArgNumber()]
                  : Value();
}

/// The buffer that a value of the body is written to, or null.
Value MatrixProduct::outputOf(Value value) const {
  LaunchOp op = launch;
  for (auto [yielded, buffer] : llvm::zip(
           op.getBodyBlock().getTerminator()->getOperands(), op.getOutputs()))
    if (yielded == value)
      return buffer;
  return {};
}

std::optional<CollapsedDims>
MatrixProduct::collapse(Value buffer, ArrayRef<int64_t> dims) const {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> steps = rowMajorStrides(type.getShape());
  if (type.getNumElements() != 0) // without elements, MLIR gives no strides
    steps = getStridesAndOffset(type).first;
  return collapseDims(type.getShape(), steps, dims);
}

LogicalResult MatrixProduct::readBuffers() {
  SmallVector<Operation *> ops;
  for (Operation &op : launch.getBodyBlock().without_terminator())
    ops.push_back(&op);
  std::optional<ContractionForm> found = ContractionForm::read(ops);
  if (!found)
    return launch.emitOpError("is no product with an epilogue");
  form = *found;
  lhs = inputOf(form.dot.getLhs());
  rhs = inputOf(form.dot.getRhs());
  if (!lhs || !rhs)
    return launch.emitOpError("multiplies values that are no inputs");
  if (form.dot.hasCodes()) {
    lhsScales = inputOf(form.dot.getLhsScales());
    rhsScales = inputOf(form.dot.getRhsScales());
    if (!lhsScales || !rhsScales)
      return launch.emitOpError("scales its operands by values that are no "
                                "inputs");
  }
  result = outputOf(form.result());
  if (!result)
    return launch.emitOpError("does not write its product");
  for (AddOp add : {form.bias, form.addend}) {
    if (!add)
      continue;
    for (Value operand : add->getOperands()) {
      if (auto broadcast = operand.getDefiningOp<BroadcastOp>())
        bias = inputOf(broadcast.getOperand());
      else if (Value buffer = inputOf(operand))
        addend = buffer;
    }
  }
  return success();
}

/// Element types must be some that the library multiplies.
LogicalResult MatrixProduct::readTypes() {
  operandType = getElementTypeOrSelf(lhs.getType());
  resultType = getElementTypeOrSelf(result.getType());
  if (form.dot.hasCodes()) {
    if (isa<Float32Type, BFloat16Type>(resultType))
      return success();
    return launch.emitOpError() << "writes products of codes as " << resultType
                                << ", expected f32 or bf16";
  }
  if (!isa<Float32Type, BFloat16Type, Float16Type>(operandType))
    return launch.emitOpError() << "multiplies elements of type " << operandType
                                << ", expected f32, bf16 or f16";
  if (resultType != operandType && !resultType.isF32())
    return launch.emitOpError()
           << "writes products of type " << operandType << " as " << resultType
           << ", expected the same or f32";
  return success();
}

LogicalResult MatrixProduct::readStrides() {
  DotGeneralOp dot = form.dot;
  // Dimensions of the result: batch, free of lhs, free of rhs.
  int64_t batches = dot.getLhsBatch().size(), rows = dot.getLhsFree().size(),
          rank = cast<ShapedType>(dot.getType()).getRank();
  SmallVector<CollapsedDims> indices;
  auto take = [&](Value buffer, ArrayRef<int64_t> dims) {
    std::optional<CollapsedDims> index = collapse(buffer, dims);
    if (index)
      indices.push_back(*index);
    return index.has_value();
  };
  bool ok = take(lhs, dot.getLhsBatch()) && take(lhs, dot.getLhsFree()) &&
            take(lhs, dot.getLhsContract()) && take(rhs, dot.getRhsBatch()) &&
            take(rhs, dot.getRhsContract()) && take(rhs, dot.getRhsFree());
  for (Value buffer : {result, addend ? addend : result})
    ok = ok && take(buffer, dimRange(0, batches)) &&
         take(buffer, dimRange(batches, batches + rows)) &&
         take(buffer, dimRange(batches + rows, rank));
  if (!ok)
    return launch.emitOpError("has an operand without one stride per index, "
                              "expected hone-normalize-contractions before");
  batch = indices[0].size;
  m = indices[1].size;
  k = indices[2].size;
  n = indices[5].size;
  for (const CollapsedDims &index : indices)
    strides.push_back(index.stride);
  return success();
}

/// GELU of the product, or of its gradient.
LogicalResult MatrixProduct::readActivation() {
  if (!form.gelu && !form.geluBwd)
    return success();
  Value aux = form.gelu ? outputOf(form.gelu.getInput())
                        : inputOf(form.geluBwd.getInput());
  if (form.geluBwd && !aux)
    return launch.emitOpError("reads the argument of a GELU from no input");
  int64_t stride = 0;
  if (aux) {
    int64_t rank = cast<MemRefType>(aux.getType()).getRank();
    std::optional<CollapsedDims> rows = collapse(aux, dimRange(0, rank - 1));
    if (!rows)
      return launch.emitOpError("has the argument of a GELU without one stride "
                                "between rows");
    stride = m == 1 ? n : rows->stride;
  }
  abi::Epilogue epilogue = form.geluBwd ? abi::Epilogue::geluBwd
                           : aux        ? abi::Epilogue::geluAux
                                        : abi::Epilogue::gelu;
  calls.push_back({int64_t(epilogue), offsetOf(aux), stride, -1});
  return success();
}

/// Sums of columns of the result, or of an operand.
LogicalResult MatrixProduct::readSums() {
  if (!form.sums)
    return success();
  Value sums = outputOf(form.sums.getResult());
  if (!sums || !getElementTypeOrSelf(sums.getType()).isF32())
    return launch.emitOpError("writes no sums of f32");
  if (!form.sumsOperand) {
    calls.back()[0] = int64_t(abi::Epilogue::geluBwdSums);
    calls.back()[3] = offsetOf(sums);
    return success();
  }
  Value summed = form.sums.getOperand();
  if (auto cast = summed.getDefiningOp<CastOp>())
    summed = cast.getOperand();
  SmallVector<int64_t> contract(form.dot.getLhsContract());
  llvm::sort(contract);
  bool isLhs =
      summed == form.dot.getLhs() && llvm::equal(contract, form.sums.getDims());
  calls.push_back({int64_t(isLhs ? abi::Epilogue::sumsA : abi::Epilogue::sumsB),
                   -1, 0, offsetOf(sums)});
  return success();
}

LogicalResult MatrixProduct::read() {
  return success(succeeded(readBuffers()) && succeeded(readTypes()) &&
                 succeeded(readStrides()) && succeeded(readActivation()) &&
                 succeeded(readSums()));
}

std::optional<ProductActivation> MatrixProduct::activation() const {
  GeluOp gelu = form.gelu;
  GeluBwdOp geluBwd = form.geluBwd;
  Operation *op = gelu ? gelu.getOperation() : geluBwd.getOperation();
  if (!op)
    return std::nullopt;
  LaunchOp whole = launch;
  OperandRange inputs = whole.getInputs(), outputs = whole.getOutputs();
  auto numberIn = [](OperandRange buffers, Value buffer) {
    return std::distance(buffers.begin(), llvm::find(buffers, buffer));
  };
  auto outputNumber = [&](Value buffer) {
    return int64_t(inputs.size()) + numberIn(outputs, buffer);
  };
  ProductActivation product = {
      op, m, n, m == 1 ? n : strides[7], calls.front()[2], outputNumber(result),
      {}, {}};
  if (bias)
    product.bias = numberIn(inputs, bias);
  if (geluBwd)
    product.aux = numberIn(inputs, inputOf(geluBwd.getInput()));
  else if (Value aux = outputOf(gelu.getInput()))
    product.aux = outputNumber(aux);
  return product;
}

SmallVector<Value> MatrixProduct::operands(ProgramWriter &writer) const {
  SmallVector<Value> values;
  for (int64_t number :
       {abi::dtype(operandType), abi::dtype(resultType), batch, m, n, k})
    values.push_back(writer.integer(number));
  values.push_back(writer.array(strides));
  for (Value buffer : {lhs, rhs, result, bias, addend})
    values.push_back(writer.integer(offsetOf(buffer)));
  return values;
}

/// The number of the tile in the ABI.
static int64_t modeOf(const honert::ScaleLayout &layout) {
  switch (layout.tile) {
  case honert::ScaleTile::tensor:
    return int64_t(abi::ScaleMode::tensor);
  case honert::ScaleTile::row128:
    return int64_t(abi::ScaleMode::vector128);
  case honert::ScaleTile::block128:
    return int64_t(abi::ScaleMode::block128);
  case honert::ScaleTile::row32:
    return int64_t(abi::ScaleMode::vector32);
  }
  llvm_unreachable("a tile of scales");
}

SmallVector<int64_t> MatrixProduct::scales() const {
  if (!lhsScales)
    return {};
  DotGeneralOp dot = form.dot;
  return {abi::dtype(getElementTypeOrSelf(rhs.getType())),
          modeOf(dot.getLhsScaleLayout()),
          offsetOf(lhsScales),
          modeOf(dot.getRhsScaleLayout()),
          offsetOf(rhsScales),
          dot.getFastAccumulation()};
}

LogicalResult ProgramLowering::describeProduct(LaunchOp launch) {
  MatrixProduct product(launch);
  if (failed(product.read()))
    return failure();
  SmallVector<Value> operands = nameOperands(launch);
  llvm::append_range(operands, product.operands(writer));
  writer.call("honert_matmul", operands);
  if (SmallVector<int64_t> scales = product.scales(); !scales.empty()) {
    operands.clear();
    for (int64_t number : scales)
      operands.push_back(writer.integer(number));
    writer.call("honert_matmul_scales", operands);
  }
  for (const std::array<int64_t, 4> &epilogue : product.epilogues()) {
    operands.clear();
    for (int64_t number : epilogue)
      operands.push_back(writer.integer(number));
    writer.call("honert_matmul_epilogue", operands);
  }
  std::optional<ProductActivation> activation = product.activation();
  return activation ? describeActivation(launch, *activation) : success();
}
