//===- Lowering.h - Describes a planned program -----------------*- C++ -*-===//
//
// What every target does with a plan: @hone_program tells the runtime the
// arena, the arguments, and the launches and results of each function through
// abi.def, and of the stages of a pipeline also their lists. A target says what
// the kernels of a launch are.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_PROGRAM_LOWERING_H
#define HONE_LIB_CODEGEN_PROGRAM_LOWERING_H

#include "Writer.h"
#include "hone/Plan/AbiNumbers.h"
#include "hone/Plan/Plan.h"
#include "hone/Sharding/IR/Sharding.h"

#include "llvm/ADT/StringSet.h"

namespace hone {

/// The mesh of the module, if its programs run on several ranks.
std::optional<dist::Mesh> findMesh(mlir::ModuleOp module);

/// The activation of a product [m, n] in memory. Arguments of the launch's
/// body, in the order of its buffers, by number.
struct ProductActivation {
  mlir::Operation *op; ///< hone.gelu or hone.gelu_bwd
  int64_t m, n;
  int64_t rowStride; ///< elements between rows of the result
  int64_t auxStride; ///< the same of the activation's argument
  int64_t result;    ///< numbers of buffers
  std::optional<int64_t> bias, aux;
};

class ProgramLowering {
public:
  explicit ProgramLowering(mlir::ModuleOp module)
      : module(module), mesh(findMesh(module)),
        programs(llvm::to_vector(module.getOps<plan::ProgramOp>())),
        builder(module.getContext()), writer(module) {}
  virtual ~ProgramLowering() = default;

  /// Replaces the program, or those of all stages, by their description. Errors
  /// are reported.
  mlir::LogicalResult run();

protected:
  virtual mlir::LogicalResult describeLaunch(plan::LaunchOp launch) = 0;
  /// What programs need besides their functions.
  virtual mlir::LogicalResult finish() { return mlir::success(); }

  /// What ranks do together (DescribeRanks.cpp).
  mlir::LogicalResult describeCollective(plan::LaunchOp launch);
  /// A library's product, with its epilogue.
  mlir::LogicalResult describeProduct(plan::LaunchOp launch);
  /// How a target computes an activation that the library lacks.
  virtual mlir::LogicalResult
  describeActivation(plan::LaunchOp launch, const ProductActivation &product) {
    return mlir::success();
  }
  /// A library's products of groups of rows; false where the library has none
  /// for the launch, as for f64.
  bool describeGroupedProduct(plan::LaunchOp launch);
  /// A library's convolution; false: the library has none of this form.
  bool describeLibraryConvolution(plan::LaunchOp launch);
  /// Sets the largest magnitudes that the launch finds to zero, before its
  /// kernels raise them. Those of no elements are 0, too.
  void zeroMagnitudes(plan::LaunchOp launch);
  /// The name and the user's source line, as the first operands of a call.
  llvm::SmallVector<mlir::Value> nameOperands(plan::LaunchOp launch);
  /// Offsets of the launch's buffers in the arena, as the last two.
  llvm::SmallVector<mlir::Value> offsetOperands(plan::LaunchOp launch);
  /// A text that is equal for launches whose kernels are: stage, body, types,
  /// aliasing.
  static std::string keyOf(plan::LaunchOp launch, llvm::StringRef stage);
  /// A name for one kernel more.
  std::string kernelName(plan::LaunchOp launch);

  mlir::ModuleOp module;
  const std::optional<dist::Mesh> mesh;
  llvm::SmallVector<plan::ProgramOp> programs; ///< one, or one for each stage
  mlir::OpBuilder builder;
  ProgramWriter writer;

private:
  void describeFacts();
  mlir::LogicalResult describeProgram(plan::ProgramOp program);
  void describeArgument(plan::ArgumentOp argument);
  mlir::LogicalResult describeFunction(plan::FunctionOp function);
  void describeResult(plan::ResultOp result);
  void describeIdCheck(llvm::StringRef name, mlir::DictionaryAttr ids);
  void describeDropped(llvm::StringRef name, mlir::DictionaryAttr dropped);
  void describeCost(plan::LaunchOp launch);
  void describeCopy(plan::CopyOp copy);
  void describeActions(plan::ActionsOp actions);

  // DescribeRanks.cpp.
  void describeMesh();
  void describeSharding(plan::ArgumentOp argument);
  mlir::RankedTensorType wholeTypeOf(plan::ArgumentOp argument) const;
  llvm::SmallVector<mlir::Value> axisOperands(llvm::ArrayRef<unsigned> axes);
  void describeCollective(plan::LaunchOp launch,
                          dist::CollectiveOpInterface op);
  void describeCoordinate(plan::LaunchOp launch, dist::CoordinateOp coordinate);
  void describeShard(plan::LaunchOp launch, dist::ShardOp shard);
  int64_t tokenOf(plan::LaunchOp launch, mlir::Operation *op);
  mlir::LogicalResult describeWait(plan::LaunchOp launch);

  unsigned kernelCount = 0;
  /// Of collectives that only began, by their results.
  llvm::DenseMap<mlir::Value, int64_t> tokens;
  int64_t nextToken = 0;
  /// Checks of ids and counts of dropped rows of the program, by name.
  llvm::StringSet<> described;
};

/// Which buffers of a launch share memory with one that it writes: two
/// launches can share a kernel only where these agree.
llvm::SmallVector<bool> aliasedBuffers(plan::LaunchOp launch);

/// Whether a launch is one product of groups of rows and nothing else, of whole
/// inputs without gaps.
bool isGroupedProduct(plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_PROGRAM_LOWERING_H
