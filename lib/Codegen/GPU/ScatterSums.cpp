//===- ScatterSums.cpp - Sums of the rows of sorted tokens on a GPU -------===//
//
// A warp has the sum of one row in 32 vectors of it. Where a row has many
// tokens, that warp would add for long while all others are done: then all
// warps of the block share its columns, and each lane has fewer of them, with
// more loads on their way.
//
//===----------------------------------------------------------------------===//

#include "ScatterKernels.h"

#include "Builder.h"
#include "Codegen/Common/ElementwiseArith.h"
#include "Codegen/Common/ScatterForm.h"
#include "Items.h"
#include "hone/Analysis/Memory/Scratch.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t blockWarps = 8;
/// Tokens of a row that all warps of a block share.
static constexpr int64_t manyTokens = 128;

namespace {
/// Code of the block of some slots and columns.
struct SumBlock {
  SumBlock(DeviceBuilder &b, EmbeddingBwdOp op, ArrayRef<int64_t> offsets)
      : b(b), sort(TokenSort::of(op)), element(getElementTypeOrSelf(op)),
        rows(shapeOf(op)[0]), width(shapeOf(op)[1]),
        lanes(DeviceBuilder::lanesOf(element, width, offsets)) {}

  DeviceBuilder &b;
  TokenSort sort;
  Type element;
  int64_t rows, width, lanes; ///< elements of a vector
  bool isInPlace = false;
  Value grad, addend, output, sorted, spans; ///< addresses; or no addend
  Value group, tile, warp, lane;             ///< i32
  int64_t tileWidth() const { return warpSize * lanes; }

  /// Where a slot's tokens begin and end, and its row.
  struct Span {
    Value from, to, row, exists;
    Value isLong;
  };
  Span loadSpan(Value numberInGroup);
  /// The columns of a row that a thread adds.
  struct Columns {
    Value first; ///< index
    VectorType type;
  };
  Value loadTerm(Value token, const Columns &columns);
  Value add(Value sum, Value term);
  void addGroups(Value &at, Value to, Value &sum, const Columns &columns,
                 int64_t group);
  void addRest(Value at, Value to, Value &sum, const Columns &columns,
               int64_t most);
  void sumRow(const Span &span, const Columns &columns,
              ArrayRef<int64_t> groups);
  void sumOwn(const Span &own);
  void sumLong();
};
} // namespace

/// Of one of the block's slots; any that does not exist has no row.
SumBlock::Span SumBlock::loadSpan(Value numberInGroup) {
  Value slot = b.add(b.mul(group, blockWarps), numberInGroup);
  Value bounded = b.create<arith::MinUIOp>(slot, b.i32(sort.slots() - 1));
  Value span =
      b.load(spans, VectorType::get({2}, b.getI32Type()), b.mul(bounded, 2));
  Span result;
  result.from = b.create<vector::ExtractOp>(span, 0);
  result.to = b.create<vector::ExtractOp>(span, 1);
  SmallVector<Value> at = b.delinearize(bounded, {sort.buckets, sort.places});
  result.row = b.add(b.mul(at[1], sort.buckets), at[0]);
  result.exists = b.less(result.row, rows);
  if (sort.slots() % blockWarps != 0)
    result.exists = b.both(result.exists, b.less(slot, sort.slots()));
  Value tokens = b.create<arith::SubIOp>(result.to, result.from);
  Value isLong = b.create<arith::CmpIOp>(arith::CmpIPredicate::uge, tokens,
                                         b.i32(manyTokens));
  result.isLong = b.both(result.exists, isLong);
  return result;
}

Value SumBlock::loadTerm(Value token, const Columns &columns) {
  Value place = b.add(b.mul(b.asIndex(token), width), columns.first);
  return b.load(grad, columns.type, place);
}

Value SumBlock::add(Value sum, Value term) {
  Type compute = getElementTypeOrSelf(sum);
  return b.create<arith::AddFOp>(
      sum, elementwise::convertFloat(b, b.getLoc(), term, compute));
}

