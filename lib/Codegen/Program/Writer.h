//===- Writer.h - Code that describes a program -----------------*- C++ -*-===//
//
// Builds the body of @hone_program, or of a part of it: a function in the llvm
// dialect that calls the functions of abi.def. Their signatures are read from
// that file.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_PROGRAM_WRITER_H
#define HONE_LIB_CODEGEN_PROGRAM_WRITER_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringMap.h"

#include <string>

namespace hone {

class ProgramWriter {
public:
  /// Starts the function `name(program)` at the end of `module`.
  explicit ProgramWriter(mlir::ModuleOp module,
                         llvm::StringRef name = "hone_program");
  /// Ends it.
  void finish();

  // Operands of calls.
  mlir::Value integer(int64_t value);
  mlir::Value number(double value);
  mlir::Value string(llvm::StringRef value);
  mlir::Value array(llvm::ArrayRef<int64_t> values);
  /// The address of a kernel's entry `name(buffers, lo, hi)`, which
  /// hone-bind-kernels defines.
  mlir::Value kernel(llvm::StringRef name);

  /// Calls a function of abi.def; the program itself is the first operand.
  void call(llvm::StringRef name, llvm::ArrayRef<mlir::Value> operands);
  /// Calls `name(program)`, a function of the module that another writer makes.
  void callPart(llvm::StringRef name);

private:
  mlir::LLVM::LLVMFuncOp startFunction(llvm::StringRef name,
                                       mlir::LLVM::Linkage linkage);
  mlir::LLVM::LLVMFuncOp declare(llvm::StringRef name,
                                 mlir::LLVM::LLVMFunctionType type);
  void startPart();
  void finishPart();
  mlir::Value constant(mlir::TypedAttr value);
  mlir::Value address(llvm::StringRef symbol);
  mlir::Value global(llvm::StringRef prefix, mlir::Type type,
                     mlir::Attribute value);

  mlir::ModuleOp module;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::LLVM::LLVMFuncOp entry; ///< which calls the parts
  mlir::LLVM::LLVMFuncOp part;  ///< the one that calls go to
  unsigned parts = 0;
  unsigned calls = 0;
  // One op per distinct constant, address and declaration: a deep model has
  // thousands of calls.
  llvm::DenseMap<mlir::Attribute, std::string> globals;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
  llvm::StringMap<mlir::Value> addresses;
  llvm::StringMap<mlir::LLVM::LLVMFuncOp> declared;
};

} // namespace hone

#endif // HONE_LIB_CODEGEN_PROGRAM_WRITER_H
