//===- Launches.cpp - Fused attention by cuDNN ----------------------------===//

#include "exec/cuda/attention/Launches.h"

#include <cstdio>

using namespace honert;

AttentionLaunches::~AttentionLaunches() {
  plans.clear();
  if (handle)
    (void)cudnn.cudnnDestroy(handle);
}

std::string AttentionLaunches::versionText() const {
  return handle ? "cuDNN " + cudnn.versionText() : "";
}

Status AttentionLaunches::open() {
  if (handle)
    return Status();
  HONERT_TRY(cudnn.open());
  cudnnHandle_t made = nullptr;
  if (Status created = cudnn.check(cudnn.cudnnCreate(&made), "start");
      !created.ok())
    return Status::error(
        format("cuDNN %s on GPU %s %s", cudnn.versionText().c_str(),
               device.name().c_str(), created.message().c_str()));
  handle = made;
  return cudnn.check(cudnn.cudnnSetStream(handle, device.stream()),
                     "take the stream");
}

/// The plan that the compiler made, if it is for this GPU.
static const AttentionPlanCode *planFor(const AttentionLaunch &attention,
                                        int arch) {
  for (const AttentionPlanCode &plan : attention.plans)
    if (plan.arch == arch || arch == emulatedArch)
      return &plan;
  return nullptr;
}

Status AttentionLaunches::makePlan(const AttentionLaunch &attention,
                                   const std::string &why,
                                   KnownAttention &known) {
  if (!hasToldOfPlanning)
    std::fprintf(stderr,
                 "warning: plans of attention in this program are not used "
                 "(%s); planning again\n",
                 why.c_str());
  hasToldOfPlanning = true;
  known.isOfProgram = false;
  known.plan = std::make_unique<AttentionPlan>(cudnn, attention.problem);
  return known.plan->build(device.arch(), handle);
}

Status AttentionLaunches::plan(const AttentionLaunch &attention,
                               KnownAttention &known) {
  const AttentionPlanCode *code = planFor(attention, device.arch());
  if (!code)
    return makePlan(attention, format("it has none for sm_%d", device.arch()),
                    known);
  known.plan = std::make_unique<AttentionPlan>(cudnn, attention.problem);
  known.isOfProgram = true;
  Status loaded = known.plan->load(
      std::string(code->json, static_cast<size_t>(code->bytes)), device.arch(),
      handle);
  if (loaded.ok())
    return Status();
  return makePlan(attention, versionText() + " " + loaded.message(), known);
}

/// Makes the workspace beside the arena large enough.
Status AttentionLaunches::reserve(int64_t bytes) {
  if (bytes <= workspaceBytes)
    return Status();
  workspaceBytes = bytes;
  workspaces.push_back(std::make_unique<DeviceMemory>());
  std::fprintf(stderr,
               "warning: %s needs %s of workspace beside the memory that was "
               "planned\n",
               versionText().c_str(), formatBytes(bytes).c_str());
  return workspaces.back()->allocate(device, bytes,
                                     "the workspace of attention");
}

Status AttentionLaunches::prepare(const Launch &launch,
                                  const AttentionLaunch &attention,
                                  const DeviceMemory &arena,
                                  AttentionCall &call) {
  HONERT_TRY(open());
  call.name =
      launch.name + (launch.location.empty() ? "" : " at " + launch.location);
  if (deterministic && attention.problem.isBackward &&
      !attention.problem.deterministic)
    return Status::error(format(
        "attention %s: its plan adds in any order, which --deterministic does "
        "not allow: compile with --deterministic-attention",
        call.name.c_str()));
  KnownAttention &known = plans[attention.problem.text()];
  if (!known.plan)
    if (Status planned = plan(attention, known); !planned.ok())
      return Status::error(format("attention %s: %s %s", call.name.c_str(),
                                  versionText().c_str(),
                                  planned.message().c_str()));
  if (known.plan->workspaceBytes() > attention.workspaceBytes)
    HONERT_TRY(reserve(known.plan->workspaceBytes()));
  call.launch = &attention;
  call.known = &known;
  for (int64_t offset : attention.offsets)
    call.operands.push_back(arena.at(offset));
  call.workspace = arena.at(attention.workspace);
  return Status();
}

Status AttentionLaunches::execute(const AttentionCall &call) {
  AttentionPlan &plan = *call.known->plan;
  bool fits = plan.workspaceBytes() <= call.launch->workspaceBytes;
  if (!fits)
    HONERT_TRY(reserve(plan.workspaceBytes()));
  return plan.execute(handle, call.operands,
                      fits ? call.workspace : workspaces.back()->at(0));
}

Status AttentionLaunches::enqueue(const AttentionCall &call) {
  Status enqueued = execute(call);
  if (!enqueued.ok() && call.known->isOfProgram && !call.known->hasRun) {
    enqueued = makePlan(*call.launch, versionText() + " " + enqueued.message(),
                        *call.known);
    if (enqueued.ok())
      enqueued = execute(call);
  }
  call.known->hasRun |= enqueued.ok();
  if (enqueued.ok())
    return Status();
  return Status::error(format("attention %s: %s %s", call.name.c_str(),
                              versionText().c_str(),
                              enqueued.message().c_str()));
}
