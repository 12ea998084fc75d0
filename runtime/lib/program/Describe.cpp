//===- Describe.cpp - The functions of abi.def ----------------------------===//

#include "program/Program.h"

#include <algorithm>
#include <new>

using namespace honert;

static void blame(honert_program *program, std::string mistake) {
  if (program->mistake.empty())
    program->mistake = std::move(mistake);
}

/// The enumerator numbered `value`; out of range is the caller's mistake.
template <typename Enum>
static Enum read(honert_program *program, const char *what, int64_t value) {
  std::optional<Enum> known = enumerator<Enum>(value);
  if (!known)
    blame(program,
          format("%s %lld is not known", what, static_cast<long long>(value)));
  return known.value_or(Enum{});
}

static Shape shapeOf(honert_program *program, int64_t rank,
                     const int64_t *dims) {
  if (rank < 0 || rank > 64) {
    blame(program,
          format("rank %lld is out of range", static_cast<long long>(rank)));
    return {};
  }
  return rank == 0 ? Shape() : Shape(dims, dims + rank);
}

/// Numbers of axes of the program's mesh, none twice.
static Axes axesOf(honert_program *program, int64_t count,
                   const int64_t *axes) {
  int64_t known = program->mesh.axes.size();
  Axes result;
  for (int64_t i = 0; i < count; ++i) {
    if (axes[i] < 0 || axes[i] >= known ||
        std::count(result.begin(), result.end(), axes[i]) != 0) {
      blame(program, format("axis %lld is not of the mesh, or named twice",
                            static_cast<long long>(axes[i])));
      return {};
    }
    result.push_back(axes[i]);
  }
  return result;
}

/// What is being described: the latest stage, or the program itself.
static Program &latestStage(honert_program *program) {
  return program->stages.empty() ? *program : program->stages.back();
}

static Argument *latestArgument(honert_program *program, const char *caller) {
  if (Program &stage = latestStage(program); !stage.arguments.empty())
    return &stage.arguments.back();
  blame(program, format("%s before any argument", caller));
  return nullptr;
}

static Function *latestFunction(honert_program *program, const char *caller) {
  if (Program &stage = latestStage(program); !stage.functions.empty())
    return &stage.functions.back();
  blame(program, format("%s before any function", caller));
  return nullptr;
}

/// The latest launch if it is of the kind that `caller` adds to.
template <typename Kind>
static Kind *latestLaunch(honert_program *program, const char *caller,
                          const char *expected) {
  Function *function = latestFunction(program, caller);
  if (!function)
    return nullptr;
  Kind *launch = function->launches.empty()
                     ? nullptr
                     : std::get_if<Kind>(&function->launches.back().action);
  if (!launch)
    blame(program, format("%s follows no %s", caller, expected));
  return launch;
}

/// Sets the activation or the sums of a product, once each.
static void addEpilogue(honert_program *program, MatmulLaunch &matmul,
                        Epilogue epilogue) {
  static const std::pair<Activation, Sums> effects[] = {
      {Activation::gelu, Sums::none},    {Activation::geluAux, Sums::none},
      {Activation::geluBwd, Sums::none}, {Activation::geluBwd, Sums::ofResult},
      {Activation::none, Sums::ofA},     {Activation::none, Sums::ofB}};
  auto [activation, sums] = effects[static_cast<int64_t>(epilogue)];
  bool twice = (activation != Activation::none &&
                matmul.activation != Activation::none) ||
               (sums != Sums::none && matmul.summed != Sums::none);
  if (twice)
    return blame(program, "a matmul has two epilogues of one kind");
  if (activation != Activation::none)
    matmul.activation = activation;
  if (sums != Sums::none)
    matmul.summed = sums;
}

