//===- QuantizeKernels.cpp - Codes of fp8 on a GPU ------------------------===//

#include "QuantizeKernels.h"

#include "Codegen/Common/CodeArith.h"
#include "Codegen/Common/KernelBuilder.h"
#include "Items.h"
#include "Magnitudes.h"
#include "SquareQuantizer.h"

using namespace mlir;
using namespace hone;
using namespace hone::square;
using honert::ScaleLayout;
using honert::ScaleTile;

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

/// Two codes of f32, already divided by their scale, the first in the lower
/// byte: i16. LLVM 19 has no intrinsic for the instruction.
static Value encodePair(DeviceBuilder &b, Value first, Value second,
                        honert::Fp8Format format) {
  StringRef code = format == honert::Fp8Format::e5m2
                       ? "cvt.rn.satfinite.e5m2x2.f32 $0, $1, $2;"
                       : "cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;";
  auto asmOp = b.create<LLVM::InlineAsmOp>(
      b.getI16Type(), ValueRange{second, first}, code, "=h,f,f",
      /*has_side_effects=*/false, /*is_align_stack=*/false,
      /*asm_dialect=*/nullptr, /*operand_attrs=*/nullptr);
  return asmOp.getRes();
}

Value square::encodeWord(DeviceBuilder &b, ArrayRef<Value> scaled,
                         honert::Fp8Format format) {
  auto half = [&](Value first, Value second) {
    return b.create<arith::ExtUIOp>(b.getI32Type(),
                                    encodePair(b, first, second, format));
  };
  Value high = b.create<arith::ShLIOp>(half(scaled[2], scaled[3]), b.i32(16));
  return b.create<arith::OrIOp>(half(scaled[0], scaled[1]), high);
}

SmallVector<Value> square::elementsOf(DeviceBuilder &b, Value vector) {
  SmallVector<Value> parts;
  for (int64_t lane = 0; lane < lanes; ++lane)
    parts.push_back(b.create<vector::ExtractOp>(vector, lane));
  return parts;
}

//===----------------------------------------------------------------------===//
// Quantisation
//===----------------------------------------------------------------------===//

LogicalResult QuantizeEmitter::readOps() {
  for (Operation &each : launch.getBodyBlock().without_terminator()) {
    if (auto amax = dyn_cast<AmaxOp>(each); amax && outputs.empty()) {
      source = amax.getOperand(); // the last op, without codes
      continue;
    }
    auto op = dyn_cast<QuantizeOp>(each);
    if (!op && outputs.empty())
      continue; // makes the matrix
    if (!op || (op.getAmax() && !isa<BlockArgument>(op.getAmax())) ||
        (!outputs.empty() &&
         outputs.front().op.getOperand() != op.getOperand()))
      return launch.emitOpError("is no quantisation of one matrix");
    outputs.push_back({op, {}, {}, {}, op.getScaleLayout(), op.getFormat(), 0});
  }
  if (!outputs.empty())
    source = outputs.front().op.getOperand();
  auto type = cast<ShapedType>(source.getType());
  rows = type.getDimSize(0);
  cols = type.getDimSize(1);
  if (failed(checkSums()))
    return failure();
  return checkSource();
}

void QuantizeEmitter::readArguments(gpu::GPUFuncOp func) {
  SmallVector<int64_t> offsets = arenaOffsets(launch);
  Operation *yield = launch.getBodyBlock().getTerminator();
  unsigned count = launch.getInputs().size();
  for (auto [at, yielded] : llvm::enumerate(yield->getOperands()))
    if (yielded.getDefiningOp<AmaxOp>())
      amaxResult = func.getArgument(count + at);
  for (CodesOutput &out : outputs) {
    if (Value amax = out.op.getAmax())
      out.amax = func.getArgument(cast<BlockArgument>(amax).getArgNumber());
    for (auto [at, yielded] : llvm::enumerate(yield->getOperands())) {
      if (yielded == out.op.getCodes()) {
        out.codes = func.getArgument(count + at);
        out.codesOffset = offsets[count + at];
      }
      if (yielded == out.op.getScales())
        out.scales = func.getArgument(count + at);
    }
  }
  for (unsigned number = 0; number != count; ++number)
    inputs.push_back(readInput(func, number));
  unsigned scratch = count + launch.getOutputs().size();
  for (unsigned each = 0; each != launch.getScratch().size(); ++each)
    sums.push_back(func.getArgument(scratch + each));
}

