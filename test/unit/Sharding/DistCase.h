//===- DistCase.h - A global function, and its ranks ------------*- C++ -*-===//

#ifndef HONE_TEST_UNIT_DIST_DISTCASE_H
#define HONE_TEST_UNIT_DIST_DISTCASE_H

#include "Sharding/Partition/Reshard.h"
#include "hone/Interpreter/Ranks.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <random>

namespace hone::dist {

/// `{"dp"}, {"tp" cuts [4]}` for each of some tensors; whole where it is short.
using Annotations = std::vector<std::string>;

/// One annotated function @f, as text: the mesh `[<"dp" = 2>]`, arguments and
/// results as types, and ops that read %0, %1, ... and return.
struct DistText {
  std::string mesh;
  std::vector<std::string> arguments, results;
  Annotations argumentShardings, resultShardings;
  std::string body;

  std::string str() const;
};

/// That function, what it computes, and what its ranks compute.
class DistCase {
public:
  explicit DistCase(const DistText &text);

  /// Runs the passes; false with their messages in `errors`.
  bool partition();
  /// Whether the ranks' results make the function's own, element by element
  /// within `tolerance` of its size; in double unless `mode` says otherwise.
  /// Copies of one element must agree in every bit.
  testing::AssertionResult ranksAgree(double tolerance = 1e-12,
                                      interp::Mode mode = interp::Mode::F64);
  /// What the function results in, in double and in its types, and what its
  /// ranks make together in its types; of the same arguments.
  struct Results {
    interp::Tensors exact, own, ofRanks;
  };
  mlir::FailureOr<Results> run();
  /// "all_reduce(dp) 96, all_gather(tp) 8": in order, with the bytes of the
  /// operand.
  std::string collectives();
  /// What dist-verify says after `edit` changed the ranks' program.
  std::string verifyAfter(llvm::function_ref<void(mlir::func::FuncOp)> edit);

  mlir::func::FuncOp local() { return functionOf(*partitioned); }
  std::string errors;

private:
  static mlir::func::FuncOp functionOf(mlir::ModuleOp module) {
    return *module.getOps<mlir::func::FuncOp>().begin();
  }
  bool runPasses(mlir::ModuleOp module, llvm::StringRef passes);

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> global, partitioned;
};

/// A random division of a tensor of `shape` over the axes of a mesh, even and
/// with a cut now and then; the text of its annotation.
std::string randomSharding(llvm::ArrayRef<int64_t> shape, const Mesh &mesh,
                           std::minstd_rand &draw);

} // namespace hone::dist

#endif // HONE_TEST_UNIT_DIST_DISTCASE_H
