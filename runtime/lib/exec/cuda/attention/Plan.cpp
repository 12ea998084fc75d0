//===- Plan.cpp - How cuDNN computes one attention problem ----------------===//

#include "exec/cuda/attention/Plan.h"
#include "exec/cuda/attention/EngineChoice.h"
#include "exec/cuda/attention/GpuProperties.h"

using namespace honert;

using Handle = Descriptors::Handle;

/// Parts of the workspace begin at multiples of attentionAlignment, as it does.
static int64_t alignUp(int64_t bytes) {
  return (bytes + attentionAlignment - 1) / attentionAlignment *
         attentionAlignment;
}

AttentionPlan::AttentionPlan(const CudnnFunctions &cudnn,
                             const AttentionProblem &problem)
    : cudnn(cudnn), problem(problem), graph(buildAttentionGraph(problem)),
      descriptors(cudnn) {
  for (auto [id, bytes] : graph.scratch) {
    scratchOffsets[id] = scratchBytes;
    scratchBytes += alignUp(bytes);
  }
}

int64_t AttentionPlan::workspaceBytes() const {
  return scratchBytes + alignUp(libraryBytes);
}

//===----------------------------------------------------------------------===//
// Making a plan
//===----------------------------------------------------------------------===//

/// For the GPU of the handle, or the one that is described.
Status AttentionPlan::createPlan(Handle properties, cudnnHandle_t handle,
                                 const char *what) {
  HONERT_TRY(
      descriptors.create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, what, plan));
  if (handle)
    return descriptors.set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE,
                           CUDNN_TYPE_HANDLE, 1, &handle, what);
  return descriptors.set(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
                         CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &properties, what);
}

/// The first configuration that the library makes a plan of; the error is that
/// of the first.
Status AttentionPlan::finalizeFirst(const std::vector<Handle> &configurations,
                                    Handle properties, cudnnHandle_t handle) {
  constexpr const char *what = "make a plan";
  Status first = Status::error("cuDNN lists no way to compute it");
  for (size_t i = 0; i != configurations.size(); ++i) {
    HONERT_TRY(createPlan(properties, handle, what));
    HONERT_TRY(descriptors.set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                               &configurations[i], what));
    Status made = descriptors.finalize(plan, what);
    if (made.ok())
      return readWorkspace();
    if (i == 0)
      first = made;
  }
  plan = nullptr;
  return first;
}

Status AttentionPlan::readWorkspace() {
  int64_t count = 0;
  return cudnn.check(cudnn.cudnnBackendGetAttribute(
                         plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                         CUDNN_TYPE_INT64, 1, &count, &libraryBytes),
                     "tell its workspace");
}

Status AttentionPlan::describeDevice(int arch, Handle &properties) {
  constexpr const char *what = "take the description of a GPU";
  std::string json = deviceProperties(arch);
  if (json.empty())
    return Status::error(format("sm_%d is not known", arch));
  HONERT_TRY(descriptors.create(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, what,
                                properties));
  HONERT_TRY(descriptors.set(
      properties, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
      static_cast<int64_t>(json.size()), json.data(), what));
  return descriptors.finalize(properties, what);
}

Status AttentionPlan::build(int arch, cudnnHandle_t handle) {
  HONERT_TRY(checkSupport(problem, arch, cudnn.cudnnGetVersion()));
  Handle properties = nullptr, described = nullptr;
  if (!handle)
    HONERT_TRY(describeDevice(arch, properties));
  HONERT_TRY(descriptors.describe(graph.graph, handle, described));
  EngineChoice choice(cudnn, descriptors, described, properties);
  bool mustGiveEqualBits = problem.isBackward && problem.deterministic;
  auto named = mustGiveEqualBits
                   ? deterministicEngine(cudnn.cudnnGetVersion(), arch)
                   : std::nullopt;
  Handle configuration = nullptr;
  if (named && choice.configure(*named, configuration).ok() &&
      finalizeFirst({configuration}, properties, handle).ok())
    return Status();
  std::vector<Handle> configurations;
  HONERT_TRY(choice.list(configurations));
  if (mustGiveEqualBits)
    HONERT_TRY(choice.keepDeterministic(named, configurations));
  return finalizeFirst(configurations, properties, handle);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

Status AttentionPlan::load(const std::string &text, int arch,
                           cudnnHandle_t handle) {
  constexpr const char *what = "read a plan";
  Handle properties = nullptr;
  if (!handle)
    HONERT_TRY(describeDevice(arch, properties));
  HONERT_TRY(createPlan(properties, handle, what));
  HONERT_TRY(descriptors.set(
      plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
      static_cast<int64_t>(text.size()), text.data(), what));
  HONERT_TRY(descriptors.finalize(plan, what));
  return readWorkspace();
}

Status AttentionPlan::text(std::string &text) const {
  int64_t count = 0;
  auto read = [&](int64_t expected, void *elements) {
    return cudnn.check(cudnn.cudnnBackendGetAttribute(
                           plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                           CUDNN_TYPE_CHAR, expected, &count, elements),
                       "write a plan");
  };
  HONERT_TRY(read(0, nullptr));
  text.resize(static_cast<size_t>(count));
  HONERT_TRY(read(count, text.data()));
  text.resize(static_cast<size_t>(count));
  while (!text.empty() && text.back() == '\0')
    text.pop_back();
  return Status();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

Status AttentionPlan::execute(cudnnHandle_t handle,
                              const std::vector<CUdeviceptr> &operands,
                              CUdeviceptr workspace) {
  constexpr const char *what = "run it";
  auto pointer = [](CUdeviceptr address) {
    return reinterpret_cast<void *>(address);
  };
  std::vector<int64_t> ids;
  std::vector<void *> pointers;
  auto add = [&](int64_t id, void *address) {
    ids.push_back(id);
    pointers.push_back(address);
  };
  std::vector<AttentionOperand> kinds = problem.operands();
  for (size_t i = 0; i != kinds.size(); ++i) {
    CUdeviceptr at = operands[i];
    switch (kinds[i]) {
    case AttentionOperand::seed:
      add(idSeed, pointer(at));
      add(idOffset, pointer(at + sizeof(int64_t)));
      break;
    case AttentionOperand::lengths:
      add(idQueries, pointer(at));
      add(idKeys, pointer(at + static_cast<CUdeviceptr>(problem.batch) *
                                   sizeof(int32_t)));
      break;
    default:
      add(idOf(kinds[i]), pointer(at));
    }
  }
  for (auto [id, offset] : scratchOffsets)
    add(id, pointer(workspace + static_cast<CUdeviceptr>(offset)));
  for (auto &[id, value] : graph.scalars)
    add(id, &value);
  void *library =
      libraryBytes == 0
          ? nullptr
          : pointer(workspace + static_cast<CUdeviceptr>(scratchBytes));
  Descriptors call(cudnn);
  Handle variants = nullptr;
  auto count = static_cast<int64_t>(ids.size());
  HONERT_TRY(
      call.create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, what, variants));
  HONERT_TRY(call.set(variants, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
                      CUDNN_TYPE_INT64, count, ids.data(), what));
  HONERT_TRY(call.set(variants, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                      CUDNN_TYPE_VOID_PTR, count, pointers.data(), what));
  HONERT_TRY(call.set(variants, CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
                      CUDNN_TYPE_VOID_PTR, 1, &library, what));
  HONERT_TRY(call.finalize(variants, what));
  return cudnn.check(cudnn.cudnnBackendExecute(handle, plan, variants), what);
}
