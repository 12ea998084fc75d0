//===- CheckProgram.cpp - What a described program must satisfy -----------===//

#include "program/CheckCopies.h"
#include "program/CheckRanks.h"
#include "program/CheckStages.h"
#include "program/Offsets.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace honert;

namespace {
/// Checks that byte ranges lie in an arena of the given size.
class Bounds {
public:
  explicit Bounds(int64_t arenaBytes) : arenaBytes(arenaBytes) {}
  const int64_t arenaBytes;

  bool contains(int64_t offset, int64_t bytes) const {
    return offset >= 0 && bytes >= 0 && bytes <= arenaBytes &&
           offset <= arenaBytes - bytes;
  }
  bool contains(int64_t offset, int64_t count, DType dtype) const {
    int64_t bytes;
    return !__builtin_mul_overflow(count, byteWidth(dtype), &bytes) &&
           contains(offset, bytes);
  }
};
} // namespace

static Status broken(const std::string &what) {
  return Status::error("program: " + what);
}

/// The part lies in its argument's whole, apart from those before it.
static Status checkPart(const Argument &argument, size_t index) {
  const Part &part = argument.parts[index];
  auto fails = [&](const char *what) {
    return broken(format("part '%s' %s of '%s'", part.name.c_str(), what,
                         argument.fqn.c_str()));
  };
  if (part.name.empty() || part.shape.size() != argument.whole.size())
    return fails("has no name or another rank than the shape");
  for (size_t dim = 0; dim != part.shape.size(); ++dim)
    if (part.offset[dim] < 0 || part.shape[dim] < 0 ||
        part.offset[dim] > argument.whole[dim] ||
        part.shape[dim] > argument.whole[dim] - part.offset[dim])
      return fails("reaches outside the storage");
  for (size_t i = 0; i != index; ++i) {
    const Part &other = argument.parts[i];
    bool apart = false;
    for (size_t dim = 0; dim != part.shape.size(); ++dim)
      apart |= part.offset[dim] + part.shape[dim] <= other.offset[dim] ||
               other.offset[dim] + other.shape[dim] <= part.offset[dim];
    if (!apart)
      return fails("overlaps another part");
  }
  return Status();
}

static Status checkArgument(const Program &program, const Argument &argument,
                            const Bounds &arena) {
  const Mesh &mesh = program.mesh;
  const char *fqn = argument.fqn.c_str();
  if (argument.fqn.empty())
    return broken("an argument has no name");
  if (argument.bytes < 0)
    return broken(format("argument '%s' of shape %s has no valid size", fqn,
                         toString(argument.dims).c_str()));
  if (argument.isOnHost)
    HONERT_TRY(checkOnHost(program, argument));
  Bounds bounds(argument.isOnHost ? argument.offset + argument.bytes
                                  : arena.arenaBytes);
  if (argument.offset % 64 != 0 ||
      !bounds.contains(argument.offset, argument.bytes))
    return broken(format("argument '%s' at offset %lld is outside the arena or "
                         "not a multiple of 64",
                         fqn, static_cast<long long>(argument.offset)));
  int64_t windowBytes;
  if (__builtin_mul_overflow(argument.instances, argument.instanceStride(),
                             &windowBytes) ||
      !bounds.contains(argument.offset, windowBytes -
                                            argument.instanceStride() +
                                            argument.bytes))
    return broken(format("window '%s' of %lld instances is outside the arena",
                         fqn, static_cast<long long>(argument.instances)));
  int64_t wholeBytes = byteCount(argument.dtype, argument.whole).value_or(-1);
  if (argument.data && argument.dataBytes != wholeBytes)
    return broken(format("argument '%s' has %lld bytes, but its value %lld",
                         fqn, static_cast<long long>(wholeBytes),
                         static_cast<long long>(argument.dataBytes)));
  HONERT_TRY(checkDivision(argument, mesh));
  if (!argument.isWhole) {
    if (argument.data ||
        (argument.parts.size() > 1 && !argument.aliases.empty()))
      return broken(format("argument '%s' has parts together with a value in "
                           "the executable or aliases",
                           fqn));
    for (size_t i = 0; i != argument.parts.size(); ++i)
      HONERT_TRY(checkPart(argument, i));
  }
  if (argument.role != Role::none &&
      (argument.kind != Kind::input || argument.dims.empty() ||
       (argument.dtype != DType::i64 && argument.dtype != DType::i32)))
    return broken(format("argument '%s' is fed with tokens, but is %s of rank "
                         "%zu (expected an i64 or i32 input of rank 1 or more)",
                         fqn, name(argument.dtype), argument.dims.size()));
  if (argument.kind == Kind::rng &&
      (argument.dtype != DType::i64 || argument.dims != Shape{3}))
    return broken(format("argument '%s' of kind rng is not [3] x i64", fqn));
  if (argument.kind == Kind::scalar && !argument.dims.empty())
    return broken(format("argument '%s' of kind scalar has shape %s", fqn,
                         toString(argument.dims).c_str()));
  return Status();
}

