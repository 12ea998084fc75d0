//===- BlockBuilder.cpp - Products of blocks as vector code ---------------===//

#include "BlockBuilder.h"

#include "Codegen/Common/ElementwiseArith.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;
using namespace hone::detail;

BlockBuilder::BlockBuilder(OpBuilder &builder, func::FuncOp func)
    : ImplicitLocOpBuilder(func.getLoc(), builder),
      vectorType(VectorType::get({kernelLanes}, builder.getF32Type())),
      entry(&func.front()) {
  setInsertionPointToEnd(entry);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

template <typename Create>
Value BlockBuilder::atEntry(Attribute key, Create create) {
  Value &value = constants[key];
  if (!value) {
    InsertionGuard guard(*this);
    setInsertionPointToStart(entry);
    value = create();
  }
  return value;
}

Value BlockBuilder::constant(int64_t value) {
  TypedAttr attr = getIndexAttr(value);
  return atEntry(attr, [&] { return create<arith::ConstantOp>(attr); });
}

Value BlockBuilder::constantI64(int64_t value) {
  TypedAttr attr = getI64IntegerAttr(value);
  return atEntry(attr, [&] { return create<arith::ConstantOp>(attr); });
}

Value BlockBuilder::splat(float value) {
  TypedAttr attr = DenseElementsAttr::get(vectorType, value);
  return atEntry(attr, [&] { return create<arith::ConstantOp>(attr); });
}

Value BlockBuilder::lanes(Type elementType) {
  SmallVector<Attribute> values;
  for (int64_t lane = 0; lane < kernelLanes; ++lane)
    values.push_back(getIntegerAttr(elementType, lane));
  TypedAttr attr = DenseElementsAttr::get(
      VectorType::get({kernelLanes}, elementType), values);
  return atEntry(attr, [&] { return create<arith::ConstantOp>(attr); });
}

Value BlockBuilder::broadcast(Value scalar) {
  auto type = VectorType::get({kernelLanes}, scalar.getType());
  return create<vector::BroadcastOp>(type, scalar);
}

Value BlockBuilder::add(Value a, Value b) {
  return createOrFold<arith::AddIOp>(a, b);
}
Value BlockBuilder::sub(Value a, Value b) {
  return createOrFold<arith::SubIOp>(a, b);
}
Value BlockBuilder::mul(Value a, int64_t b) {
  return createOrFold<arith::MulIOp>(a, constant(b));
}
Value BlockBuilder::div(Value a, int64_t b) {
  return createOrFold<arith::DivUIOp>(a, constant(b));
}
Value BlockBuilder::rem(Value a, int64_t b) {
  return createOrFold<arith::RemUIOp>(a, constant(b));
}
Value BlockBuilder::min(Value a, Value b) {
  return createOrFold<arith::MinSIOp>(a, b);
}
Value BlockBuilder::max(Value a, Value b) {
  return createOrFold<arith::MaxSIOp>(a, b);
}

Value BlockBuilder::addf(Value a, Value b) {
  return create<arith::AddFOp>(a, b);
}
Value BlockBuilder::subf(Value a, Value b) {
  return create<arith::SubFOp>(a, b);
}
Value BlockBuilder::mulf(Value a, Value b) {
  return create<arith::MulFOp>(a, b);
}
Value BlockBuilder::fma(Value a, Value b, Value c) {
  return create<math::FmaOp>(a, b, c);
}
Value BlockBuilder::exp(Value a) { return create<math::ExpOp>(a); }

Value BlockBuilder::larger(Value a, Value b) {
  Value isLarger = create<arith::CmpFOp>(arith::CmpFPredicate::OGT, a, b);
  return create<arith::SelectOp>(isLarger, a, b);
}

Value BlockBuilder::sum(ArrayRef<Value> values) {
  if (values.size() == 1)
    return values.front();
  size_t half = values.size() / 2;
  return addf(sum(values.take_front(half)), sum(values.drop_front(half)));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

BlockBuilder::Values BlockBuilder::loop(Value begin, Value end, int64_t step,
                                        ValueRange init, Body body) {
  // A loop of no iterations may not even lower: its body may address an empty
  // buffer. One of a single iteration needs no loop.
  auto first = getConstantIntValue(begin), last = getConstantIntValue(end);
  if (first && last && *first >= *last)
    return Values(init);
  if (first && last && *first + step >= *last)
    return body(begin, init);
  auto forOp = create<scf::ForOp>(begin, end, constant(step), init);
  InsertionGuard guard(*this);
  setInsertionPointToStart(forOp.getBody());
  Values next = body(forOp.getInductionVar(), forOp.getRegionIterArgs());
  // A loop that carries nothing was built with its terminator.
  if (!init.empty()) {
    setInsertionPointToEnd(forOp.getBody());
    create<scf::YieldOp>(next);
  }
  return Values(forOp.getResults());
}

void BlockBuilder::loop(Value begin, Value end, int64_t step,
                        function_ref<void(Value)> body) {
  loop(begin, end, step, ValueRange(), [&](Value iv, ValueRange) {
    body(iv);
    return Values();
  });
}

void BlockBuilder::forPanels(int64_t columns, Value end,
                             function_ref<void(Value, int64_t)> body) {
  int64_t panel = panelVectors * kernelLanes;
  // A masked vector stands in the last panel, which gets its own code.
  int64_t whole = columns / panel * panel;
  if (whole > 0)
    loop(constant(0), end ? min(end, constant(whole)) : constant(whole), panel,
         [&](Value column) { body(column, panelVectors); });
  if (columns > whole)
    body(constant(whole), llvm::divideCeil(columns - whole, kernelLanes));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Matrix BlockBuilder::stackBlock(int64_t rows, int64_t columns, Type element) {
  // The layout of an empty buffer has no strides to lower.
  auto type = MemRefType::get({std::max<int64_t>(rows, 1), columns},
                              element ? element : getF32Type());
  Value zero = constant(0);
  InsertionGuard guard(*this);
  setInsertionPointToStart(entry);
  Value buffer = create<memref::AllocaOp>(type, getI64IntegerAttr(64));
  return {buffer, {zero}, 0, columns};
}

SmallVector<Value, 4> BlockBuilder::at(const Matrix &matrix, Value row,
                                       Value column) {
  SmallVector<Value, 4> indices(matrix.origin.begin(), matrix.origin.end());
  indices[matrix.rowDim] = add(indices[matrix.rowDim], row);
  indices.push_back(column);
  return indices;
}

Value BlockBuilder::convert(Value value, Type to) {
  return elementwise::convertFloat(*this, getLoc(), value, to);
}

Value BlockBuilder::loadScalar(const Matrix &matrix, Value row, Value column) {
  Value loaded = create<memref::LoadOp>(matrix.buffer, at(matrix, row, column));
  return convert(loaded, getF32Type());
}

Value BlockBuilder::loadAs(const Matrix &matrix, Value row, Value column,
                           int64_t lanes, Value valid) {
  auto indices = at(matrix, row, column);
  auto type = VectorType::get({lanes}, matrix.elementType());
  if (!valid)
    return create<vector::LoadOp>(type, matrix.buffer, indices);
  TypedAttr zero = getZeroAttr(type);
  Value zeros = atEntry(zero, [&] { return create<arith::ConstantOp>(zero); });
  return create<vector::MaskedLoadOp>(type, matrix.buffer, indices, valid,
                                      zeros);
}

Value BlockBuilder::load(const Matrix &matrix, Value row, Value column,
                         Value valid) {
  return convert(loadAs(matrix, row, column, kernelLanes, valid), getF32Type());
}

void BlockBuilder::store(Value vector, const Matrix &matrix, Value row,
                         Value column, Value valid) {
  auto indices = at(matrix, row, column);
  vector = convert(vector, matrix.elementType());
  if (valid)
    create<vector::MaskedStoreOp>(matrix.buffer, indices, valid, vector);
  else
    create<vector::StoreOp>(vector, matrix.buffer, indices);
}

Value BlockBuilder::firstLanes(Value count) {
  if (auto constant = getConstantIntValue(count))
    return constantMask(kernelLanes, *constant);
  auto type = VectorType::get({kernelLanes}, getI1Type());
  return create<vector::CreateMaskOp>(type, count);
}

/// The first `valid` of `lanes`; null for all.
Value BlockBuilder::constantMask(int64_t lanes, int64_t valid) {
  if (valid == lanes)
    return {};
  SmallVector<bool> bits(lanes, false);
  std::fill_n(bits.begin(), valid, true);
  TypedAttr attr =
      DenseElementsAttr::get(VectorType::get({lanes}, getI1Type()), bits);
  return atEntry(attr, [&] { return create<arith::ConstantOp>(attr); });
}

void BlockBuilder::forVectors(const Matrix &matrix, Value rows,
                              function_ref<void(Value, Value, Value)> body) {
  int64_t whole = matrix.width / kernelLanes * kernelLanes;
  loop(constant(0), rows, 1, [&](Value row) {
    loop(constant(0), constant(whole), kernelLanes,
         [&](Value column) { body(row, column, Value()); });
    if (whole < matrix.width)
      body(row, constant(whole), firstLanes(matrix.width - whole));
  });
}

void BlockBuilder::clear(const Matrix &matrix, Value rows) {
  forVectors(matrix, rows, [&](Value row, Value column, Value valid) {
    store(splat(0.0f), matrix, row, column, valid);
  });
}

void BlockBuilder::copy(const Matrix &result, const Matrix &source,
                        Value rows) {
  forVectors(source, rows, [&](Value row, Value column, Value valid) {
    store(load(source, row, column, valid), result, row, column, valid);
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void BlockBuilder::product(const Product &product) {
  int64_t width = product.result.width;
  int64_t past = width % kernelLanes;
  int64_t whole =
      width / (panelVectors * kernelLanes) * panelVectors * kernelLanes;
  forPanels(width, product.columnsEnd, [&](Value column, int64_t vectors) {
    bool last = getConstantIntValue(column) == whole;
    productPanel(product, column, vectors,
                 last && past ? firstLanes(past) : Value());
  });
}

void BlockBuilder::productPanel(const Product &product, Value column,
                                int64_t vectors, Value valid) {
  // `valid` concerns the last vector of the panel.
  auto validOf = [&](int64_t v) { return v + 1 == vectors ? valid : Value(); };
  Values columns;
  for (int64_t v = 0; v < vectors; ++v)
    columns.push_back(add(column, v * kernelLanes));
  Value columnEnd = add(column, vectors * kernelLanes);
  Values factors;
  if (product.rescale)
    for (Value c : columns)
      factors.push_back(load(product.rescale, constant(0), c));
  Value depthEnd = product.depthEnd(columnEnd);
  if (product.pairs)
    depthEnd = div(add(depthEnd, 1), 2);

  loop(constant(0), product.rowsEnd(columnEnd), panelRows, [&](Value row) {
    Values rows, accumulators;
    for (int64_t i = 0; i < panelRows; ++i)
      rows.push_back(clampRow(add(row, i), product.lastRow));
    for (Value r : rows)
      for (int64_t v = 0; v < vectors; ++v) {
        Value initial = splat(0.0f);
        if (product.accumulate)
          initial = load(product.result, r, columns[v], validOf(v));
        if (product.rescale)
          initial = mulf(initial, factors[v]);
        accumulators.push_back(initial);
      }
    Value depthBegin =
        product.depthBegin ? product.depthBegin(row) : constant(0);
    if (product.pairs)
      depthBegin = div(depthBegin, 2);
    auto loadLeft = [&](Value r, Value k) {
      if (product.leftTransposed)
        return loadScalar(product.left, k, r);
      return product.pairs ? loadPair(product.left, r, k)
                           : loadScalar(product.left, r, k);
    };
    accumulators = loop(
        depthBegin, depthEnd, 1, accumulators,
        [&](Value k, ValueRange carried) {
          Values right, next;
          for (int64_t v = 0; v < vectors; ++v)
            right.push_back(load(product.right, k, columns[v], validOf(v)));
          for (int64_t i = 0; i < panelRows; ++i) {
            Value left = broadcast(loadLeft(rows[i], k));
            for (int64_t v = 0; v < vectors; ++v) {
              Value sum = carried[i * vectors + v];
              next.push_back(product.pairs ? dotPairs(left, right[v], sum)
                                           : fma(left, right[v], sum));
            }
          }
          return next;
        });
    for (auto [i, r] : llvm::enumerate(rows))
      for (int64_t v = 0; v < vectors; ++v) {
        Value sum = accumulators[i * vectors + v];
        if (product.factor != 1.0f)
          sum = mulf(sum, splat(product.factor));
        store(sum, product.result, r, columns[v], validOf(v));
      }
  });
}

//===----------------------------------------------------------------------===//
// Transposes
//===----------------------------------------------------------------------===//

BlockBuilder::Values BlockBuilder::transpose(Values rows) {
  // Exchanges the off-diagonal halves of ever smaller square blocks.
  for (int64_t half = kernelLanes / 2; half > 0; half /= 2) {
    SmallVector<int64_t> upper, lower;
    for (int64_t lane = 0; lane < kernelLanes; ++lane) {
      bool inLeft = (lane & half) == 0;
      upper.push_back(inLeft ? lane : kernelLanes + lane - half);
      lower.push_back(inLeft ? lane + half : kernelLanes + lane);
    }
    for (int64_t row = 0; row < kernelLanes; ++row) {
      if (row & half)
        continue;
      Value a = rows[row], b = rows[row + half];
      rows[row] = create<vector::ShuffleOp>(a, b, upper);
      rows[row + half] = create<vector::ShuffleOp>(a, b, lower);
    }
  }
  return rows;
}

Value BlockBuilder::lastRowOfTiles(Value rows) {
  std::optional<int64_t> count = getConstantIntValue(rows);
  return count && *count % kernelLanes == 0 ? Value() : add(rows, -1);
}

/// Tiles of 16 rows and columns, transposed; `load(row, column, count)` gives a
/// vector of the source, of which `count` lanes exist.
void BlockBuilder::packTiles(const Matrix &result, int64_t width, Value rows,
                             function_ref<Value(Value, Value, int64_t)> load) {
  int64_t whole = width / kernelLanes * kernelLanes;
  Value lastRow = lastRowOfTiles(rows);
  loop(constant(0), rows, kernelLanes, [&](Value row) {
    auto pack = [&](Value column, int64_t count) {
      Values tile;
      for (int64_t i = 0; i < kernelLanes; ++i)
        tile.push_back(load(clampRow(add(row, i), lastRow), column, count));
      tile = transpose(tile);
      for (int64_t i = 0; i < count; ++i)
        store(tile[i], result, add(column, i), row);
    };
    loop(constant(0), constant(whole), kernelLanes,
         [&](Value column) { pack(column, kernelLanes); });
    if (whole < width)
      pack(constant(whole), width - whole);
  });
}

void BlockBuilder::packTransposed(const Matrix &result, const Matrix &source,
                                  Value rows, float factor) {
  packTiles(result, source.width, rows,
            [&](Value row, Value column, int64_t count) {
              Value x = load(source, row, column, firstLanes(count));
              return factor == 1.0f ? x : mulf(x, splat(factor));
            });
}

void BlockBuilder::unpackTransposed(const Matrix &result, const Matrix &source,
                                    Value rows, const Matrix &factor) {
  int64_t whole = result.width / kernelLanes * kernelLanes;
  Value lastRow = lastRowOfTiles(rows);
  loop(constant(0), rows, kernelLanes, [&](Value row) {
    Value scale = factor ? load(factor, constant(0), row) : Value();
    auto unpack = [&](Value column, int64_t count) {
      Values tile(kernelLanes, splat(0.0f));
      for (int64_t i = 0; i < count; ++i) {
        tile[i] = load(source, add(column, i), row);
        if (scale)
          tile[i] = mulf(tile[i], scale);
      }
      tile = transpose(tile);
      Value valid = firstLanes(count);
      for (int64_t i = 0; i < kernelLanes; ++i)
        store(tile[i], result, clampRow(add(row, i), lastRow), column, valid);
    };
    loop(constant(0), constant(whole), kernelLanes,
         [&](Value column) { unpack(column, kernelLanes); });
    if (whole < result.width)
      unpack(constant(whole), result.width - whole);
  });
}
