//===- HoneRun.h - What hone-run can be asked to do -------------*- C++ -*-===//

#ifndef HONE_TOOLS_HONERUN_H
#define HONE_TOOLS_HONERUN_H

#include "hone/Interpreter/Interpreter.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>
#include <string>

namespace hone::run {

/// Exit codes of the tool.
constexpr int ok = 0, failed = 1, wrongCommandLine = 2;

struct EvaluateOptions {
  std::string entry; ///< empty: every function of the file, in order
  interp::Mode mode = interp::Mode::Typed;
  std::optional<int64_t> seed; ///< of random arguments
  bool sums = false;           ///< print sum and norm instead of elements
  bool trace = false;          ///< print sum and norm of every value computed
};
/// Evaluates functions of `path` and prints their results.
int evaluate(mlir::MLIRContext &context, llvm::StringRef path,
             const EvaluateOptions &options);

struct CompareOptions {
  std::string entry; ///< empty: every function of the first file
  interp::Mode mode = interp::Mode::Typed;
  int64_t seed = 0;
  double rtol = 1e-5, atol = 1e-6;
  bool bitwise = false;
  /// Above 0: what is compared is the root mean square distance of each result
  /// from the exact one, which may be this many times the first file's, plus
  /// `floor` times the exact result's own root mean square.
  double rmse = 0, floor = 1e-7;
  /// As much is allowed as the second file's values depend on their rounding.
  bool either = false;
  /// Functions of the second file are what each rank of its mesh runs.
  bool ranks = false;
  /// What is compared is what a whole step leaves, with all micro-batches.
  /// Functions of the second file may be those of the ranks of a mesh, also
  /// with stages.
  bool steps = false;
};
/// Evaluates functions of two files on the same arguments; fails where results
/// differ by more than `atol + rtol * |second|`, and where ranks' copies of one
/// element differ in a bit.
int compare(mlir::MLIRContext &context, llvm::StringRef first,
            llvm::StringRef second, const CompareOptions &options);

struct GradcheckOptions {
  std::string entry; ///< empty: every function of the file
  int64_t seed = 0;
  double tolerance = 1e-7;
  int64_t directions = 4;
};
/// Differentiates functions of `path` with hone-autodiff and compares the
/// gradients with finite differences.
int gradcheck(mlir::MLIRContext &context, llvm::StringRef path,
              const GradcheckOptions &options);

/// The module in a file, or standard input for "-"; null after a diagnostic.
mlir::OwningOpRef<mlir::ModuleOp> load(mlir::MLIRContext &context,
                                       llvm::StringRef path);

/// The function `entry` of `module`, or all functions with a body when `entry`
/// is empty. Nothing after a diagnostic.
llvm::SmallVector<mlir::func::FuncOp> entries(mlir::ModuleOp module,
                                              llvm::StringRef entry);

/// Runs the passes named in `pipeline` on `module`.
mlir::LogicalResult runPasses(mlir::ModuleOp module, llvm::StringRef pipeline);

} // namespace hone::run

#endif // HONE_TOOLS_HONERUN_H