/// Every result that is no code and no scale is a sum of the columns of what
/// codes are made of.
LogicalResult QuantizeEmitter::checkSums() {
  size_t count = 0;
  for (Value yielded : launch.getBodyBlock().getTerminator()->getOperands()) {
    if (yielded.getDefiningOp<QuantizeOp>() || yielded.getDefiningOp<AmaxOp>())
      continue;
    auto reduce = yielded.getDefiningOp<ReduceOp>();
    Value summed = reduce ? reduce.getOperand() : Value();
    if (auto cast = summed ? summed.getDefiningOp<CastOp>() : CastOp();
        cast && summed != source)
      summed = cast.getOperand();
    if (summed != source || reduce.getKind() != ReduceKind::sum ||
        reduce.getDims() != ArrayRef<int64_t>(0) || !elementOf(yielded).isF32())
      return launch.emitOpError("makes codes of a matrix, and what is no sum "
                                "of its columns in f32");
    ++count;
  }
  if (count != launch.getScratch().size())
    return launch.emitOpError("has ")
           << launch.getScratch().size() << " scratch buffers, expected "
           << count << ", one per sum of columns";
  return success();
}

Value QuantizeEmitter::shared(gpu::GPUFuncOp func, int64_t count) {
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  return func.addWorkgroupAttribution(
      MemRefType::get({count}, b.getI32Type(), MemRefLayoutAttrInterface(),
                      space),
      b.getLoc());
}

/// The scale of all elements, or of the square's.
std::optional<QuantizeEmitter::Scale>
QuantizeEmitter::commonScale(const CodesOutput &out) {
  if (out.tile() == ScaleTile::tensor) {
    Scale scale =
        scaleOf(magnitudeBits(b, b.load(out.amax, b.getF32Type())), out);
    storeOneScale(out, scale);
    return scale;
  }
  if (out.tile() != ScaleTile::block128)
    return std::nullopt;
  Scale scale = scaleOf(amaxOfSquare(), out);
  bool isTransposed = out.isTransposed();
  storeBlockScale(out, scale, isTransposed ? squareCol : squareRow,
                  isTransposed ? squareRow : squareCol);
  return scale;
}

/// The scale of the thread's elements in its row `number`.
QuantizeEmitter::Scale QuantizeEmitter::scaleOfRow(const CodesOutput &out,
                                                   int64_t number, Value row) {
  bool isMx = out.tile() == ScaleTile::row32;
  int64_t tileThreads = isMx ? 32 / lanes : rowThreads;
  Value amax =
      b.create<vector::ReductionOp>(vector::CombiningKind::MAXUI, bits[number]);
  SmallVector<int64_t> distances = {2, 1};
  if (!isMx)
    distances = {8, 4, 2, 1};
  Scale scale = scaleOf(magnitude::largestOfLanes(b, amax, distances), out);
  Value size = b.number(thread, tileThreads);
  Value tile = b.create<arith::DivUIOp>(column, size);
  Value place = b.create<arith::RemUIOp>(column, size);
  b.emitIf(b.equal(place, 0), [&] {
    storeScale(out, scale, row,
               b.add(b.mul(squareCol, rowThreads / tileThreads), tile));
  });
  return scale;
}

