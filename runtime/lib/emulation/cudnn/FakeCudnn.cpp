//===- FakeCudnn.cpp - The functions of a cuDNN without a GPU -------------===//

#include "emulation/cudnn/FakeCudnn.h"
#include "emulation/driver/FakeCuda.h"

#include <cstring>

using namespace honert;
using namespace honert::fake;

CudnnSettings &fake::cudnnSettings() {
  static CudnnSettings settings;
  return settings;
}

std::vector<int64_t> &fake::plannedEngines() {
  static std::vector<int64_t> engines;
  return engines;
}

void *fake::findCudnn(const char *symbol) {
  if (state().settings.missing.count(symbol))
    return nullptr;
#define CUDNN_FUNCTION(result, name, parameters)                               \
  if (std::strcmp(symbol, #name) == 0)                                         \
    return reinterpret_cast<void *>(&fake::name);
#include "exec/cuda/attention/Cudnn.def"
#undef CUDNN_FUNCTION
  return nullptr;
}

struct honert::CudnnContext {
  CUstream stream = nullptr;
};

static cudnnStatus_t enter(const char *function, bool needsContext = false,
                           bool mayCapture = true) {
  CUresult failed = state().enter(function, needsContext, mayCapture);
  if (failed == CUDA_SUCCESS)
    return CUDNN_STATUS_SUCCESS;
  return failed < 1000 ? int(CUDNN_STATUS_EXECUTION_FAILED) : failed;
}

#define FAKE_ENTER(...)                                                        \
  if (cudnnStatus_t failed = enter(__VA_ARGS__))                               \
  return failed

static cudnnStatus_t mistake(const std::string &text) {
  (void)state().mistake(CUDA_SUCCESS, text);
  return CUDNN_STATUS_BAD_PARAM;
}

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

size_t fake::cudnnGetVersion() { return cudnnSettings().version; }

const char *fake::cudnnGetErrorString(cudnnStatus_t status) {
#define CUDNN_CONSTANT(name, value)                                            \
  if (std::strncmp(#name, "CUDNN_STATUS_", 13) == 0 && status == value)        \
    return #name;
#include "exec/cuda/attention/Cudnn.def"
#undef CUDNN_CONSTANT
  return "CUDNN_UNKNOWN_STATUS";
}

void fake::cudnnGetLastErrorString(char *message, size_t bytes) {
  std::string text = state().text.empty() ? "as told to fail" : state().text;
  std::strncpy(message, text.c_str(), bytes);
}

cudnnStatus_t fake::cudnnCreate(cudnnHandle_t *handle) {
  FAKE_ENTER("cudnnCreate", /*needsContext=*/true, /*mayCapture=*/false);
  *handle = new CudnnContext;
  state().born("cuDNN handle");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t fake::cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  state().died("cuDNN handle");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t fake::cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  FAKE_ENTER("cudnnSetStream", true);
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

namespace {
struct Attribute {
  int descriptor, name, type;
};
} // namespace

#define OWN(descriptor, name, type)                                            \
  {CUDNN_BACKEND_##descriptor##_DESCRIPTOR, CUDNN_ATTR_##name,                 \
   CUDNN_TYPE_##type}
/// Everything that the runtime may set.
static const Attribute attributes[] = {
    OWN(TENSOR, TENSOR_UNIQUE_ID, INT64),
    OWN(TENSOR, TENSOR_DATA_TYPE, DATA_TYPE),
    OWN(TENSOR, TENSOR_DIMENSIONS, INT64),
    OWN(TENSOR, TENSOR_STRIDES, INT64),
    OWN(TENSOR, TENSOR_BYTE_ALIGNMENT, INT64),
    OWN(TENSOR, TENSOR_IS_VIRTUAL, BOOLEAN),
    OWN(TENSOR, TENSOR_IS_BY_VALUE, BOOLEAN),
    OWN(MATMUL, MATMUL_COMP_TYPE, DATA_TYPE),
    OWN(MATMUL, MATMUL_PADDING_VALUE, DOUBLE),
    OWN(OPERATION_MATMUL, OPERATION_MATMUL_ADESC, BACKEND_DESCRIPTOR),
    OWN(OPERATION_MATMUL, OPERATION_MATMUL_BDESC, BACKEND_DESCRIPTOR),
    OWN(OPERATION_MATMUL, OPERATION_MATMUL_CDESC, BACKEND_DESCRIPTOR),
    OWN(OPERATION_MATMUL, OPERATION_MATMUL_DESC, BACKEND_DESCRIPTOR),
    OWN(OPERATION_MATMUL, OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC,
        BACKEND_DESCRIPTOR),
    OWN(OPERATION_MATMUL, OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC,
        BACKEND_DESCRIPTOR),
    OWN(OPERATION_MATMUL, OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC,
        BACKEND_DESCRIPTOR),
    OWN(POINTWISE, POINTWISE_MODE, POINTWISE_MODE),
    OWN(POINTWISE, POINTWISE_MATH_PREC, DATA_TYPE),
    OWN(POINTWISE, POINTWISE_AXIS, INT64),
    OWN(OPERATION_POINTWISE, OPERATION_POINTWISE_PW_DESCRIPTOR,
        BACKEND_DESCRIPTOR),
    OWN(OPERATION_POINTWISE, OPERATION_POINTWISE_XDESC, BACKEND_DESCRIPTOR),
    OWN(OPERATION_POINTWISE, OPERATION_POINTWISE_BDESC, BACKEND_DESCRIPTOR),
    OWN(OPERATION_POINTWISE, OPERATION_POINTWISE_TDESC, BACKEND_DESCRIPTOR),
    OWN(OPERATION_POINTWISE, OPERATION_POINTWISE_YDESC, BACKEND_DESCRIPTOR),
    OWN(REDUCTION, REDUCTION_OPERATOR, REDUCTION_OPERATOR_TYPE),
    OWN(REDUCTION, REDUCTION_COMP_TYPE, DATA_TYPE),
    OWN(OPERATION_REDUCTION, OPERATION_REDUCTION_DESC, BACKEND_DESCRIPTOR),
    OWN(OPERATION_REDUCTION, OPERATION_REDUCTION_XDESC, BACKEND_DESCRIPTOR),
    OWN(OPERATION_REDUCTION, OPERATION_REDUCTION_YDESC, BACKEND_DESCRIPTOR),
    OWN(OPERATION_RESHAPE, OPERATION_RESHAPE_XDESC, BACKEND_DESCRIPTOR),
    OWN(OPERATION_RESHAPE, OPERATION_RESHAPE_YDESC, BACKEND_DESCRIPTOR),
    OWN(RNG, RNG_DISTRIBUTION, RNG_DISTRIBUTION),
    OWN(RNG, RNG_BERNOULLI_DIST_PROBABILITY, DOUBLE),
    OWN(OPERATION_RNG, OPERATION_RNG_DESC, BACKEND_DESCRIPTOR),
    OWN(OPERATION_RNG, OPERATION_RNG_SEED, BACKEND_DESCRIPTOR),
    OWN(OPERATION_RNG, OPERATION_RNG_OFFSET_DESC, BACKEND_DESCRIPTOR),
    OWN(OPERATION_RNG, OPERATION_RNG_YDESC, BACKEND_DESCRIPTOR),
    OWN(OPERATIONGRAPH, OPERATIONGRAPH_HANDLE, HANDLE),
    OWN(OPERATIONGRAPH, OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR),
    OWN(DEVICEPROP, DEVICEPROP_JSON_REPRESENTATION, CHAR),
    OWN(ENGINEHEUR, ENGINEHEUR_OPERATION_GRAPH, BACKEND_DESCRIPTOR),
    OWN(ENGINEHEUR, ENGINEHEUR_MODE, HEUR_MODE),
    OWN(ENGINEHEUR, ENGINEHEUR_DEVICEPROP, BACKEND_DESCRIPTOR),
    OWN(ENGINE, ENGINE_OPERATION_GRAPH, BACKEND_DESCRIPTOR),
    OWN(ENGINE, ENGINE_GLOBAL_INDEX, INT64),
    OWN(ENGINE, ENGINE_DEVICEPROP, BACKEND_DESCRIPTOR),
    OWN(KNOB_CHOICE, KNOB_CHOICE_KNOB_TYPE, KNOB_TYPE),
    OWN(KNOB_CHOICE, KNOB_CHOICE_KNOB_VALUE, INT64),
    OWN(ENGINECFG, ENGINECFG_ENGINE, BACKEND_DESCRIPTOR),
    OWN(ENGINECFG, ENGINECFG_KNOB_CHOICES, BACKEND_DESCRIPTOR),
    OWN(EXECUTION_PLAN, EXECUTION_PLAN_ENGINE_CONFIG, BACKEND_DESCRIPTOR),
    OWN(EXECUTION_PLAN, EXECUTION_PLAN_DEVICEPROP, BACKEND_DESCRIPTOR),
    OWN(EXECUTION_PLAN, EXECUTION_PLAN_HANDLE, HANDLE),
    OWN(EXECUTION_PLAN, EXECUTION_PLAN_JSON_REPRESENTATION, CHAR),
    OWN(VARIANT_PACK, VARIANT_PACK_UNIQUE_IDS, INT64),
    OWN(VARIANT_PACK, VARIANT_PACK_DATA_POINTERS, VOID_PTR),
    OWN(VARIANT_PACK, VARIANT_PACK_WORKSPACE, VOID_PTR)};
#undef OWN

static size_t bytesOf(int type) {
  switch (type) {
  case CUDNN_TYPE_BOOLEAN:
  case CUDNN_TYPE_CHAR:
    return 1;
  case CUDNN_TYPE_HANDLE:
  case CUDNN_TYPE_INT64:
  case CUDNN_TYPE_DOUBLE:
  case CUDNN_TYPE_VOID_PTR:
  case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    return 8;
  default: // enumerations
    return 4;
  }
}

cudnnStatus_t
fake::cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                   cudnnBackendDescriptor_t *descriptor) {
  FAKE_ENTER("cudnnBackendCreateDescriptor");
  *descriptor = new CudnnDescriptor{type};
  state().born("cuDNN descriptor");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
fake::cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete static_cast<CudnnDescriptor *>(descriptor);
  state().died("cuDNN descriptor");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t fake::cudnnBackendSetAttribute(
    cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
    cudnnBackendAttributeType_t type, int64_t count, const void *elements) {
  FAKE_ENTER("cudnnBackendSetAttribute");
  auto *target = static_cast<CudnnDescriptor *>(descriptor);
  if (target->isFinal)
    return mistake("an attribute of a descriptor that is final");
  bool isKnown = false;
  for (const Attribute &each : attributes)
    isKnown |= each.descriptor == target->type && each.name == name &&
               each.type == type;
  if (!isKnown)
    return mistake(format("attribute %d of type %d of a descriptor of type %d",
                          name, type, target->type));
  auto *begin = static_cast<const char *>(elements);
  std::vector<char> value(begin,
                          begin + static_cast<size_t>(count) * bytesOf(type));
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
    for (int64_t i = 0; i != count; ++i)
      if (auto *each = static_cast<CudnnDescriptor *const *>(elements)[i];
          !each || !each->isFinal)
        return mistake("a descriptor that is not final");
  target->attributes[name] = std::move(value);
  return CUDNN_STATUS_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// The engine's index behind a plan or a configuration; -1: none.
static int64_t engineOf(const CudnnDescriptor &descriptor) {
  for (int name :
       {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_ATTR_ENGINECFG_ENGINE})
    if (auto next = descriptor.one<CudnnDescriptor *>(name))
      return engineOf(**next);
  return descriptor.one<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX).value_or(-1);
}

/// The graph behind a plan, an engine's configuration or a heuristic.
static const CudnnDescriptor *graphOf(const CudnnDescriptor &descriptor) {
  for (int name :
       {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_ATTR_ENGINECFG_ENGINE})
    if (auto next = descriptor.one<CudnnDescriptor *>(name))
      return graphOf(**next);
  for (int name : {CUDNN_ATTR_ENGINE_OPERATION_GRAPH,
                   CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH})
    if (auto graph = descriptor.one<CudnnDescriptor *>(name))
      return *graph;
  return nullptr;
}

/// Sizes that are read from memory, and random numbers: no kernel has both.
static bool hasLengthsAndDropout(const OperationGraph &graph) {
  bool isRandom = false, hasSizes = false;
  for (const GraphNode &node : graph.nodes) {
    isRandom |= node.kind == GraphNode::Kind::rng;
    hasSizes |= node.sizes[0] >= 0;
  }
  return isRandom && hasSizes;
}

/// A plan's text is one of its attributes: that which was set, or that of the
/// graph.
static cudnnStatus_t finalizePlan(CudnnDescriptor &plan) {
  std::vector<char> text =
      plan.all<char>(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
  if (!text.empty()) {
    if (!plan.one<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE) &&
        !plan.one<void *>(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP))
      return mistake("a plan that is read for no device");
    return CudnnPlan::parse(std::string(text.begin(), text.end()))
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_NOT_SUPPORTED;
  }
  const CudnnDescriptor *described = graphOf(plan);
  std::string wrong = "a plan of no graph";
  std::optional<OperationGraph> graph;
  if (described)
    graph = readGraph(*described, wrong);
  if (!graph)
    return mistake(wrong);
  if (hasLengthsAndDropout(*graph))
    return CUDNN_STATUS_NOT_SUPPORTED;
  plannedEngines().push_back(engineOf(plan));
  std::string written =
      CudnnPlan{*graph, cudnnSettings().workspaceBytes}.text();
  plan.attributes[CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION].assign(
      written.begin(), written.end());
  return CUDNN_STATUS_SUCCESS;
}

/// Whether a configuration chooses just the knobs that its engine needs.
static bool hasNeededKnobs(const CudnnDescriptor &configuration) {
  auto named = cudnnSettings().named.find(engineOf(configuration));
  if (named == cudnnSettings().named.end())
    return false;
  std::map<int, int64_t> chosen;
  for (CudnnDescriptor *choice :
       configuration.all<CudnnDescriptor *>(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES))
    chosen[choice->one<int>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE).value_or(-1)] =
        choice->one<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE).value_or(-1);
  return chosen == named->second;
}

cudnnStatus_t fake::cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  FAKE_ENTER("cudnnBackendFinalize");
  auto *target = static_cast<CudnnDescriptor *>(descriptor);
  if (target->isFinal)
    return mistake("a descriptor made final twice");
  if (target->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    FAKE_ENTER("finalize a plan");
    if (cudnnStatus_t failed = finalizePlan(*target))
      return failed;
  }
  std::string wrong;
  if (target->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR &&
      !readGraph(*target, wrong))
    return mistake(wrong);
  if (target->type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR &&
      !hasNeededKnobs(*target))
    return CUDNN_STATUS_NOT_SUPPORTED;
  target->isFinal = true;
  return CUDNN_STATUS_SUCCESS;
}

static CudnnPlan planOf(const CudnnDescriptor &descriptor) {
  std::vector<char> text =
      descriptor.all<char>(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
  return *CudnnPlan::parse(std::string(text.begin(), text.end()));
}

template <typename T>
static void put(CudnnDescriptor &descriptor, int name, const T &value) {
  auto *begin = reinterpret_cast<const char *>(&value);
  descriptor.attributes[name].assign(begin, begin + sizeof value);
}

/// Fills descriptors of configurations, each of a listed engine.
static cudnnStatus_t listEngines(const CudnnDescriptor &heuristic,
                                 int64_t requested, int64_t *count,
                                 CudnnDescriptor **results) {
  const std::vector<ListedEngine> &listed = cudnnSettings().listed;
  *count = static_cast<int64_t>(listed.size());
  if (requested < 1)
    return CUDNN_STATUS_SUCCESS;
  FAKE_ENTER("list of engines");
  for (size_t i = 0; i != listed.size(); ++i) {
    put(*results[i], CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graphOf(heuristic));
    put(*results[i], CUDNN_ATTR_ENGINE_GLOBAL_INDEX, listed[i].index);
    results[i]->isFinal = true;
  }
  return CUDNN_STATUS_SUCCESS;
}

/// Of an engine: one that was listed.
static cudnnStatus_t readNotes(const CudnnDescriptor &engine, int64_t requested,
                               int64_t *count, int *notes) {
  for (const ListedEngine &each : cudnnSettings().listed) {
    if (each.index != engineOf(engine))
      continue;
    *count = static_cast<int64_t>(each.notes.size());
    if (requested > 0)
      std::copy_n(each.notes.begin(), std::min(requested, *count), notes);
    return CUDNN_STATUS_SUCCESS;
  }
  return mistake("notes of an engine that is not listed");
}

cudnnStatus_t
fake::cudnnBackendGetAttribute(const cudnnBackendDescriptor_t descriptor,
                               cudnnBackendAttributeName_t name,
                               cudnnBackendAttributeType_t, int64_t requested,
                               int64_t *count, void *elements) {
  FAKE_ENTER("cudnnBackendGetAttribute");
  auto *source = static_cast<CudnnDescriptor *>(descriptor);
  if (!source->isFinal)
    return mistake("asked a descriptor that is not final");
  switch (name) {
  case CUDNN_ATTR_ENGINEHEUR_RESULTS:
    return listEngines(*source, requested, count,
                       static_cast<CudnnDescriptor **>(elements));
  case CUDNN_ATTR_ENGINECFG_ENGINE: {
    auto *engine = static_cast<CudnnDescriptor **>(elements)[0];
    engine->attributes = source->attributes;
    engine->isFinal = true;
    *count = 1;
    return CUDNN_STATUS_SUCCESS;
  }
  case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
    *count = 1;
    *static_cast<int64_t *>(elements) = source->one<int64_t>(name).value_or(-1);
    return CUDNN_STATUS_SUCCESS;
  case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
    return readNotes(*source, requested, count, static_cast<int *>(elements));
  }
  if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
    *static_cast<int64_t *>(elements) = planOf(*source).workspaceBytes;
    return CUDNN_STATUS_SUCCESS;
  }
  if (name != CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION)
    return mistake(format("asked for attribute %d", name));
  std::vector<char> text = source->all<char>(name);
  *count = static_cast<int64_t>(text.size());
  if (requested > 0)
    std::memcpy(elements, text.data(),
                static_cast<size_t>(std::min(requested, *count)));
  return CUDNN_STATUS_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Where the tensors of a call are, by id: those by value are copied.
struct Call {
  std::map<int64_t, void *> memory;
  std::map<int64_t, std::vector<char>> values;
  void *workspace = nullptr;
};

static std::string readCall(const CudnnPlan &plan,
                            const CudnnDescriptor &variants, Call &call) {
  auto ids = variants.all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  auto pointers = variants.all<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  auto workspace = variants.one<void *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (ids.size() != pointers.size())
    return "a call with more ids than addresses, or less";
  for (size_t i = 0; i != ids.size(); ++i)
    if (!call.memory.emplace(ids[i], pointers[i]).second)
      return format("a call with tensor %lld twice",
                    static_cast<long long>(ids[i]));
  call.workspace = workspace.value_or(nullptr);
  if (plan.workspaceBytes > 0 &&
      !state().isOnDevice(call.workspace, plan.workspaceBytes))
    return "a workspace outside the memory of the device";
  for (const GraphTensor &tensor : plan.graph.tensors) {
    if (tensor.isVirtual)
      continue;
    auto found = call.memory.find(tensor.id);
    auto id = static_cast<long long>(tensor.id);
    if (found == call.memory.end() || !found->second)
      return format("a call without tensor %lld", id);
    int64_t bytes = extentOf(tensor) * byteWidth(dtypeOf(tensor.dtype));
    if (tensor.isByValue) {
      auto *begin = static_cast<const char *>(found->second);
      call.values[tensor.id].assign(begin, begin + bytes);
    } else if (!state().isOnDevice(found->second, bytes)) {
      return format("tensor %lld is outside the memory of the device", id);
    } else if (reinterpret_cast<uintptr_t>(found->second) %
                   static_cast<uintptr_t>(tensor.alignment) !=
               0) {
      return format("tensor %lld is not aligned as described", id);
    }
  }
  return "";
}

cudnnStatus_t fake::cudnnBackendExecute(cudnnHandle_t handle,
                                        cudnnBackendDescriptor_t plan,
                                        cudnnBackendDescriptor_t variants) {
  FAKE_ENTER("cudnnBackendExecute", /*needsContext=*/true);
  auto *planned = static_cast<CudnnDescriptor *>(plan);
  auto *pack = static_cast<CudnnDescriptor *>(variants);
  if (!planned->isFinal || !pack->isFinal)
    return mistake("a call whose descriptors are not final");
  if (!planned->one<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE))
    return mistake("a plan that was made for no handle");
  CudnnPlan what = planOf(*planned);
  Call call;
  if (std::string wrong = readCall(what, *pack, call); !wrong.empty())
    return mistake(wrong);
  if (state().load(format("attention by plan %p", plan)))
    return CUDNN_STATUS_EXECUTION_FAILED;
  CUresult enqueued = enqueue(handle->stream, [=]() mutable {
    for (auto &[id, value] : call.values)
      call.memory[id] = value.data();
    state().milliseconds += 0.01;
    std::string wrong = evaluate(what, call.memory, call.workspace);
    return wrong.empty() ? CUDA_SUCCESS
                         : state().mistake(CUDA_ERROR_LAUNCH_FAILED, wrong);
  });
  return enqueued == CUDA_SUCCESS ? CUDNN_STATUS_SUCCESS
                                  : CUDNN_STATUS_EXECUTION_FAILED;
}
