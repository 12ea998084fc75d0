//===- TargetDescription.h - The machine that passes decide for -*- C++ -*-===//
//
// What graph passes need to know about the machine: which tensors pay to pad,
// what a library call takes with it, what moving a byte costs. Facts only; the
// tables are in TargetDescription.cpp, with their sources. The module names the
// machine (`hone.target = "cuda sm_90"`); without the attribute it is a CPU.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_COST_TARGETDESCRIPTION_H
#define HONE_ANALYSIS_COST_TARGETDESCRIPTION_H

#include "hone/IR/Hone.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace hone {

enum class TargetKind { CPU, CUDA };

/// The architecture that device code is written for where none is named: every
/// GPU since runs it.
constexpr llvm::StringLiteral oldestDevice = "sm_80";

/// What the target's matrix library computes in the call of the product itself.
/// A value is the share by which the call takes longer; none: the library does
/// not have it.
struct Epilogues {
  using Slowdown = std::optional<double>;
  Slowdown bias;         ///< + a vector along the columns
  Slowdown addend;       ///< + a matrix of the result's type (C operand)
  Slowdown gelu;         ///< gelu_tanh of the result, the argument dropped
  Slowdown geluAux;      ///< gelu_tanh, the argument stored beside it
  Slowdown geluBwd;      ///< * gelu_tanh'(u): the gradient of the argument
  Slowdown geluBwdSums;  ///< the same and the column sums of the result
  Slowdown operandSums;  ///< sums of an operand over what is contracted
  int64_t alignment = 1; ///< rows of an activation are multiples of this
};

/// What a GPU's context, its libraries' code and their workspaces take of its
/// memory, beside the arena: an assumption. (Of an H200, cuBLASLt's workspace
/// is 32 MiB of it; contexts and loaded code differ by driver.)
constexpr double assumedLibraryBytes = 2.0 * (1 << 30);

/// On the module: the GPU by its name in the data sheets, where the user named
/// one.
constexpr llvm::StringLiteral deviceAttr = "hone.device";

/// What one kernel over rows can hold.
struct RowLimits {
  size_t columnSums;  ///< sums over rows that accumulate beside each other
  int64_t summedCols; ///< columns of such a sum
  size_t results;     ///< values with an element per point that it stores
  size_t streams;     ///< values that it reads or writes
  int64_t rowBytes;   ///< of its operands' rows that stay on chip
};

/// What one GPU can do and what libraries reach on it: published rates, or
/// those that were measured (docs/benchmarks/gpu). FLOP and bytes are per
/// second. Strings belong to the data sheets or to the context.
struct DeviceFigures {
  llvm::StringRef arch, name;
  double narrowPeak, narrow; ///< products of 16-bit types, FLOP
  double wide;               ///< products of f32 without its low bits dropped
  double maps;               ///< operations on elements
  double bytesPeak, bytes;   ///< memory
  double memoryBytes;        ///< its size by the data sheet
  double link;               ///< to the host's memory and back, each, bytes
  /// Products of 8-bit codes, FLOP: one scale per tensor; scales of blocks or
  /// of MX; scales of 1 x 128 on both sides. 0: its library has none.
  double codes, scaledCodes, rowCodes;
  bool isMeasured = false; ///< what is reached in 16-bit products and memory
};

struct TargetDescription {
  TargetKind kind = TargetKind::CPU;
  bool hasEpilogues = true;   ///< false: the library only multiplies
  bool hasNarrowUnits = true; ///< products of 16-bit types are faster
  std::string arch;           ///< "znver4", "sm_90", ...; empty: generic
  std::optional<DeviceFigures> namedDevice; ///< of deviceAttr

  /// Whether it computes the attention op `op` as one kernel or call: a CPU
  /// any, a GPU what hone-plan-attention marked.
  bool hasFusedAttention(mlir::Operation *op) const;
  double matmulFlopsPerSecond(mlir::Type element) const;
  /// Of a product of 8-bit codes with such scales. 0: the target's library has
  /// no such product.
  double codeFlopsPerSecond(honert::ScaleTile lhs, honert::ScaleTile rhs) const;
  /// Of a contraction: of its operands' type, or of the codes that they are or
  /// are marked to become.
  double contractionFlopsPerSecond(mlir::Operation *op) const;
  /// Of fused attention over heads of `width` elements.
  double attentionFlopsPerSecond(mlir::Type element, int64_t width,
                                 bool isBackward) const;
  double bytesPerSecond() const;
  /// Operations on elements, as `getCost` counts them.
  double mapFlopsPerSecond() const;
  /// Seconds that a kernel or call costs besides its work.
  double launchSeconds() const;
  RowLimits rowLimits() const;
  /// Chunks of rows of `cols` elements whose sums are partial, at most: what
  /// keeps all cores busy that have so many sums of columns.
  /// `hasRowReductions`: a row's threads wait for each other, since values of
  /// the row are reduced too.
  int64_t partialChunks(int64_t cols, int64_t sums,
                        bool hasRowReductions) const;
  /// CUDA: the named device; else that of `arch`, or the one of sm_90 for an
  /// architecture that the table lacks.
  const DeviceFigures &device() const;
  /// Library epilogues of products of `operand`s whose result is of `result`s.
  Epilogues epilogues(mlir::Type operand, mlir::Type result) const;
  /// Elements to whose multiples sizes of products are padded; 1: no need.
  int64_t paddingMultiple(mlir::Type element) const;
  /// Share by which the three products of a weight in a step take longer
  /// because rows of one of them have `size` elements, no multiple of that.
  double misalignment(mlir::Type element, int64_t size) const;
};

/// The figures of the GPU that the data sheets, or its driver, call `name`: its
/// peaks, of which it reaches the shares of the table's device of its
/// architecture, or of the one before. None where no sheet has it.
std::optional<DeviceFigures> findDevice(llvm::StringRef name);

/// Models of the data sheets whose names have the word `name`, all where none
/// has, for a message.
std::string listDevices(llvm::StringRef name);

/// The target that `module` names. An unknown one is an error at the module.
mlir::FailureOr<TargetDescription> getTarget(mlir::ModuleOp module);

} // namespace hone

#endif // HONE_ANALYSIS_COST_TARGETDESCRIPTION_H