/// Adds whole groups of tokens. The loads of a group are on their way together.
void SumBlock::addGroups(Value &at, Value to, Value &sum,
                         const Columns &columns, int64_t group) {
  auto loop = b.create<scf::WhileOp>(
      TypeRange{at.getType(), sum.getType()}, ValueRange{at, sum},
      [&](OpBuilder &, Location, ValueRange carried) {
        Value left = b.create<arith::SubIOp>(to, carried[0]);
        Value isWhole = b.create<arith::CmpIOp>(arith::CmpIPredicate::uge, left,
                                                b.i32(group));
        b.create<scf::ConditionOp>(isWhole, carried);
      },
      [&](OpBuilder &, Location, ValueRange carried) {
        SmallVector<Value> tokens, terms;
        for (int64_t i = 0; i < group; ++i)
          tokens.push_back(
              b.load(sorted, b.getI32Type(), b.add(b.asIndex(carried[0]), i)));
        for (Value token : tokens)
          terms.push_back(loadTerm(token, columns));
        Value next = carried[1];
        for (Value term : terms)
          next = add(next, term);
        b.create<scf::YieldOp>(ValueRange{b.add(carried[0], group), next});
      });
  at = loop.getResult(0);
  sum = loop.getResult(1);
}

/// Adds the last tokens, `most` or fewer. In the place of others stands -0,
/// which changes no sum.
void SumBlock::addRest(Value at, Value to, Value &sum, const Columns &columns,
                       int64_t most) {
  SmallVector<Value> exists, tokens, terms;
  for (int64_t i = 0; i < most; ++i) {
    exists.push_back(b.less(b.add(at, i), to));
    Value place = b.place(sorted, b.getI32Type(), b.add(b.asIndex(at), i));
    tokens.push_back(b.loadIf(exists.back(), place, b.getI32Type()));
  }
  Value none = b.create<arith::ConstantOp>(DenseElementsAttr::get(
      columns.type, b.getFloatAttr(element, -0.0).getValue()));
  for (auto [isToken, token] : llvm::zip(exists, tokens)) {
    auto term = b.create<scf::IfOp>(
        isToken,
        [&, token = token](OpBuilder &, Location) {
          b.create<scf::YieldOp>(loadTerm(token, columns));
        },
        [&](OpBuilder &, Location) { b.create<scf::YieldOp>(none); });
    terms.push_back(term.getResult(0));
  }
  for (Value term : terms)
    sum = add(sum, term);
}

/// Sums this thread's columns of a row, by groups of so many tokens.
void SumBlock::sumRow(const Span &span, const Columns &columns,
                      ArrayRef<int64_t> groups) {
  Value place = b.add(b.mul(b.asIndex(span.row), width), columns.first);
  Value start = b.create<arith::ConstantOp>(b.getZeroAttr(columns.type));
  if (addend)
    start = b.load(addend, columns.type, place);
  Value sum = elementwise::convertFloat(b, b.getLoc(), start,
                                        elementwise::computeType(element));
  Value at = span.from;
  for (int64_t group : groups)
    addGroups(at, span.to, sum, columns, group);
  addRest(at, span.to, sum, columns, groups.back() - 1);
  b.store(elementwise::convertFloat(b, b.getLoc(), sum, element), output,
          place);
}

/// This warp's row, unless it has many tokens.
void SumBlock::sumOwn(const Span &own) {
  Value first = b.add(b.mul(tile, tileWidth()), b.mul(lane, lanes));
  Value isMine = b.create<arith::XOrIOp>(
      own.isLong, b.create<arith::ConstantOp>(b.getBoolAttr(true)));
  isMine = b.both(b.both(isMine, own.exists), b.less(first, width));
  if (isInPlace) // rows without tokens are there
    isMine = b.both(isMine, b.less(own.from, own.to));
  b.emitIf(isMine, [&] {
    sumRow(own, {b.asIndex(first), VectorType::get({lanes}, element)}, {8, 4});
  });
}

