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

Status AttentionLaunches::plan(const AttentionLaunch &attention,
                               std::unique_ptr<AttentionPlan> &made) {
  std::string why = format("it has none for sm_%d", device.arch());
  if (const AttentionPlanCode *code = planFor(attention, device.arch())) {
    made = std::make_unique<AttentionPlan>(cudnn, attention.problem);
    Status loaded =
        made->load(std::string(code->json, static_cast<size_t>(code->bytes)),
                   device.arch(), handle);
    if (loaded.ok())
      return Status();
    why = versionText() + " " + loaded.message();
  }
  if (!hasToldOfPlanning)
    std::fprintf(stderr,
                 "warning: plans of attention in this program are not used "
                 "(%s); planning again\n",
                 why.c_str());
  hasToldOfPlanning = true;
  made = std::make_unique<AttentionPlan>(cudnn, attention.problem);
  return made->build(device.arch(), handle);
}

Status AttentionLaunches::prepare(const Launch &launch,
                                  const AttentionLaunch &attention,
                                  const DeviceMemory &arena,
                                  AttentionCall &call) {
  HONERT_TRY(open());
  call.name =
      launch.name + (launch.location.empty() ? "" : " at " + launch.location);
  auto fails = [&](const std::string &what) {
    return Status::error(format("attention %s: %s %s", call.name.c_str(),
                                versionText().c_str(), what.c_str()));
  };
  std::unique_ptr<AttentionPlan> &known = plans[attention.problem.text()];
  if (!known)
    if (Status planned = plan(attention, known); !planned.ok())
      return fails(planned.message());
  if (known->workspaceBytes() > attention.workspaceBytes)
    return fails(format(
        "needs %lld bytes of workspace on GPU %s, the program has %lld (was it "
        "compiled for another version or architecture?)",
        static_cast<long long>(known->workspaceBytes()), device.name().c_str(),
        static_cast<long long>(attention.workspaceBytes)));
  call.plan = known.get();
  for (int64_t offset : attention.offsets)
    call.operands.push_back(arena.at(offset));
  call.workspace = arena.at(attention.workspace);
  return Status();
}

Status AttentionLaunches::enqueue(const AttentionCall &call) const {
  Status enqueued = call.plan->execute(handle, call.operands, call.workspace);
  if (enqueued.ok())
    return Status();
  return Status::error(format("attention %s: %s %s", call.name.c_str(),
                              versionText().c_str(),
                              enqueued.message().c_str()));
}