extern "C" {

honert_program *honert_program_new(void) {
  return new (std::nothrow) honert_program();
}

void honert_program_free(honert_program *program) { delete program; }

void honert_meta(honert_program *program, const char *key, const char *value) {
  program->meta[key] = value;
}

void honert_meta_number(honert_program *program, const char *key,
                        double value) {
  program->numbers[key] = value;
}

void honert_arena(honert_program *program, int64_t bytes) {
  latestStage(program).arenaBytes = bytes;
}

void honert_category(honert_program *program, const char *name, int64_t bytes) {
  latestStage(program).categories.emplace_back(name, bytes);
}

void honert_live(honert_program *program, const char *category,
                 const char *name, const char *location, int64_t dtype,
                 int64_t rank, const int64_t *dims, int64_t count,
                 int64_t bytes) {
  latestStage(program).live.push_back(
      {category, name, location, read<DType>(program, "element type", dtype),
       shapeOf(program, rank, dims), count, bytes});
}

void honert_argument(honert_program *program, int64_t kind, const char *fqn,
                     int64_t dtype, int64_t rank, const int64_t *dims,
                     int64_t offset) {
  Argument argument;
  argument.kind = read<Kind>(program, "argument kind", kind);
  argument.fqn = fqn;
  argument.dtype = read<DType>(program, "element type", dtype);
  argument.dims = shapeOf(program, rank, dims);
  argument.offset = offset;
  argument.bytes = byteCount(argument.dtype, argument.dims).value_or(-1);
  argument.whole = argument.dims;
  argument.divisions.resize(argument.dims.size());
  argument.parts = {{fqn, Shape(argument.dims.size(), 0), argument.dims}};
  latestStage(program).arguments.push_back(std::move(argument));
}

void honert_argument_part(honert_program *program, const char *fqn,
                          int64_t rank, const int64_t *offset,
                          const int64_t *shape) {
  Argument *argument = latestArgument(program, "honert_argument_part");
  if (!argument)
    return;
  if (argument->isWhole)
    argument->parts.clear();
  argument->isWhole = false;
  argument->parts.push_back(
      {fqn, shapeOf(program, rank, offset), shapeOf(program, rank, shape)});
}

void honert_mesh_axis(honert_program *program, const char *name, int64_t size,
                      const char *link) {
  if (!program->arguments.empty() || !program->stages.empty())
    return blame(program, "honert_mesh_axis after an argument or a stage");
  if (size < 1 || size > INT32_MAX / program->mesh.ranks())
    return blame(program, format("mesh axis '%s' has size %lld", name,
                                 static_cast<long long>(size)));
  program->mesh.axes.push_back({name, size, link ? link : ""});
}

void honert_stage(honert_program *program, int64_t stage) {
  if (!program->arguments.empty() || !program->functions.empty())
    return blame(program, "honert_stage after an argument or a function");
  if (stage != static_cast<int64_t>(program->stages.size()))
    return blame(program,
                 format("stage %lld after %zu stages",
                        static_cast<long long>(stage), program->stages.size()));
  program->stages.emplace_back();
}

void honert_argument_window(honert_program *program, int64_t count) {
  Argument *argument = latestArgument(program, "honert_argument_window");
  if (!argument)
    return;
  if (argument->kind != Kind::boundary && argument->kind != Kind::saved)
    return blame(program, format("argument '%s' of kind %s has a window, "
                                 "expected boundary or saved",
                                 argument->fqn.c_str(), name(argument->kind)));
  if (count < 1 || count > INT32_MAX)
    return blame(program,
                 format("argument '%s' has a window of %lld instances",
                        argument->fqn.c_str(), static_cast<long long>(count)));
  argument->instances = count;
}

void honert_argument_whole(honert_program *program, int64_t rank,
                           const int64_t *whole) {
  Argument *argument = latestArgument(program, "honert_argument_whole");
  if (!argument)
    return;
  argument->whole = shapeOf(program, rank, whole);
  if (argument->isWhole)
    argument->parts.front().shape = argument->whole;
}

void honert_argument_division(honert_program *program, int64_t dim,
                              int64_t axisCount, const int64_t *axes,
                              int64_t cutCount, const int64_t *cuts,
                              int64_t snake) {
  Argument *argument = latestArgument(program, "honert_argument_division");
  if (!argument)
    return;
  if (dim < 0 || dim >= int64_t(argument->divisions.size()))
    return blame(program,
                 format("argument '%s' divides dimension %lld",
                        argument->fqn.c_str(), static_cast<long long>(dim)));
  argument->divisions[dim] = {axesOf(program, axisCount, axes),
                              Shape(cuts, cuts + cutCount), snake != 0};
}

void honert_argument_partial(honert_program *program, int64_t axisCount,
                             const int64_t *axes) {
  if (Argument *argument = latestArgument(program, "honert_argument_partial"))
    argument->partial = axesOf(program, axisCount, axes);
}

void honert_argument_init(honert_program *program, int64_t init, double a,
                          double b, const char *aliases) {
  Argument *argument = latestArgument(program, "honert_argument_init");
  if (!argument)
    return;
  argument->init = read<InitKind>(program, "init", init);
  argument->a = a;
  argument->b = b;
  std::string names = aliases ? aliases : "";
  for (size_t begin = 0; begin < names.size();) {
    size_t end = std::min(names.find('\n', begin), names.size());
    if (end > begin)
      argument->aliases.push_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
}

void honert_argument_data(honert_program *program, const char *data,
                          int64_t bytes) {
  Argument *argument = latestArgument(program, "honert_argument_data");
  if (!argument)
    return;
  argument->data = data;
  argument->dataBytes = bytes;
}

void honert_argument_changes(honert_program *program) {
  if (Argument *argument = latestArgument(program, "honert_argument_changes"))
    argument->changes = true;
}

void honert_argument_role(honert_program *program, int64_t role,
                          int64_t vocab) {
  Argument *argument = latestArgument(program, "honert_argument_role");
  if (!argument)
    return;
  argument->role = read<Role>(program, "role", role);
  argument->vocab = vocab;
}

void honert_argument_ignore(honert_program *program, int64_t ignored) {
  if (Argument *argument = latestArgument(program, "honert_argument_ignore"))
    argument->ignored = ignored;
}

void honert_id_check(honert_program *program, const char *name, const char *op,
                     const char *location, int64_t size) {
  latestStage(program).idChecks.push_back(
      {name, op, location ? location : "", size});
}

void honert_dropped_rows(honert_program *program, const char *name,
                         const char *location, int64_t rows, double factor,
                         double enough, int64_t stops) {
  latestStage(program).droppedCounts.push_back(
      {name, location ? location : "", rows, factor, enough, stops != 0});
}

void honert_device_code(honert_program *program, int64_t kind, int64_t arch,
                        const char *data, int64_t bytes) {
  program->deviceCode.push_back(
      {read<CodeKind>(program, "code kind", kind), arch, data, bytes});
}

void honert_function(honert_program *program, const char *name) {
  latestStage(program).functions.push_back({name, {}, {}});
}

void honert_launch(honert_program *program, const char *name,
                   const char *location, honert_kernel kernel, int64_t items,
                   int64_t grain, int64_t count, const int64_t *offsets) {
  if (Function *function = latestFunction(program, "honert_launch"))
    function->launches.push_back(
        {name, location ? location : "",
         KernelLaunch{kernel, items, grain,
                      std::vector<int64_t>(offsets, offsets + count)}});
}

void honert_matmul(honert_program *program, const char *name,
                   const char *location, int64_t operand, int64_t result,
                   int64_t batch, int64_t m, int64_t n, int64_t k,
                   const int64_t *strides, int64_t a, int64_t b, int64_t c,
                   int64_t bias, int64_t addend) {
  Function *function = latestFunction(program, "honert_matmul");
  if (!function)
    return;
  MatmulLaunch matmul{batch, m, n, k, {}, a, b, c, bias, addend};
  matmul.operand = read<DType>(program, "element type of a matmul", operand);
  matmul.result = read<DType>(program, "element type of a matmul", result);
  std::copy(strides, strides + 12, matmul.strides.begin());
  function->launches.push_back({name, location ? location : "", matmul});
}

void honert_grouped_matmul(honert_program *program, const char *name,
                           const char *location, int64_t product,
                           int64_t operand, int64_t result, int64_t index,
                           int64_t groups, int64_t rows, int64_t n, int64_t k,
                           int64_t a, int64_t b, int64_t ends, int64_t c) {
  Function *function = latestFunction(program, "honert_grouped_matmul");
  if (!function)
    return;
  const char *type = "element type of a grouped matmul";
  function->launches.push_back(
      {name, location ? location : "",
       GroupedMatmulLaunch{
           read<GroupedProduct>(program, "grouped product", product), groups,
           rows, n, k, a, b, ends, c, read<DType>(program, type, operand),
           read<DType>(program, type, result),
           read<DType>(program, type, index)}});
}

void honert_convolution(honert_program *program, const char *name,
                        const char *location, int64_t computed, int64_t operand,
                        int64_t result, int64_t rank, const int64_t *sizes,
                        int64_t image, int64_t kernel, int64_t output) {
  Function *function = latestFunction(program, "honert_convolution");
  if (!function)
    return;
  if (rank < 1 || rank > 3)
    return blame(program, "a convolution has no 1 to 3 spatial dimensions");
  ConvolutionLaunch launch;
  launch.computed =
      read<ConvolutionPart>(program, "part of a convolution", computed);
  launch.operand =
      read<DType>(program, "element type of a convolution", operand);
  launch.result = read<DType>(program, "element type of a convolution", result);
  launch.batch = sizes[0];
  launch.channels = sizes[1];
  launch.outputs = sizes[2];
  launch.groups = sizes[3];
  for (const int64_t *dim = sizes + 4; dim != sizes + 4 + 7 * rank; dim += 7)
    launch.dims.push_back(
        {dim[0], dim[1], dim[2], dim[3], dim[4], dim[5], dim[6]});
  launch.image = image;
  launch.kernel = kernel;
  launch.output = output;
  function->launches.push_back({name, location ? location : "", launch});
}

void honert_device_launch(honert_program *program, const char *name,
                          const char *location, const char *kernel,
                          int64_t blocks, int64_t threads, int64_t count,
                          const int64_t *offsets) {
  if (Function *function = latestFunction(program, "honert_device_launch"))
    function->launches.push_back(
        {name, location ? location : "",
         DeviceLaunch{kernel ? kernel : "", blocks, threads,
                      std::vector<int64_t>(offsets, offsets + count)}});
}

static std::vector<ArenaTensor>
readTensors(honert_program *program, int64_t count, const int64_t *tensors) {
  std::vector<ArenaTensor> list;
  for (const int64_t *tensor = tensors; tensor != tensors + 3 * count;
       tensor += 3)
    list.push_back({read<DType>(program, "element type of a launch", tensor[0]),
                    tensor[1], tensor[2]});
  return list;
}

void honert_device_writes(honert_program *program, int64_t count,
                          const int64_t *tensors) {
  if (auto *launch = latestLaunch<DeviceLaunch>(program, "honert_device_writes",
                                                "honert_device_launch"))
    launch->writes = readTensors(program, count, tensors);
}

void honert_device_reads(honert_program *program, int64_t count,
                         const int64_t *tensors) {
  if (auto *launch = latestLaunch<DeviceLaunch>(program, "honert_device_reads",
                                                "honert_device_launch"))
    launch->reads = readTensors(program, count, tensors);
}

void honert_matmul_epilogue(honert_program *program, int64_t epilogue,
                            int64_t aux, int64_t auxStride, int64_t sums) {
  auto *matmul = latestLaunch<MatmulLaunch>(program, "honert_matmul_epilogue",
                                            "honert_matmul");
  if (!matmul)
    return;
  addEpilogue(program, *matmul, read<Epilogue>(program, "epilogue", epilogue));
  if (aux != -1) {
    matmul->aux = aux;
    matmul->auxStride = auxStride;
  }
  if (sums != -1)
    matmul->sums = sums;
}

void honert_matmul_scales(honert_program *program, int64_t operandB,
                          int64_t modeA, int64_t scalesA, int64_t modeB,
                          int64_t scalesB, int64_t fast) {
  auto *matmul = latestLaunch<MatmulLaunch>(program, "honert_matmul_scales",
                                            "honert_matmul");
  if (!matmul)
    return;
  if (matmul->scales)
    return blame(program, "a matmul has scales twice");
  auto mode = [&](int64_t number) {
    return read<ScaleMode>(program, "scale mode", number);
  };
  matmul->scales = {{mode(modeA), scalesA},
                    {mode(modeB), scalesB},
                    read<DType>(program, "element type of a matmul", operandB),
                    fast != 0};
}

void honert_matmul_activation(honert_program *program, const char *kernel,
                              int64_t blocks, int64_t threads, int64_t count,
                              const int64_t *offsets) {
  if (auto *matmul = latestLaunch<MatmulLaunch>(
          program, "honert_matmul_activation", "honert_matmul"))
    matmul->activationKernel = {kernel ? kernel : "", blocks, threads,
                                std::vector<int64_t>(offsets, offsets + count)};
}

void honert_attention(honert_program *program, const char *name,
                      const char *location, const char *problem, int64_t count,
                      const int64_t *offsets, int64_t workspace,
                      int64_t workspaceBytes) {
  Function *function = latestFunction(program, "honert_attention");
  if (!function)
    return;
  AttentionLaunch launch;
  if (Status read = AttentionProblem::parse(problem, launch.problem);
      !read.ok())
    return blame(program, format("%s: %s", name, read.message().c_str()));
  launch.offsets.assign(offsets, offsets + count);
  launch.workspace = workspace;
  launch.workspaceBytes = workspaceBytes;
  function->launches.push_back(
      {name, location ? location : "", std::move(launch)});
}

void honert_attention_plan(honert_program *program, int64_t arch,
                           const char *json, int64_t bytes) {
  if (auto *attention = latestLaunch<AttentionLaunch>(
          program, "honert_attention_plan", "honert_attention"))
    attention->plans.push_back({arch, json, bytes});
}

void honert_collective(honert_program *program, const char *name,
                       const char *location, int64_t collective, int64_t reduce,
                       int64_t amount, int64_t dtype, int64_t count,
                       int64_t axisCount, const int64_t *axes, int64_t in,
                       int64_t out, int64_t token) {
  Function *function = latestFunction(program, "honert_collective");
  if (!function)
    return;
  CollectiveLaunch launch;
  launch.kind = read<CollectiveKind>(program, "collective", collective);
  launch.reduce = read<ReduceKind>(program, "reduction", reduce);
  launch.amount = amount;
  launch.dtype = read<DType>(program, "element type", dtype);
  launch.count = count;
  launch.axes = axesOf(program, axisCount, axes);
  launch.in = in;
  launch.out = out;
  launch.token = token;
  function->launches.push_back(
      {name, location ? location : "", std::move(launch)});
}

void honert_wait(honert_program *program, int64_t token) {
  if (Function *function = latestFunction(program, "honert_wait"))
    function->launches.push_back({"wait", "", WaitLaunch{token}});
}

void honert_shard(honert_program *program, const char *name,
                  const char *location, int64_t axisCount, const int64_t *axes,
                  int64_t rows, int64_t bytes, int64_t in, int64_t out) {
  if (Function *function = latestFunction(program, "honert_shard"))
    function->launches.push_back(
        {name, location ? location : "",
         ShardLaunch{axesOf(program, axisCount, axes), rows, bytes, in, out}});
}

void honert_coordinate(honert_program *program, int64_t axisCount,
                       const int64_t *axes, int64_t out) {
  if (Function *function = latestFunction(program, "honert_coordinate"))
    function->launches.push_back(
        {"coordinate", "",
         CoordinateLaunch{axesOf(program, axisCount, axes), out}});
}

void honert_zero(honert_program *program, int64_t offset, int64_t bytes) {
  if (Function *function = latestFunction(program, "honert_zero"))
    function->launches.push_back({"zero", "", ZeroLaunch{offset, bytes}});
}

void honert_host_arena(honert_program *program, int64_t bytes) {
  latestStage(program).hostBytes = bytes;
}

void honert_argument_host(honert_program *program) {
  Argument *argument = latestArgument(program, "honert_argument_host");
  if (!argument)
    return;
  if (!argument->isState() && argument->kind != Kind::workingCopy)
    return blame(program, format("argument '%s' of kind %s lies in the second "
                                 "arena, expected state or a working copy",
                                 argument->fqn.c_str(), name(argument->kind)));
  const Program &stage = latestStage(program);
  if (argument->isOnHost || argument->offset < 0 ||
      argument->offset > stage.hostBytes)
    return blame(program,
                 format("argument '%s' at %lld of the second arena, which has "
                        "%lld bytes",
                        argument->fqn.c_str(),
                        static_cast<long long>(argument->offset),
                        static_cast<long long>(stage.hostBytes)));
  argument->isOnHost = true;
  argument->offset += stage.hostBase();
}

void honert_copy(honert_program *program, const char *name, int64_t direction,
                 int64_t offset, int64_t hostOffset, int64_t bytes,
                 int64_t token) {
  if (Function *function = latestFunction(program, "honert_copy"))
    function->launches.push_back(
        {name, "",
         CopyLaunch{read<CopyDirection>(program, "copy direction", direction),
                    offset, hostOffset, bytes, token}});
}

void honert_copy_wait(honert_program *program, int64_t token) {
  if (Function *function = latestFunction(program, "honert_copy_wait"))
    function->launches.push_back({"copy wait", "", CopyWaitLaunch{token}});
}

void honert_launch_cost(honert_program *program, const char *family,
                        int64_t bytes, int64_t flops) {
  Function *function = latestFunction(program, "honert_launch_cost");
  if (!function)
    return;
  std::vector<Launch> &launches = function->launches;
  size_t first = launches.size();
  while (first > 0 && launches[first - 1].cost.family.empty() &&
         !launches[first - 1].isCopy())
    --first;
  size_t parts = launches.size() - first;
  for (size_t i = 0; i != parts; ++i)
    launches[first + i].cost = {family, bytes, flops,
                                i,      parts, program->groups};
  ++program->groups; // also one that needs no launch
}

void honert_callback(honert_program *program, honert_callback_fn callback,
                     void *user) {
  if (Function *function = latestFunction(program, "honert_callback"))
    function->launches.push_back(
        {function->name, "", CallbackLaunch{callback, user}});
}

void honert_result(honert_program *program, const char *name, int64_t dtype,
                   int64_t rank, const int64_t *dims, int64_t offset) {
  if (Function *function = latestFunction(program, "honert_result"))
    function->results.push_back({name,
                                 read<DType>(program, "element type", dtype),
                                 shapeOf(program, rank, dims), offset});
}

void honert_action(honert_program *program, const char *list, int64_t kind,
                   const char *what, int64_t micro, int64_t peer) {
  Action action = {read<ActionKind>(program, "action", kind), what, micro,
                   peer};
  Program &stage = latestStage(program);
  if (program->stages.empty())
    blame(program, "honert_action before any stage");
  else if (std::string(list) == "step")
    stage.stepActions.push_back(std::move(action));
  else if (std::string(list) == "evaluate")
    stage.evaluateActions.push_back(std::move(action));
  else
    blame(program, format("an action of list '%s', expected 'step' or "
                          "'evaluate'",
                          list));
}

void honert_action_beside(honert_program *program, int64_t micro) {
  Program &stage = latestStage(program);
  std::vector<Action> &actions = stage.stepActions;
  // Once "evaluate" has begun, the latest action may be one of it.
  if (actions.empty() || !actions.back().isRun() ||
      !stage.evaluateActions.empty())
    blame(program, "honert_action_beside, expected it behind a run of list "
                   "'step', before list 'evaluate'");
  else
    actions.back().beside = micro;
}

} // extern "C"
