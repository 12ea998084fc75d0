//===- AttentionPlans.cpp - Plans of attention inside a program -----------===//

#include "hone/Codegen/Program/AttentionPlans.h"

#include "Writer.h"

using namespace mlir;
using namespace hone;

/// On the module: an array of [problem, workspace, location].
static constexpr llvm::StringLiteral requestsAttr = "hone.attention_plans";

static std::string functionName(size_t index) {
  return "hone_attention_plan_" + std::to_string(index);
}

SmallVector<AttentionPlanRequest> hone::attentionPlanRequests(ModuleOp module) {
  SmallVector<AttentionPlanRequest> requests;
  if (auto noted = module->getAttrOfType<ArrayAttr>(requestsAttr))
    for (auto entry : noted.getAsRange<ArrayAttr>())
      requests.push_back({cast<StringAttr>(entry[0]).getValue().str(),
                          cast<IntegerAttr>(entry[1]).getInt(),
                          Location(cast<LocationAttr>(entry[2]))});
  return requests;
}

std::string hone::requestAttentionPlan(ModuleOp module,
                                       const AttentionPlanRequest &request) {
  SmallVector<AttentionPlanRequest> all = attentionPlanRequests(module);
  auto *found = llvm::find_if(all, [&](const AttentionPlanRequest &other) {
    return other.problem == request.problem;
  });
  size_t index = found - all.begin();
  if (found == all.end())
    all.push_back(request);
  else
    found->workspace = std::min(found->workspace, request.workspace);
  Builder builder(module.getContext());
  SmallVector<Attribute> noted;
  for (const AttentionPlanRequest &one : all)
    noted.push_back(builder.getArrayAttr(
        {builder.getStringAttr(one.problem),
         builder.getI64IntegerAttr(one.workspace), one.loc}));
  module->setAttr(requestsAttr, builder.getArrayAttr(noted));
  return functionName(index);
}

void hone::defineAttentionPlans(ModuleOp module, int64_t arch,
                                ArrayRef<std::string> plans) {
  for (auto [index, plan] : llvm::enumerate(plans)) {
    std::string name = functionName(index);
    if (Operation *declared = module.lookupSymbol(name))
      declared->erase();
    ProgramWriter writer(module, name);
    writer.call("honert_attention_plan",
                {writer.integer(arch), writer.string(plan),
                 writer.integer(plan.size())});
    writer.finish();
  }
  module->removeAttr(requestsAttr);
}