/// One past the last element that an operand of a matmul touches, in bytes;
/// -1 if there is none such.
static int64_t extentBytes(const int64_t *strides, int64_t batch, int64_t rows,
                           int64_t cols, DType dtype) {
  int64_t sizes[] = {batch, rows, cols}, last = 0;
  for (int i = 0; i < 3; ++i) {
    if (sizes[i] == 0)
      return 0;
    int64_t step;
    if (strides[i] < 0 ||
        __builtin_mul_overflow(strides[i], sizes[i] - 1, &step) ||
        __builtin_add_overflow(last, step, &last))
      return -1;
  }
  int64_t width = byteWidth(dtype);
  return last > INT64_MAX / width - 1 ? -1 : (last + 1) * width;
}

/// What honert_matmul_epilogue demands.
static Status checkEpilogue(const std::string &name, const MatmulLaunch &matmul,
                            const Bounds &bounds) {
  auto fails = [&](const char *what) {
    return broken(format("matmul %s %s", name.c_str(), what));
  };
  bool isBwd = matmul.activation == Activation::geluBwd;
  bool hasAux = isBwd || matmul.activation == Activation::geluAux;
  if (matmul.batch != 1 || matmul.isEmpty())
    return fails("has an epilogue and a batch or no elements");
  if (matmul.activation != Activation::none &&
      (matmul.addend != -1 || (isBwd && matmul.bias != -1)))
    return fails("has an activation of a sum that no library computes");
  if (hasAux != (matmul.aux != -1))
    return fails(hasAux ? "has no place for the argument of its activation"
                        : "has a place for an argument it does not store");
  if ((matmul.summed != Sums::none) != (matmul.sums != -1))
    return fails("has sums without a place, or a place without sums");
  int64_t strides[] = {0, matmul.auxStride, 1};
  if (hasAux && (matmul.aux % 16 != 0 || matmul.auxStride % 8 != 0 ||
                 matmul.n % 8 != 0 || matmul.auxStride < matmul.n))
    return fails("has rows of aux that are no multiple of 8 elements, overlap "
                 "or do not begin at a multiple of 16 bytes");
  if (hasAux &&
      !bounds.contains(matmul.aux, extentBytes(strides, 1, matmul.m, matmul.n,
                                               matmul.result)))
    return fails("has an aux outside the arena");
  int64_t count = matmul.summed == Sums::ofA ? matmul.m : matmul.n;
  if (matmul.sums != -1 && (matmul.sums % 4 != 0 ||
                            !bounds.contains(matmul.sums, count, DType::f32)))
    return fails("has sums outside the arena, or not at a multiple of 4");
  return Status();
}

static Status checkProductTypes(const std::string &name, DType operand,
                                DType result) {
  if ((operand == DType::f32 || operand == DType::bf16 ||
       operand == DType::f16) &&
      (result == DType::f32 || result == operand))
    return Status();
  return broken(format("matmul %s multiplies %s to %s, expected f32, bf16 or "
                       "f16 to the same or f32",
                       name.c_str(), honert::name(operand),
                       honert::name(result)));
}

