//===- BindKernels.cpp - Entries that unpack a kernel's buffers -----------===//

#include "hone/Codegen/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace hone {
#define GEN_PASS_DEF_BINDKERNELS
#include "hone/Codegen/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// entry(buffers, lo, hi) = kernel(buffers[0], buffers[1], ..., lo, hi)
static void bindBuffers(OpBuilder &builder, LLVM::LLVMFuncOp entry,
                        LLVM::LLVMFuncOp kernel) {
  Location loc = entry.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  SmallVector<Value> operands;
  for (int32_t index : llvm::seq<int32_t>(0, kernel.getNumArguments() - 2)) {
    Value slot =
        builder.create<LLVM::GEPOp>(loc, pointer, pointer, entry.getArgument(0),
                                    ArrayRef<LLVM::GEPArg>{index});
    operands.push_back(builder.create<LLVM::LoadOp>(loc, pointer, slot));
  }
  operands.push_back(entry.getArgument(1));
  operands.push_back(entry.getArgument(2));
  builder.create<LLVM::CallOp>(loc, kernel, operands);
  builder.create<LLVM::ReturnOp>(loc, ValueRange());
}

namespace {
/// Builds the entry of a kernel that serves a table of tensors:
///
///   entry(buffers, lo, hi):
///     for (t = 0; t < tensors; ++t)
///       begin = max(lo, first[t]), end = min(hi, first[t + 1])
///       if (begin < end)
///         kernel(buffers[slots[t][0]], ..., tags[t],
///                (begin - first[t]) * chunk,
///                min((end - first[t]) * chunk, sizes[t]))
class TableBinder {
public:
  TableBinder(OpBuilder &builder, LLVM::LLVMFuncOp entry,
              LLVM::LLVMFuncOp kernel, DictionaryAttr table)
      : builder(builder), loc(entry.getLoc()), entry(entry), kernel(kernel),
        chunk(table.getAs<IntegerAttr>("chunk").getInt()),
        sizes(table.getAs<DenseI64ArrayAttr>("sizes").asArrayRef()),
        tags(table.getAs<DenseI64ArrayAttr>("tags").asArrayRef()),
        slots(table.getAs<DenseI32ArrayAttr>("buffers").asArrayRef()),
        pointer(LLVM::LLVMPointerType::get(builder.getContext())),
        i64(builder.getI64Type()) {}

  void bind();

private:
  Value constant(int64_t value) {
    return builder.create<LLVM::ConstantOp>(loc, i64,
                                            builder.getI64IntegerAttr(value));
  }
  template <typename T>
  Value global(StringRef name, ArrayRef<T> values, Type type);
  Value element(Value array, Type type, Value index) {
    Value slot = builder.create<LLVM::GEPOp>(loc, pointer, type, array, index);
    return builder.create<LLVM::LoadOp>(loc, type, slot);
  }
  Value sub(Value a, Value b) { return builder.create<LLVM::SubOp>(loc, a, b); }
  Value add(Value a, Value b) { return builder.create<LLVM::AddOp>(loc, a, b); }
  Value mul(Value a, Value b) { return builder.create<LLVM::MulOp>(loc, a, b); }
  Value min(Value a, Value b) {
    return builder.create<LLVM::SMinOp>(loc, a, b);
  }
  void callFor(Value tensor, Value firstItem, Value begin, Value end);

  OpBuilder &builder;
  Location loc;
  LLVM::LLVMFuncOp entry, kernel;
  int64_t chunk;
  ArrayRef<int64_t> sizes, tags;
  ArrayRef<int32_t> slots;
  Type pointer, i64;
};
} // namespace

template <typename T>
Value TableBinder::global(StringRef name, ArrayRef<T> values, Type type) {
  auto shape = RankedTensorType::get({int64_t(values.size())}, type);
  std::string symbol = (entry.getSymName() + "_" + name).str();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(entry);
  builder.create<LLVM::GlobalOp>(
      loc, LLVM::LLVMArrayType::get(type, values.size()), /*isConstant=*/true,
      LLVM::Linkage::Internal, symbol, DenseElementsAttr::get(shape, values));
  builder.setInsertionPointToStart(&entry.getBody().front());
  return builder.create<LLVM::AddressOfOp>(loc, pointer, symbol);
}