void QuantizeEmitter::storeRowCodes(const CodesOutput &out, Value row,
                                    Value low, Value high) {
  Value offset = b.linearize({row, firstCol}, {cols, 1});
  Value rowExists = inside(row, rows, side);
  if (cols % lanes == 0 && out.codesOffset % lanes == 0) {
    auto pair = VectorType::get({2}, b.getI32Type());
    Value codes = b.create<arith::ConstantOp>(b.getZeroAttr(pair));
    codes = b.create<vector::InsertOp>(low, codes, 0);
    codes = b.create<vector::InsertOp>(high, codes, 1);
    emitIf(both(rowExists, inside(firstCol, cols, side)),
           [&] { b.store(codes, b.place(out.codes, b.getI8Type(), offset)); });
    return;
  }
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value word =
        b.create<arith::ShRUIOp>(lane < 4 ? low : high, b.i32(lane % 4 * 8));
    Value code = b.create<arith::TruncIOp>(b.getI8Type(), word);
    emitIf(both(rowExists, b.less(b.add(firstCol, lane), cols)),
           [&] { b.store(code, out.codes, b.add(offset, lane)); });
  }
}

/// Codes in the order of the matrix.
void QuantizeEmitter::emitRows(const CodesOutput &out) {
  std::optional<Scale> common = commonScale(out);
  for (int64_t number = 0; number < threadRows; ++number) {
    Value row = b.add(firstRow, number);
    Scale scale = common ? *common : scaleOfRow(out, number, row);
    SmallVector<Value> scaled;
    for (Value value : elementsOf(b, values[number]))
      scaled.push_back(b.create<arith::MulFOp>(value, scale.inverse));
    storeRowCodes(out, row,
                  encodeWord(b, ArrayRef(scaled).take_front(4), out.format),
                  encodeWord(b, ArrayRef(scaled).take_back(4), out.format));
  }
}

/// Raises the largest magnitude to that of the square.
void QuantizeEmitter::emitLargest() {
  Value all = bits.front();
  for (Value row : ArrayRef(bits).drop_front())
    all = magnitude::larger(b, all, row);
  magnitude::raiseByWarp(
      b, b.create<vector::ReductionOp>(vector::CombiningKind::MAXUI, all),
      amaxResult);
}

FailureOr<GridKernel> QuantizeEmitter::emit(StringRef name) {
  if (failed(readOps()))
    return failure();
  // Of no elements, too, the scale of all is written.
  int64_t down = std::max<int64_t>(1, llvm::divideCeil(rows, side)),
          across = std::max<int64_t>(1, llvm::divideCeil(cols, side));
  gpu::GPUFuncOp func = b.begin(name, launch->getNumOperands(), blockThreads);
  readArguments(func);
  table = shared(func, warps * side);
  bool hasColumns = llvm::any_of(
      outputs, [](const CodesOutput &out) { return out.isTransposed(); });
  if (hasColumns) {
    amaxes = shared(func, 4 * side);
    words = shared(func, side * wordPitch);
  }
  int64_t largest = (down + 1) * side * (across + 1) * side;
  thread = b.threadFor(largest);
  SmallVector<Value> square =
      b.delinearize(b.blockFor(largest), {down, across});
  squareRow = square[0];
  squareCol = square[1];
  Value perRow = b.number(thread, rowThreads);
  column = b.create<arith::RemUIOp>(thread, perRow);
  rowGroup = b.create<arith::DivUIOp>(thread, perRow);
  firstRow = b.linearize({squareRow, rowGroup}, {side, threadRows});
  firstCol = b.linearize({squareCol, column}, {side, lanes});
  loadSquare();
  if (amaxResult)
    emitLargest();
  emitSums();
  for (const CodesOutput &out : outputs)
    out.isTransposed() ? emitColumns(out) : emitRows(out);
  return GridKernel{func, down * across, blockThreads};
}

FailureOr<GridKernel> hone::emitDeviceQuantize(OpBuilder &builder,
                                               StringRef name,
                                               plan::LaunchOp launch) {
  OpBuilder::InsertionGuard guard(builder);
  DeviceBuilder b(builder, launch.getLoc());
  return QuantizeEmitter(b, launch).emit(name);
}