static Status checkMatmul(const std::string &name, const MatmulLaunch &matmul,
                          const Bounds &bounds) {
  const int64_t *s = matmul.strides.data();
  if (matmul.batch < 0 || matmul.m < 0 || matmul.n < 0 || matmul.k < 0)
    return broken(format("matmul %s has a negative size", name.c_str()));
  DType operand = matmul.operand, result = matmul.result;
  HONERT_TRY(matmul.scales ? matmul.checkScales(name, bounds.arenaBytes)
                           : checkProductTypes(name, operand, result));
  auto inside = [&](DType dtype, int64_t offset, const int64_t *strides,
                    int64_t rows, int64_t cols) {
    return bounds.contains(
        offset, extentBytes(strides, matmul.batch, rows, cols, dtype));
  };
  int64_t sizes[] = {matmul.batch, matmul.m, matmul.n};
  bool writes = matmul.batch > 0 && matmul.m > 0 && matmul.n > 0;
  for (int i = 0; writes && i < 3; ++i)
    if (sizes[i] > 1 && s[6 + i] == 0)
      return broken(
          format("matmul %s writes elements over each other", name.c_str()));
  bool fits =
      inside(operand, matmul.a, s, matmul.m, matmul.k) &&
      inside(operand, matmul.b, s + 3, matmul.k, matmul.n) &&
      inside(result, matmul.c, s + 6, matmul.m, matmul.n) &&
      (matmul.addend == -1 ||
       inside(result, matmul.addend, s + 9, matmul.m, matmul.n)) &&
      (matmul.bias == -1 || bounds.contains(matmul.bias, matmul.n, result));
  if (!fits)
    return broken(format("matmul %s reaches outside the arena", name.c_str()));
  return matmul.hasEpilogue() ? checkEpilogue(name, matmul, bounds) : Status();
}

static Status checkGroupedMatmul(const std::string &name,
                                 const GroupedMatmulLaunch &matmul,
                                 const Bounds &bounds) {
  HONERT_TRY(checkProductTypes(name, matmul.operand, matmul.result));
  if (matmul.index != DType::i32 && matmul.index != DType::i64)
    return broken(format("matmul %s has ends of %s, expected i32 or i64",
                         name.c_str(), honert::name(matmul.index)));
  if (std::min({matmul.groups, matmul.rows, matmul.n, matmul.k}) < 0)
    return broken(format("matmul %s has a negative size", name.c_str()));
  auto count = [](int64_t x, int64_t y, int64_t z) {
    int64_t total;
    bool tooMany = __builtin_mul_overflow(x, y, &total) ||
                   __builtin_mul_overflow(total, z, &total);
    return tooMany ? -1 : total;
  };
  bool sums = matmul.sumsRows();
  int64_t matrices = count(matmul.groups, matmul.k, matmul.n);
  int64_t rowsOfN = count(matmul.rows, matmul.n, 1);
  bool fits =
      bounds.contains(matmul.a, count(matmul.rows, matmul.k, 1),
                      matmul.operand) &&
      bounds.contains(matmul.b, sums ? rowsOfN : matrices, matmul.operand) &&
      bounds.contains(matmul.c, sums ? matrices : rowsOfN, matmul.result) &&
      bounds.contains(matmul.ends, matmul.groups, matmul.index);
  return fits ? Status()
              : broken(format("matmul %s reaches outside the arena",
                              name.c_str()));
}