/// The block's rows with many tokens: a warp has every `lanes`th vector.
void SumBlock::sumLong() {
  int64_t slices = std::min(lanes, blockWarps), narrow = lanes / slices;
  Value numberInGroup = b.create<arith::RemUIOp>(lane, b.i32(blockWarps));
  Value votes = b.ballot(loadSpan(numberInGroup).isLong);
  Value isAny =
      b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, votes, b.i32(0));
  b.emitIf(isAny, [&] {
    Value from = b.create<arith::DivUIOp>(warp, b.i32(slices));
    Value slice = b.create<arith::RemUIOp>(warp, b.i32(slices));
    Value first =
        b.add(b.add(b.mul(tile, tileWidth()), b.mul(slice, warpSize * narrow)),
              b.mul(lane, narrow));
    b.loop(from, b.i32(blockWarps), blockWarps / slices, [&](Value number) {
      Value bit = b.create<arith::ShRUIOp>(votes, number);
      Value isLong = b.create<arith::TruncIOp>(b.getI1Type(), bit);
      b.emitIf(b.both(isLong, b.less(first, width)), [&] {
        sumRow(loadSpan(number),
               {b.asIndex(first), VectorType::get({narrow}, element)}, {32, 8});
      });
    });
  });
}

FailureOr<GridKernel> hone::emitDeviceScatterSums(OpBuilder &builder,
                                                  StringRef name,
                                                  plan::LaunchOp launch) {
  FailureOr<ScatterForm> form = ScatterForm::read(launch);
  if (failed(form))
    return failure();
  OpBuilder::InsertionGuard guard(builder);
  DeviceBuilder b(builder, launch.getLoc());
  EmbeddingBwdOp op = form->op;
  constexpr int64_t threads = blockWarps * warpSize;
  gpu::GPUFuncOp func = b.begin(name, launch->getNumOperands(), threads);
  // Without a limit, ptxas would save registers for 2048 threads, by fewer
  // loads at once.
  func->setAttr("nvvm.minctasm", b.getI32IntegerAttr(1024 / threads));
  auto address = [&](Value value) {
    return func.getArgument(cast<BlockArgument>(value).getArgNumber());
  };
  int64_t inputs = launch.getInputs().size();
  int64_t scratch = inputs + launch.getOutputs().size();
  SumBlock block(b, op, arenaOffsets(launch));
  block.grad = address(op.getGrad());
  block.output = func.getArgument(inputs);
  block.sorted = func.getArgument(scratch + 1);
  block.spans = func.getArgument(scratch + 2);
  if (form->addend) {
    block.addend = address(form->addend);
    block.isInPlace =
        plan::overlap(launch.getInputs()[form->addend.getArgNumber()],
                      launch.getOutputs().front());
  }
  int64_t tiles = llvm::divideCeil(block.width, block.tileWidth());
  int64_t groups = llvm::divideCeil(block.sort.slots(), blockWarps);
  Value thread = b.threadFor(threads);
  SmallVector<Value> at = b.delinearize(b.blockFor(groups * tiles),
                                        {groups, std::max<int64_t>(1, tiles)});
  block.group = at[0];
  block.tile = at[1];
  block.warp = b.create<arith::DivUIOp>(thread, block.b.i32(warpSize));
  block.lane = b.create<arith::RemUIOp>(thread, block.b.i32(warpSize));
  block.sumOwn(block.loadSpan(block.warp));
  block.sumLong();
  int64_t blocks = block.rows == 0 ? 0 : groups * tiles;
  if (block.lanes * elementByteWidth(block.element) == accessBytes &&
      blocks > 0 && block.sort.tokens > 0)
    markVectorised(func, form->addend ? 3 : 2);
  return GridKernel{func, blocks, threads};
}
