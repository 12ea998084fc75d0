//===- ParseFile.h - Reading graphs and reporting errors --------*- C++ -*-===//
//
// What every tool does with a graph file before a pass sees it: a guard in
// front of MLIR's recursive parser, the parse, and diagnostics of one line.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_SUPPORT_PARSEFILE_H
#define HONE_SUPPORT_PARSEFILE_H

#include "hone/IR/Locations.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace hone {

/// Deepest nesting of brackets and regions that the tools accept. MLIR's parser
/// recurses once per level and overflows the stack at a few thousand.
constexpr unsigned maxNesting = 512;

/// Refuses what MLIR's parser must not see: bytecode, numbers in arrays of i1
/// (of an alias too, which may be i1), result numbers of seven digits, and text
/// nested deeper than `maxNesting`, strings and comments not counted. The
/// message names the place: "FILE:LINE:COL: nests 513 levels deep, expected at
/// most 512".
llvm::Error checkText(llvm::MemoryBufferRef buffer);

/// The module in `buffer`, verified; null after a diagnostic.
mlir::OwningOpRef<mlir::ModuleOp>
parseGraph(std::unique_ptr<llvm::MemoryBuffer> buffer,
           mlir::MLIRContext *context);

/// The module in the file `path`, verified; null after a diagnostic.
mlir::OwningOpRef<mlir::ModuleOp> parseGraphFile(llvm::StringRef path,
                                                 mlir::MLIRContext *context);

/// While it lives, prints the first error of `context` as one line,
/// "error: FILE:LINE:COL: message", and swallows what follows from it.
/// Warnings and remarks are printed in the same form, all of them.
class OneLineDiagnostics {
public:
  /// `fallback` stands for the place of ops without a location.
  OneLineDiagnostics(mlir::MLIRContext *context, llvm::StringRef fallback);

  /// Whether an error was printed.
  bool failed() const { return hasFailed; }

private:
  void print(mlir::Diagnostic &diagnostic);

  std::string fallback;
  bool hasFailed = false;
  mlir::ScopedDiagnosticHandler handler;
};

/// Prints "error: MESSAGE" as one line to stderr.
void printError(const llvm::Twine &message);

/// Prints the message of `error` in the same form.
void printError(llvm::Error error);

/// An error whose text is `message`.
llvm::Error makeError(const llvm::Twine &message);

} // namespace hone

#endif // HONE_SUPPORT_PARSEFILE_H