/// A grid that the driver takes, over buffers that vectors can be read from.
static Status checkDeviceLaunch(const char *name, const DeviceLaunch &launch,
                                const Bounds &bounds) {
  if (launch.kernel.empty() || launch.blocks < 1 || launch.blocks > INT32_MAX ||
      launch.threads < 1 || launch.threads > 1024)
    return broken(format("launch %s: kernel '%s', %lld blocks, %lld threads "
                         "(expected a name, 1 to 2^31 - 1 and 1 to 1024)",
                         name, launch.kernel.c_str(),
                         static_cast<long long>(launch.blocks),
                         static_cast<long long>(launch.threads)));
  for (int64_t offset : launch.offsets)
    if (!bounds.contains(placeOf(offset), 0))
      return broken(format("launch %s has a buffer at %lld, outside the arena",
                           name, static_cast<long long>(offset)));
  auto check = [&](const ArenaTensor &tensor, const char *does) {
    if (bounds.contains(tensor.offset, tensor.count, tensor.dtype))
      return Status();
    return broken(format("launch %s %s %lld elements of %s at %lld, outside "
                         "the arena",
                         name, does, static_cast<long long>(tensor.count),
                         honert::name(tensor.dtype),
                         static_cast<long long>(tensor.offset)));
  };
  for (const ArenaTensor &tensor : launch.writes)
    HONERT_TRY(check(tensor, "writes"));
  if (launch.reads)
    for (const ArenaTensor &tensor : *launch.reads)
      HONERT_TRY(check(tensor, "reads"));
  return Status();
}

/// What honert_attention demands of memory; its problem was read already.
static Status checkAttention(const char *name, const AttentionLaunch &launch,
                             const Bounds &bounds) {
  std::vector<AttentionOperand> operands = launch.problem.operands();
  if (launch.offsets.size() != operands.size())
    return broken(format("attention %s has %zu offsets, expected %zu", name,
                         launch.offsets.size(), operands.size()));
  for (size_t i = 0; i != operands.size(); ++i) {
    AttentionTensor tensor = launch.problem.tensor(operands[i]);
    if (launch.offsets[i] % 16 != 0 ||
        !bounds.contains(launch.offsets[i], tensor.extentBytes()))
      return broken(format("attention %s has its %s at %lld, outside the arena "
                           "or not a multiple of 16",
                           name, tensor.name,
                           static_cast<long long>(launch.offsets[i])));
  }
  if (launch.workspace % attentionAlignment != 0 ||
      !bounds.contains(launch.workspace, launch.workspaceBytes))
    return broken(format("attention %s has its workspace at %lld, outside the "
                         "arena or not a multiple of 256",
                         name, static_cast<long long>(launch.workspace)));
  std::set<int64_t> archs;
  for (const AttentionPlanCode &plan : launch.plans)
    if (!plan.json || plan.bytes < 1 || !archs.insert(plan.arch).second)
      return broken(format("attention %s has a plan for sm_%lld that is empty "
                           "or the second",
                           name, static_cast<long long>(plan.arch)));
  return Status();
}

static Status checkLaunch(const Launch &launch, const Bounds &bounds) {
  const char *name = launch.name.c_str();
  if (launch.cost.bytes < 0 || launch.cost.flops < 0)
    return broken(format("launch %s costs less than nothing", name));
  if (auto *matmul = std::get_if<MatmulLaunch>(&launch.action)) {
    HONERT_TRY(checkMatmul(launch.name, *matmul, bounds));
    return matmul->activationKernel
               ? checkDeviceLaunch(name, *matmul->activationKernel, bounds)
               : Status();
  }
  if (auto *matmul = std::get_if<GroupedMatmulLaunch>(&launch.action))
    return checkGroupedMatmul(launch.name, *matmul, bounds);
  if (auto *convolution = std::get_if<ConvolutionLaunch>(&launch.action))
    return convolution->check(launch.name, bounds.arenaBytes);
  if (auto *attention = std::get_if<AttentionLaunch>(&launch.action))
    return checkAttention(name, *attention, bounds);
  if (auto *zero = std::get_if<ZeroLaunch>(&launch.action)) {
    if (!bounds.contains(zero->offset, zero->bytes))
      return broken("a zeroed range is outside the arena");
  } else if (auto *kernel = std::get_if<KernelLaunch>(&launch.action)) {
    if (!kernel->kernel || kernel->items < 0 || kernel->grain < 1)
      return broken(
          format("launch %s: items %lld, grain %lld (expected a kernel, "
                 "items >= 0 and grain >= 1)",
                 name, static_cast<long long>(kernel->items),
                 static_cast<long long>(kernel->grain)));
    for (int64_t offset : kernel->offsets)
      if (!bounds.contains(offset, 0))
        return broken(format("launch %s has a buffer outside the arena", name));
  } else if (auto *device = std::get_if<DeviceLaunch>(&launch.action)) {
    return checkDeviceLaunch(name, *device, bounds);
  } else if (auto *call = std::get_if<CallbackLaunch>(&launch.action)) {
    if (!call->callback)
      return broken(format("function %s has a null callback", name));
  }
  return Status();
}