/// The call for the items [begin, end), all of them of `tensor`.
void TableBinder::callFor(Value tensor, Value firstItem, Value begin,
                          Value end) {
  int64_t arguments = kernel.getNumArguments() - 3;
  Value slotTable = global("buffers", slots, builder.getI32Type());
  Value row = mul(tensor, constant(arguments));
  SmallVector<Value> operands;
  for (int64_t index = 0; index < arguments; ++index) {
    Value number =
        element(slotTable, builder.getI32Type(), add(row, constant(index)));
    operands.push_back(element(entry.getArgument(0), pointer,
                               builder.create<LLVM::ZExtOp>(loc, i64, number)));
  }
  operands.push_back(element(global("tags", tags, i64), i64, tensor));
  Value length = constant(chunk);
  Value size = element(global("sizes", sizes, i64), i64, tensor);
  operands.push_back(mul(sub(begin, firstItem), length));
  operands.push_back(min(mul(sub(end, firstItem), length), size));
  builder.create<LLVM::CallOp>(loc, kernel, operands);
}

void TableBinder::bind() {
  SmallVector<int64_t> firstItems = {0};
  for (int64_t size : sizes)
    firstItems.push_back(firstItems.back() + llvm::divideCeil(size, chunk));
  Region &body = entry.getBody();
  Block *start = &body.front(), *header = builder.createBlock(&body),
        *step = builder.createBlock(&body), *call = builder.createBlock(&body),
        *latch = builder.createBlock(&body), *done = builder.createBlock(&body);
  Value tensor = header->addArgument(i64, loc);

  builder.setInsertionPointToStart(start);
  Value firsts = global("first", ArrayRef<int64_t>(firstItems), i64);
  builder.setInsertionPointToEnd(start);
  builder.create<LLVM::BrOp>(loc, ValueRange(constant(0)), header);

  builder.setInsertionPointToStart(header);
  auto less = [&](Value a, Value b) -> Value {
    return builder.create<LLVM::ICmpOp>(loc, LLVM::ICmpPredicate::slt, a, b);
  };
  builder.create<LLVM::CondBrOp>(
      loc, less(tensor, constant(int64_t(sizes.size()))), step, done);

  builder.setInsertionPointToStart(step);
  Value next = add(tensor, constant(1));
  Value firstItem = element(firsts, i64, tensor);
  Value begin =
      builder.create<LLVM::SMaxOp>(loc, entry.getArgument(1), firstItem);
  Value end = min(entry.getArgument(2), element(firsts, i64, next));
  builder.create<LLVM::CondBrOp>(loc, less(begin, end), call, latch);

  builder.setInsertionPointToStart(call);
  callFor(tensor, firstItem, begin, end);
  builder.create<LLVM::BrOp>(loc, ValueRange(), latch);

  builder.setInsertionPointToStart(latch);
  builder.create<LLVM::BrOp>(loc, ValueRange(next), header);

  builder.setInsertionPointToStart(done);
  builder.create<LLVM::ReturnOp>(loc, ValueRange());
}

namespace {
struct BindKernels : hone::impl::BindKernelsBase<BindKernels> {
  void runOnOperation() override {
    for (auto entry : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      auto target = entry->getAttrOfType<FlatSymbolRefAttr>("hone.kernel");
      if (!target)
        continue;
      auto kernel =
          getOperation().lookupSymbol<LLVM::LLVMFuncOp>(target.getValue());
      if (!kernel) {
        entry.emitError() << "binds " << target << ", which is no function";
        return signalPassFailure();
      }
      bind(entry, kernel);
      entry->removeAttr("hone.kernel");
    }
  }

  void bind(LLVM::LLVMFuncOp entry, LLVM::LLVMFuncOp kernel) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToStart(entry.addEntryBlock(builder));
    if (auto tensors = entry->getAttrOfType<DictionaryAttr>("hone.tensors")) {
      TableBinder(builder, entry, kernel, tensors).bind();
      entry->removeAttr("hone.tensors");
    } else {
      bindBuffers(builder, entry, kernel);
    }
    entry.setLinkage(LLVM::Linkage::Internal);
    kernel.setLinkage(LLVM::Linkage::Internal);
  }
};
} // namespace
