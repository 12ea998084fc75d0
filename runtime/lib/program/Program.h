//===- Program.h - What abi.def describes ---------------------------------===//
//
// The description of a training program as plain data: recorded by the
// functions of abi.def, checked once, then only read.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_PROGRAM_PROGRAM_H
#define HONERT_PROGRAM_PROGRAM_H

#include "base/AttentionProblem.h"
#include "base/ProductEpilogue.h"
#include "base/ScaleLayout.h"
#include "base/Status.h"
#include "base/Types.h"
#include "honert/honert.h"
#include "program/Mesh.h"

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace honert {

/// How one dimension of a whole tensor is divided: honert_argument_division.
/// Without axes it is not.
struct DimDivision {
  Axes axes;
  Shape cuts;
  bool isSnake = false; ///< every second segment is divided from its end
};

/// A tensor of files inside an argument's whole: the box of `shape` at
/// `offset`.
struct Part {
  std::string name;
  Shape offset, shape;
};

/// A tensor at a fixed place in the arena.
struct Argument {
  Kind kind;
  std::string fqn;
  DType dtype;
  Shape dims; ///< of the part that a rank has
  int64_t offset;
  int64_t bytes = 0;
  Shape whole;                        ///< dims of the tensor of all ranks
  std::vector<DimDivision> divisions; ///< one for each dimension of `whole`
  Axes partial;                       ///< ranks hold terms along these
  InitKind init = InitKind::none;
  double a = 0, b = 0;
  const char *data = nullptr; ///< initial value in the executable, or null
  int64_t dataBytes = 0;
  std::vector<std::string> aliases; ///< of the only part
  /// Never empty; of the whole, what is outside all parts is zero.
  std::vector<Part> parts;
  bool isWhole = true;  ///< the only part is the whole itself
  bool changes = false; ///< a buffer that functions write
  Role role = Role::none;
  int64_t vocab = 0;              ///< ids must be smaller; 0: no bound
  std::optional<int64_t> ignored; ///< the id that may be there besides
  int64_t instances = 1;          ///< honert_argument_window
  int64_t stage = 0; ///< of a program with stages: the first that has it
  /// In the second arena. Its offset is that in the executor's view, where the
  /// second arena lies behind the first.
  bool isOnHost = false;

  /// From one instance to the next.
  int64_t instanceStride() const { return (bytes + 63) / 64 * 64; }
  /// Kept from step to step and in files.
  bool isState() const {
    return kind == Kind::param || kind == Kind::buffer || kind == Kind::opt;
  }
  /// Whether ranks have different parts of it.
  bool isDivided() const;
  /// A buffer whose value comes with the program and stays.
  bool isConstant() const {
    return kind == Kind::buffer && !changes && (data || init == InitKind::file);
  }
};

struct KernelLaunch {
  honert_kernel kernel;
  int64_t items, grain;
  std::vector<int64_t> offsets;
};

/// Elements in the arena that a launch may read or write, and perhaps some
/// between them that it leaves as they are.
struct ArenaTensor {
  DType dtype;
  int64_t offset; ///< of the first, in bytes
  int64_t count;  ///< of elements

  int64_t bytes() const { return count * byteWidth(dtype); }
};

/// A kernel of the program's device code.
struct DeviceLaunch {
  std::string kernel;
  int64_t blocks, threads;
  std::vector<int64_t> offsets; ///< of its parameters in the arena
  /// honert_device_writes; empty: not known.
  std::vector<ArenaTensor> writes = {};
  /// honert_device_reads, where it was called.
  std::optional<std::vector<ArenaTensor>> reads = std::nullopt;
};

/// Which codes share a scale in a mode that programs may have.
constexpr ScaleTile scaleTileOf(ScaleMode mode) {
  return mode == ScaleMode::vector32    ? ScaleTile::row32
         : mode == ScaleMode::vector128 ? ScaleTile::row128
         : mode == ScaleMode::block128  ? ScaleTile::block128
                                        : ScaleTile::tensor;
}

/// Scales of a product's codes: honert_matmul_scales.
struct ProductScales {
  struct Side {
    ScaleMode mode;
    int64_t offset; ///< in bytes

    /// Bytes of the scales of `rows` x `k` codes.
    int64_t bytes(int64_t rows, int64_t k) const {
      ScaleTile tile = scaleTileOf(mode);
      int64_t width = tile == ScaleTile::row32 ? 1 : 4;
      return ScaleLayout{tile, rows, k}.size() * width;
    }
  };
  Side a, b;
  DType operandB;
  bool isFast;
};

/// c[b,m,n] = sum_k a[b,m,k] * b[b,k,n] (+ bias[n]) (+ addend[b,m,n]).
struct MatmulLaunch {
  int64_t batch, m, n, k;
  /// Elements: a (batch, m, k), b (batch, k, n), c (batch, m, n), addend
  /// (batch, m, n).
  std::array<int64_t, 12> strides;
  /// Byte offsets; -1: absent.
  int64_t a, b, c, bias, addend;
  /// Of a and b (without scales); of c, bias and addend.
  DType operand = DType::f32, result = DType::f32;
  Activation activation = Activation::none;
  Sums summed = Sums::none;
  /// Byte offsets; -1: absent. Elements between rows of aux.
  int64_t aux = -1, auxStride = 0, sums = -1;
  /// Does what the activation does: honert_matmul_activation.
  std::optional<DeviceLaunch> activationKernel = std::nullopt;
  /// Of operands that are codes.
  std::optional<ProductScales> scales = std::nullopt;

  DType operandB() const { return scales ? scales->operandB : operand; }
  /// What honert_matmul_scales demands, bounds of a, b and c apart.
  Status checkScales(const std::string &name, int64_t arenaBytes) const;
  bool hasEpilogue() const {
    return activation != Activation::none || summed != Sums::none;
  }
  /// Without terms or elements.
  bool isEmpty() const { return batch == 0 || m == 0 || n == 0 || k == 0; }
};

/// Products of groups of rows: honert_grouped_matmul.
struct GroupedMatmulLaunch {
  GroupedProduct product;
  int64_t groups, rows, n, k;
  /// Byte offsets.
  int64_t a, b, ends, c;
  /// Of a and b; of c; of ends.
  DType operand, result, index;

  bool sumsRows() const { return product == GroupedProduct::weights; }
};

/// honert_convolution.
struct ConvolutionLaunch {
  /// A spatial dimension: positions of the image, taps of the kernel,
  /// positions of the output.
  struct Dim {
    int64_t image, kernel, output, stride, dilation, low, high;
  };

  ConvolutionPart computed;
  DType operand, result;
  int64_t batch, channels, outputs, groups;
  std::vector<Dim> dims;
  /// Byte offsets of the three tensors.
  int64_t image, kernel, output;

  /// [N, S..., C], [K..., C / G, O], [N, R..., O].
  Shape shapeOf(ConvolutionPart part) const;
  DType typeOf(ConvolutionPart part) const {
    return part == computed ? result : operand;
  }
  int64_t offsetOf(ConvolutionPart part) const;
  /// Of all three tensors: sizes fit together, types are some that a library
  /// multiplies, memory is inside the arena.
  Status check(const std::string &name, int64_t arenaBytes) const;
};

/// A plan of cuDNN for one architecture, in the executable.
struct AttentionPlanCode {
  int64_t arch; ///< 80 for sm_80
  const char *json;
  int64_t bytes;
};

/// Fused attention by cuDNN.
struct AttentionLaunch {
  AttentionProblem problem;
  std::vector<int64_t> offsets; ///< of problem.operands()
  int64_t workspace, workspaceBytes;
  std::vector<AttentionPlanCode> plans;
};

struct ZeroLaunch {
  int64_t offset, bytes;
};

/// honert_collective.
struct CollectiveLaunch {
  CollectiveKind kind;
  ReduceKind reduce;
  int64_t amount;
  DType dtype;
  int64_t count;
  Axes axes;
  int64_t in, out;
  int64_t token; ///< negative: done before the next launch

  bool isAsynchronous() const { return token >= 0; }
  int64_t inBytes() const { return count * byteWidth(dtype); }
  /// In a group of `ranks` ranks.
  int64_t outBytes(int64_t ranks) const;
};

struct WaitLaunch {
  int64_t token;
};

/// honert_shard.
struct ShardLaunch {
  Axes axes;
  int64_t rows, bytes; ///< of one part of a row
  int64_t in, out;
};

/// honert_coordinate.
struct CoordinateLaunch {
  Axes axes;
  int64_t out;
};

/// honert_copy.
struct CopyLaunch {
  CopyDirection direction;
  int64_t offset, hostOffset, bytes, token;
};

/// honert_copy_wait.
struct CopyWaitLaunch {
  int64_t token;
};

struct CallbackLaunch {
  honert_callback_fn callback;
  void *user;
};

/// What a group of ops costs, which one launch or several in turn compute.
struct LaunchCost {
  std::string family; ///< empty: nothing is known
  int64_t bytes = 0, flops = 0;
  size_t part = 0, parts = 1; ///< of the group's launches
  size_t group = 0;           ///< its number in the program, from 0
};

struct Launch {
  std::string name;
  std::string location;
  std::variant<KernelLaunch, DeviceLaunch, MatmulLaunch, GroupedMatmulLaunch,
               ConvolutionLaunch, AttentionLaunch, ZeroLaunch, CollectiveLaunch,
               WaitLaunch, ShardLaunch, CoordinateLaunch, CopyLaunch,
               CopyWaitLaunch, CallbackLaunch>
      action;
  LaunchCost cost = {};

  /// A copy between the arenas, or the wait for such.
  bool isCopy() const {
    return std::holds_alternative<CopyLaunch>(action) ||
           std::holds_alternative<CopyWaitLaunch>(action);
  }
};

/// Code of all device kernels, in the executable.
struct DeviceCode {
  CodeKind kind;
  int64_t arch; ///< 80 for sm_80
  const char *data;
  int64_t bytes;
};

struct Result {
  std::string name;
  DType dtype;
  Shape dims;
  int64_t offset;
};

struct Function {
  std::string name;
  std::vector<Launch> launches;
  std::vector<Result> results;
  /// Of a stage: the inputs, windows and arguments that are sent or received,
  /// by number, at which its offsets point (joinStages).
  std::vector<size_t> touched = {};
  /// Those at whose instance 1 they point: of the second micro-batch of a run.
  std::vector<size_t> touchedBeside = {};

  const Result *result(const std::string &name) const;
};

/// What a result, or scalar of "accumulate", that checks ids is about:
/// honert_id_check.
struct IdCheck {
  std::string name;
  std::string op, location;
  int64_t size; ///< rows or classes
};

/// What a result, or scalar of "accumulate", that counts dropped rows is about:
/// honert_dropped_rows.
struct DroppedCount {
  std::string name;
  std::string location;
  int64_t rows = 0; ///< of a micro-batch, of all ranks
  double factor = 0, enough = 0;
  bool stops = false;
};

/// Tensors that are alike and live at the peak.
struct LiveTensors {
  std::string category;
  std::string name;     ///< of the op that makes them, or of state
  std::string location; ///< FILE:LINE, or ""
  DType dtype;
  Shape dims;
  int64_t count, bytes; ///< how many, and what they take together
};

/// An entry of a list: honert_action.
struct Action {
  static constexpr size_t unknown = std::numeric_limits<size_t>::max();

  ActionKind kind;
  std::string what;
  int64_t micro, peer;
  // What `what` is, from joinStages(); `unknown` if there is no such.
  size_t function = unknown; ///< of `run`: that of the micro-batch's instances
  size_t argument = unknown; ///< of a transfer
  int64_t channel = -1;      ///< of a transfer: its number among all stages'
  int64_t beside = -1; ///< of a run: honert_action_beside; -1 without a call

  bool isRun() const { return kind == ActionKind::run; }
  /// At the end of a channel where values go out.
  bool sends() const {
    return kind == ActionKind::send || kind == ActionKind::awaitSend;
  }
};

/// What runs: a program, or one stage of a pipeline. A program with stages has
/// arguments of them all (joinStages), and no functions.
struct Program {
  std::map<std::string, std::string> meta;
  std::map<std::string, double> numbers;
  int64_t arenaBytes = 0;
  int64_t hostBytes = 0; ///< of the second arena
  Mesh mesh;
  std::vector<std::pair<std::string, int64_t>> categories;
  std::vector<LiveTensors> live; ///< at the peak, most bytes first
  std::vector<Argument> arguments;
  std::vector<DeviceCode> deviceCode;
  std::vector<Function> functions;
  std::vector<IdCheck> idChecks;
  std::vector<DroppedCount> droppedCounts;
  size_t groups = 0; ///< whose costs are described
  /// Of a stage: what its rank does in a step and in an evaluation.
  std::vector<Action> stepActions, evaluateActions;
  std::vector<Program> stages;
  const Program *joined = nullptr; ///< of a stage: the program it belongs to
  /// The first mistake of the caller while describing; reported by check().
  std::string mistake;

  /// Where the second arena begins in the executor's view: at a page, behind
  /// the arena.
  int64_t hostBase() const {
    constexpr int64_t page = 2 << 20;
    return (arenaBytes + page - 1) / page * page;
  }

  bool isStage() const { return joined; }
  /// What `rank` runs: the program itself, or its stage.
  const Program &ofRank(int64_t rank) const;
  /// The program that files, flags and other ranks know, with arguments of all
  /// stages: those of the program itself without stages.
  const Program &whole() const { return joined ? *joined : *this; }
  /// What this stage has of an argument of whole(), or null.
  const Argument *own(const Argument &ofWhole) const;
  /// Whether there is what a validation runs.
  bool evaluates() const;
  /// Where a validation leaves its loss; null in stages but the last.
  const Result *evaluationLoss() const;

  const Function *function(const std::string &name) const;
  const Argument *argument(Kind kind, const std::string &fqn) const;
  /// A scalar that micro-batches add to: the loss, or a check of ids. The
  /// runtime sets it to zero before a step.
  bool isRunning(const Argument &argument) const;
  /// The input of any stage that is fed with `role`, or null.
  const Argument *input(Role role) const;
  double number(const std::string &key, double fallback) const;
  std::string text(const std::string &key, const char *fallback = "") const;
  /// Whether the program runs on a GPU.
  bool isForCuda() const;
  /// Bits do not depend on how ranks divide the program.
  bool isMeshInvariant() const;
  /// Micro-batches per step (1 if the program has `step`).
  int64_t microBatches() const;

  /// Everything lies in the arena, the functions fit together, names are
  /// unique: what the rest of the runtime relies on. After joinStages().
  Status check() const;
};

} // namespace honert

struct honert_program : honert::Program {};

#endif // HONERT_PROGRAM_PROGRAM_H