static Status checkFunction(const Function &function, const Bounds &bounds) {
  for (const Launch &launch : function.launches)
    HONERT_TRY(checkLaunch(launch, bounds));
  for (const Result &result : function.results) {
    std::optional<int64_t> bytes = byteCount(result.dtype, result.dims);
    if (!bytes || !bounds.contains(result.offset, *bytes))
      return broken(format("result '%s' of %s is outside the arena",
                           result.name.c_str(), function.name.c_str()));
    bool isScalar = result.name == "loss" || result.name == "grad_norm";
    if (isScalar && (!isFloat(result.dtype) || *elementCount(result.dims) != 1))
      return broken(format("result '%s' of %s is not one float",
                           result.name.c_str(), function.name.c_str()));
  }
  return Status();
}

/// What runs on the host and what runs on a GPU are not mixed.
static Status checkPlace(const Program &program, const Function &function) {
  bool isForCuda = program.isForCuda();
  for (const Launch &launch : function.launches) {
    auto *matmul = std::get_if<MatmulLaunch>(&launch.action);
    bool isOfDevice =
        std::holds_alternative<DeviceLaunch>(launch.action) ||
        std::holds_alternative<AttentionLaunch>(launch.action) ||
        (matmul && (matmul->hasEpilogue() || matmul->activationKernel));
    bool isOfHost =
        std::holds_alternative<KernelLaunch>(launch.action) ||
        std::holds_alternative<GroupedMatmulLaunch>(launch.action) ||
        std::holds_alternative<ConvolutionLaunch>(launch.action) ||
        std::holds_alternative<CallbackLaunch>(launch.action);
    if (isForCuda ? isOfHost : isOfDevice)
      return broken(format("launch %s of %s runs on the %s, but the target is "
                           "'%s'",
                           launch.name.c_str(), function.name.c_str(),
                           isForCuda ? "host" : "GPU",
                           program.text("target").c_str()));
    if (matmul && matmul->scales && program.isMeshInvariant())
      return broken(format("launch %s of %s multiplies codes, but sums of an "
                           "exact program are of numbers",
                           launch.name.c_str(), function.name.c_str()));
    if ((std::holds_alternative<DeviceLaunch>(launch.action) ||
         (matmul && matmul->activationKernel)) &&
        program.deviceCode.empty())
      return broken(format("launch %s of %s has no device code",
                           launch.name.c_str(), function.name.c_str()));
  }
  return Status();
}

static Status checkDeviceCode(const Program &program) {
  std::set<std::pair<CodeKind, int64_t>> seen;
  if (!program.isForCuda() && !program.deviceCode.empty())
    return broken(format("has device code, but the target is '%s'",
                         program.text("target").c_str()));
  for (const DeviceCode &code : program.deviceCode) {
    auto arch = static_cast<long long>(code.arch);
    if (!code.data || code.bytes < 1 || code.arch < 10 || code.arch > 999)
      return broken(
          format("device code of %lld bytes for sm_%lld (expected some "
                 "bytes and an architecture)",
                 static_cast<long long>(code.bytes), arch));
    if (!seen.insert({code.kind, code.arch}).second)
      return broken(format("device code of one kind twice for sm_%lld", arch));
  }
  return Status();
}

