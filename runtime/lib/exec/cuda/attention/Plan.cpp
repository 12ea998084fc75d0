//===- Plan.cpp - How cuDNN computes one attention problem ----------------===//

#include "exec/cuda/attention/Plan.h"
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

Status AttentionPlan::listConfigurations(Handle described, Handle properties,
                                         std::vector<Handle> &configurations) {
  constexpr const char *what = "list ways to compute it";
  Handle heuristic = nullptr;
  HONERT_TRY(
      descriptors.create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, what, heuristic));
  int mode = CUDNN_HEUR_MODE_A;
  HONERT_TRY(descriptors.set(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                             CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &described,
                             what));
  HONERT_TRY(descriptors.set(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE,
                             CUDNN_TYPE_HEUR_MODE, 1, &mode, what));
  if (properties)
    HONERT_TRY(descriptors.set(heuristic, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &properties,
                               what));
  HONERT_TRY(descriptors.finalize(heuristic, what));
  int64_t count = 0;
  auto read = [&](int64_t expected, void *elements) {
    return cudnn.check(
        cudnn.cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, expected,
                                       &count, elements),
        what);
  };
  HONERT_TRY(read(0, nullptr));
  configurations.resize(static_cast<size_t>(count));
  for (Handle &each : configurations)
    HONERT_TRY(
        descriptors.create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, what, each));
  if (count > 0)
    HONERT_TRY(read(count, configurations.data()));
  configurations.resize(static_cast<size_t>(count));
  return Status();
}

/// On sm_100 the library's heuristics choose among kernels that add in any
/// order. This one, by the number that NVIDIA's front end gives it, does not.
Status AttentionPlan::chooseDeterministic(Handle described, Handle properties,
                                          std::vector<Handle> &configurations) {
  constexpr const char *what = "choose a deterministic way to compute it";
  constexpr int64_t index = 5;
  constexpr std::pair<int, int64_t> knobs[] = {{CUDNN_KNOB_TYPE_KERNEL_CFG, 31},
                                               {CUDNN_KNOB_TYPE_STAGES, 2}};
  Handle engine = nullptr, configuration = nullptr;
  HONERT_TRY(descriptors.create(CUDNN_BACKEND_ENGINE_DESCRIPTOR, what, engine));
  HONERT_TRY(descriptors.set(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH,
                             CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &described,
                             what));
  HONERT_TRY(descriptors.set(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX,
                             CUDNN_TYPE_INT64, 1, &index, what));
  if (properties)
    HONERT_TRY(descriptors.set(engine, CUDNN_ATTR_ENGINE_DEVICEPROP,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &properties,
                               what));
  HONERT_TRY(descriptors.finalize(engine, what));
  std::vector<Handle> choices;
  for (auto [type, value] : knobs) {
    Handle choice = nullptr;
    HONERT_TRY(
        descriptors.create(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, what, choice));
    HONERT_TRY(descriptors.set(choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                               CUDNN_TYPE_KNOB_TYPE, 1, &type, what));
    HONERT_TRY(descriptors.set(choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE,
                               CUDNN_TYPE_INT64, 1, &value, what));
    HONERT_TRY(descriptors.finalize(choice, what));
    choices.push_back(choice);
  }
  HONERT_TRY(descriptors.create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, what,
                                configuration));
  HONERT_TRY(descriptors.set(configuration, CUDNN_ATTR_ENGINECFG_ENGINE,
                             CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine, what));
  HONERT_TRY(descriptors.set(configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                             CUDNN_TYPE_BACKEND_DESCRIPTOR,
                             static_cast<int64_t>(choices.size()),
                             choices.data(), what));
  HONERT_TRY(descriptors.finalize(configuration, what));
  configurations = {configuration};
  return Status();
}

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
  HONERT_TRY(checkSupport(problem, arch));
  Handle properties = nullptr, described = nullptr;
  if (!handle)
    HONERT_TRY(describeDevice(arch, properties));
  HONERT_TRY(descriptors.describe(graph.graph, handle, described));
  std::vector<Handle> configurations;
  if (problem.isBackward && problem.deterministic && arch / 10 == 10)
    HONERT_TRY(chooseDeterministic(described, properties, configurations));
  else
    HONERT_TRY(listConfigurations(described, properties, configurations));
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
    if (kinds[i] != AttentionOperand::seed) {
      add(idOf(kinds[i]), pointer(operands[i]));
      continue;
    }
    add(idSeed, pointer(operands[i]));
    add(idOffset, pointer(operands[i] + sizeof(int64_t)));
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
