//===- Kernel.cpp - What an emitter returns -------------------------------===//

#include "Kernel.h"

using namespace mlir;

MemRefType hone::kernelArgumentType(MemRefType type) {
  if (type.getNumElements() > 0)
    return type;
  SmallVector<int64_t> strides(type.getRank(), 1);
  for (int64_t d = type.getRank() - 1; d > 0; --d)
    strides[d - 1] = strides[d] * std::max<int64_t>(type.getShape()[d], 1);
  return MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), /*offset=*/0, strides));
}

int64_t hone::TensorTable::largest() const {
  int64_t largest = 0;
  for (const Tensor &tensor : tensors)
    largest = std::max(largest, tensor.size);
  return largest;
}

int64_t hone::TensorTable::items() const {
  int64_t items = 0;
  for (const Tensor &tensor : tensors)
    items += llvm::divideCeil(tensor.size, chunk);
  return items;
}

/// The table as an attribute of the entry.
static DictionaryAttr tableAttr(OpBuilder &builder,
                                const hone::TensorTable &table) {
  SmallVector<int64_t> sizes, tags;
  SmallVector<int32_t> buffers;
  for (const hone::TensorTable::Tensor &tensor : table.tensors) {
    sizes.push_back(tensor.size);
    tags.push_back(tensor.tag);
    llvm::append_range(buffers, tensor.buffers);
  }
  NamedAttribute entries[] = {
      builder.getNamedAttr("chunk", builder.getI64IntegerAttr(table.chunk)),
      builder.getNamedAttr("sizes", builder.getDenseI64ArrayAttr(sizes)),
      builder.getNamedAttr("tags", builder.getDenseI64ArrayAttr(tags)),
      builder.getNamedAttr("buffers", builder.getDenseI32ArrayAttr(buffers))};
  return builder.getDictionaryAttr(entries);
}

LLVM::LLVMFuncOp hone::declareEntry(OpBuilder &builder, const Kernel &kernel) {
  func::FuncOp func = kernel.func;
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type();
  auto entry = builder.create<LLVM::LLVMFuncOp>(
      func.getLoc(), (func.getSymName() + "_entry").str(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                  {pointer, i64, i64}));
  entry->setAttr("hone.kernel", FlatSymbolRefAttr::get(func));
  if (!kernel.table.tensors.empty())
    entry->setAttr("hone.tensors", tableAttr(builder, kernel.table));
  return entry;
}