int64_t Program::microBatches() const {
  if (function("step"))
    return 1;
  return std::llround(number("micro_batches", 1));
}

/// A token and its position lead to logits of the next one.
static Status checkGenerate(const Program &program) {
  const Function *generate = program.function("generate");
  if (!generate)
    return Status();
  const Argument *tokens = program.input(Role::tokens);
  if (!tokens || tokens->whole.size() != 2)
    return broken("function 'generate' is there without tokens of rank 2");
  for (const char *name : {"token", "position"}) {
    const Argument *scalar = program.argument(Kind::scalar, name);
    if (scalar && scalar->dtype != DType::i64)
      return broken(format("scalar '%s' is %s, expected i64", name,
                           honert::name(scalar->dtype)));
  }
  const Result *logits = generate->result("logits");
  if (!logits || logits->dims.size() != 1 || logits->dims[0] < 1 ||
      !isFloat(logits->dtype))
    return broken("function 'generate' has no result 'logits' of rank 1");
  return Status();
}

static Status checkMicroBatches(const Program &program) {
  double count = program.number("micro_batches", 1);
  if (!(count >= 1 && count <= 1e9) || count != std::floor(count))
    return broken(
        format("micro_batches is %g (expected a whole number >= 1)", count));
  return Status();
}

/// The functions that train are there, and a loss comes out of them.
static Status checkEntryPoints(const Program &program) {
  const Function *step = program.function("step");
  const Function *accumulate = program.function("accumulate");
  if (step) {
    if (!step->result("loss"))
      return broken("function 'step' has no result 'loss'");
  } else {
    if (!accumulate || !program.function("update"))
      return broken("there is neither 'step' nor 'accumulate' and 'update'");
    if (!program.argument(Kind::scalar, "loss"))
      return broken("'accumulate' has no argument 'loss' to add to");
    HONERT_TRY(checkMicroBatches(program));
  }
  if (program.isMeshInvariant() && program.isForCuda())
    return broken("it is mesh-invariant and for a GPU");
  const Function *evaluate = program.function("evaluate");
  if (evaluate && !evaluate->result("loss"))
    return broken("function 'evaluate' has no result 'loss'");
  return checkGenerate(program);
}

bool Program::isRunning(const Argument &argument) const {
  auto names = [&](const auto &each) { return each.name == argument.fqn; };
  return argument.kind == Kind::scalar &&
         (argument.fqn == "loss" ||
          std::any_of(idChecks.begin(), idChecks.end(), names) ||
          std::any_of(droppedCounts.begin(), droppedCounts.end(), names));
}

/// Whether what functions leave under `name` is a whole number of rank 0.
static bool isWholeNumber(const Program &program, const std::string &name) {
  auto fits = [](const auto &place) {
    return place.dtype == DType::i64 && place.dims.empty();
  };
  const Argument *argument = program.argument(Kind::scalar, name);
  return (!argument || fits(*argument)) &&
         std::all_of(program.functions.begin(), program.functions.end(),
                     [&](const Function &function) {
                       const Result *result = function.result(name);
                       return !result || fits(*result);
                     });
}

/// Checks of ids are of tables that have a row, counts of rows of some.
static Status checkWholeNumbers(const Program &program) {
  std::set<std::string> names;
  for (const IdCheck &check : program.idChecks)
    if (check.size <= 0 || !names.insert(check.name).second ||
        !isWholeNumber(program, check.name))
      return broken(format("check of ids '%s' is named twice, of no rows, or "
                           "no i64 of rank 0",
                           check.name.c_str()));
  for (const DroppedCount &count : program.droppedCounts)
    if (count.rows <= 0 || !names.insert(count.name).second ||
        !isWholeNumber(program, count.name))
      return broken(format("count of dropped rows '%s' is named twice, of no "
                           "rows, or no i64 of rank 0",
                           count.name.c_str()));
  return Status();
}

