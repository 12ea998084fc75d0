//===- Writer.cpp - Code that describes a program -------------------------===//

#include "Writer.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Signatures of abi.def
//===----------------------------------------------------------------------===//

namespace {
// The names that abi.def spells types with; only their kind matters here.
struct honert_program;
using honert_kernel = void (*)();
using honert_callback_fn = void (*)();

template <typename T> struct AbiType {
  static Type get(MLIRContext *context) { // any pointer
    static_assert(std::is_pointer_v<T>, "a type that abi.def may not use");
    return LLVM::LLVMPointerType::get(context);
  }
};
template <> struct AbiType<int64_t> {
  static Type get(MLIRContext *context) {
    return IntegerType::get(context, 64);
  }
};
template <> struct AbiType<double> {
  static Type get(MLIRContext *context) { return Float64Type::get(context); }
};

template <typename... Parameters>
LLVM::LLVMFunctionType signature(MLIRContext *context,
                                 void (*)(Parameters...)) {
  return LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                     {AbiType<Parameters>::get(context)...});
}
} // namespace

/// The type of the ABI function `name`, or null.
static LLVM::LLVMFunctionType abiType(StringRef name, MLIRContext *context) {
#define HONERT_FUNCTION(result, function, parameters)                          \
  if (name == #function)                                                       \
    return signature(context, static_cast<result(*) parameters>(nullptr));
#include "honert/abi.def"
#undef HONERT_FUNCTION
  return {};
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

LLVM::LLVMFuncOp ProgramWriter::startFunction(StringRef name,
                                              LLVM::Linkage linkage) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(module.getBody());
  MLIRContext *context = module.getContext();
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(context), {LLVM::LLVMPointerType::get(context)});
  auto started = builder.create<LLVM::LLVMFuncOp>(loc, name, type, linkage);
  // Straight-line calls that run once: optimising them only costs time.
  started.setPassthroughAttr(builder.getStrArrayAttr({"noinline", "optnone"}));
  started.addEntryBlock(builder);
  return started;
}

ProgramWriter::ProgramWriter(ModuleOp module, StringRef name)
    : module(module), builder(module.getContext()), loc(module.getLoc()),
      entry(startFunction(name, LLVM::Linkage::External)) {
  startPart();
}

void ProgramWriter::startPart() {
  std::string name = (entry.getSymName() + "_part_" + Twine(parts++)).str();
  part = startFunction(name, LLVM::Linkage::Internal);
  builder.setInsertionPointToEnd(&entry.getBody().front());
  builder.create<LLVM::CallOp>(loc, part, ValueRange(entry.getArgument(0)));
  builder.setInsertionPointToStart(&part.getBody().front());
  constants.clear();
  addresses.clear();
}

void ProgramWriter::finishPart() {
  builder.create<LLVM::ReturnOp>(loc, ValueRange());
}

void ProgramWriter::finish() {
  finishPart();
  builder.setInsertionPointToEnd(&entry.getBody().front());
  builder.create<LLVM::ReturnOp>(loc, ValueRange());
}

Value ProgramWriter::constant(TypedAttr value) {
  Value &known = constants[value];
  if (!known)
    known = builder.create<LLVM::ConstantOp>(loc, value);
  return known;
}

Value ProgramWriter::integer(int64_t value) {
  return constant(builder.getI64IntegerAttr(value));
}

Value ProgramWriter::number(double value) {
  return constant(builder.getF64FloatAttr(value));
}

Value ProgramWriter::address(StringRef symbol) {
  Value &known = addresses[symbol];
  if (!known)
    known = builder.create<LLVM::AddressOfOp>(
        loc, LLVM::LLVMPointerType::get(builder.getContext()), symbol);
  return known;
}

Value ProgramWriter::global(StringRef prefix, Type type, Attribute value) {
  std::string &name = globals[value];
  if (name.empty()) {
    // Unique among the writers of the module.
    name = (entry.getSymName() + "_" + prefix + Twine(globals.size())).str();
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    builder.create<LLVM::GlobalOp>(loc, type, /*isConstant=*/true,
                                   LLVM::Linkage::Internal, name, value);
  }
  return address(name);
}

Value ProgramWriter::string(StringRef value) {
  std::string text = value.str();
  text.push_back('\0');
  return global("text_",
                LLVM::LLVMArrayType::get(builder.getI8Type(), text.size()),
                builder.getStringAttr(text));
}

Value ProgramWriter::array(ArrayRef<int64_t> values) {
  if (values.empty())
    return builder.create<LLVM::ZeroOp>(
        loc, LLVM::LLVMPointerType::get(builder.getContext()));
  auto type =
      RankedTensorType::get({int64_t(values.size())}, builder.getI64Type());
  return global("array_",
                LLVM::LLVMArrayType::get(builder.getI64Type(), values.size()),
                DenseElementsAttr::get(type, values));
}

Value ProgramWriter::kernel(StringRef name) { return address(name); }

LLVM::LLVMFuncOp ProgramWriter::declare(StringRef name,
                                        LLVM::LLVMFunctionType type) {
  LLVM::LLVMFuncOp &function = declared[name];
  if (!function)
    function = module.lookupSymbol<LLVM::LLVMFuncOp>(name); // another writer's
  if (!function) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    function = builder.create<LLVM::LLVMFuncOp>(loc, name, type);
  }
  return function;
}

void ProgramWriter::call(StringRef name, ArrayRef<Value> operands) {
  LLVM::LLVMFunctionType type = abiType(name, builder.getContext());
  assert(type && "not a function of abi.def");
  SmallVector<Value> all = {part.getArgument(0)};
  llvm::append_range(all, operands);
  builder.create<LLVM::CallOp>(loc, declare(name, type), all);
  // Register allocation is quadratic in the calls of one function.
  constexpr unsigned callsPerPart = 256;
  if (++calls % callsPerPart != 0)
    return;
  finishPart();
  startPart();
}

void ProgramWriter::callPart(StringRef name) {
  builder.create<LLVM::CallOp>(loc, declare(name, entry.getFunctionType()),
                               ValueRange(part.getArgument(0)));
}