/// Whether some working copies are made by the program itself.
static bool makesCodes(const Program &program) {
  return program.function("fill_codes") ||
         std::any_of(
             program.stages.begin(), program.stages.end(),
             [](const Program &stage) { return stage.function("fill_codes"); });
}

/// No two tensors answer to one name in a file; inputs of one role agree.
static Status checkNames(const Program &program) {
  std::set<std::pair<Kind, std::string>> seen;
  std::set<std::string> fileNames;
  for (const Argument &argument : program.arguments) {
    if (!seen.insert({argument.kind, argument.fqn}).second)
      return broken(format("two arguments of kind %s are called '%s'",
                           name(argument.kind), argument.fqn.c_str()));
    if (!argument.isState())
      continue;
    std::vector<std::string> names = argument.aliases;
    for (const Part &part : argument.parts)
      names.push_back(part.name);
    for (const std::string &each : names)
      if (!fileNames.insert(each).second)
        return broken(format("two tensors answer to '%s'", each.c_str()));
  }
  for (const Argument &argument : program.arguments) {
    if (argument.kind != Kind::workingCopy)
      continue;
    const Argument *param = program.whole().argument(Kind::param, argument.fqn);
    if (!param && makesCodes(program))
      continue; // codes or scales
    if (!param || param->whole != argument.whole || !isFloat(param->dtype) ||
        !isFloat(argument.dtype))
      return broken(format("working copy '%s' is of no parameter of its shape",
                           argument.fqn.c_str()));
  }
  const Argument *tokens = program.input(Role::tokens);
  const Argument *targets = program.input(Role::targets);
  if (targets && !tokens)
    return broken("there is an input for targets, but none for tokens");
  for (const Argument &argument : program.arguments)
    if (argument.kind == Kind::input && argument.role != Role::none &&
        argument.whole != tokens->whole)
      return broken(format("inputs '%s' and '%s' are fed by one token stream, "
                           "expected one shape",
                           tokens->fqn.c_str(), argument.fqn.c_str()));
  if (tokens && *elementCount(tokens->dims) == 0)
    return broken("the token input is empty");
  return Status();
}

static Status checkStages(const Program &program) {
  HONERT_TRY(checkMicroBatches(program));
  for (size_t i = 0; i != program.stages.size(); ++i)
    if (Status status = program.stages[i].check(); !status.ok())
      return Status::error(format("stage %zu: ", i) + status.message());
  HONERT_TRY(checkShared(program));
  HONERT_TRY(checkNames(program));
  return checkActions(program);
}

Status Program::check() const {
  if (!mistake.empty())
    return broken(mistake);
  if (number("abi", -1) != HONERT_ABI)
    return broken(format("made for ABI %g; this runtime has ABI %d",
                         number("abi", -1), HONERT_ABI));
  Axes along = mesh.stageAxes();
  size_t expected = along.empty() || isStage() ? 0 : mesh.groupSize(along);
  if (stages.size() != expected)
    return broken(format("there are %zu stages for mesh '%s', expected one for "
                         "each coordinate along 'pp'",
                         stages.size(), mesh.text().c_str()));
  if (!stages.empty())
    return checkStages(*this);
  if (arenaBytes < 0 || hostBytes < 0)
    return broken("an arena has a negative size");
  Bounds bounds(arenaBytes);
  for (const Argument &argument : arguments)
    HONERT_TRY(checkArgument(*this, argument, bounds));
  HONERT_TRY(checkNames(*this));
  HONERT_TRY(checkWholeNumbers(*this));
  HONERT_TRY(checkDeviceCode(*this));
  for (const Function &function : functions) {
    HONERT_TRY(checkFunction(function, bounds));
    HONERT_TRY(checkRanks(*this, function));
    HONERT_TRY(checkPlace(*this, function));
    HONERT_TRY(checkCopies(*this, function));
  }
  return isStage() ? checkStage(*this) : checkEntryPoints(*this);
}
