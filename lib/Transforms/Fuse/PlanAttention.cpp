//===- PlanAttention.cpp - Which attention a GPU's library computes -------===//

#include "AttentionCalls.h"

#include "hone/Analysis/Attention/Problem.h"
#include "hone/Analysis/Cost/TargetDescription.h"
#include "hone/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"

namespace hone {
#define GEN_PASS_DEF_PLANATTENTION
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

namespace {
/// What becomes of an attention op.
struct Verdict {
  AttentionParts parts;
  SmallVector<std::string, 2> lines; ///< what the library is asked
  int64_t workspace = 0;
  std::string why; ///< it is no call of the library; "": it is one
};

struct PlanAttention : hone::impl::PlanAttentionBase<PlanAttention> {
  using Base::Base;
  PlanAttention(PlanAttentionOptions options,
                std::shared_ptr<AttentionAnswers> answers)
      : Base(options), answers(std::move(answers)) {}

  void runOnOperation() override;

private:
  void collect();
  LogicalResult ask(StringRef arch);
  void judge();
  LogicalResult apply(Operation *op, const Verdict &verdict);

  llvm::MapVector<Operation *, Verdict> verdicts;
  std::shared_ptr<AttentionAnswers> answers =
      std::make_shared<AttentionAnswers>();
};
} // namespace

std::unique_ptr<Pass>
hone::createPlanAttention(PlanAttentionOptions options,
                          std::shared_ptr<AttentionAnswers> answers) {
  return std::make_unique<PlanAttention>(std::move(options),
                                         std::move(answers));
}

/// Finds the attention ops, and what is to be asked for them.
void PlanAttention::collect() {
  verdicts.clear();
  getOperation().walk([&](Operation *op) {
    std::optional<AttentionParts> parts = readAttention(op);
    if (!parts)
      return;
    Verdict &verdict = verdicts[op];
    verdict.parts = *parts;
    verdict.why = whyNotAsked(*parts);
    if (verdict.why.empty())
      verdict.lines = describeLayouts(*parts, deterministic);
  });
}

/// Gets the library's answers. Without a library no op is left to mark.
LogicalResult PlanAttention::ask(StringRef arch) {
  SmallVector<std::string> lines;
  for (auto &[op, verdict] : verdicts)
    llvm::append_range(lines, verdict.lines);
  llvm::Error error =
      planAttention({tool, arch.str(), emulate}, lines, *answers);
  if (!error)
    return success();
  std::string why = llvm::toString(std::move(error));
  if (required)
    return getOperation().emitError("no fused attention: ") << why;
  getOperation().emitWarning("attention is in parts, without a fused kernel: ")
      << why;
  verdicts.clear();
  return success();
}

/// Reads the answers. Calls that draw one mask, forward and backward, are all
/// the library's or none: its generator is another one than ours.
void PlanAttention::judge() {
  llvm::DenseSet<uint64_t> refusedSalts;
  for (auto &[op, verdict] : verdicts) {
    for (const std::string &line : verdict.lines) {
      const AttentionAnswer &answer = answers->at(line);
      verdict.workspace = std::max(verdict.workspace, answer.workspace);
      if (!answer.refused.empty())
        verdict.why = "is refused by cuDNN: " + answer.refused;
    }
    if (verdict.parts.dropout > 0 && !verdict.why.empty())
      refusedSalts.insert(verdict.parts.salt);
  }
  for (auto &[op, verdict] : verdicts)
    if (verdict.parts.dropout > 0 && verdict.why.empty() &&
        refusedSalts.contains(verdict.parts.salt))
      verdict.why = "has the dropout of another one that is refused";
}

/// Marks the calls that `op` becomes, or leaves it to be decomposed.
LogicalResult PlanAttention::apply(Operation *op, const Verdict &verdict) {
  if (!verdict.why.empty()) {
    if (required)
      return op->emitOpError()
             << verdict.why << ", for which there is no fused kernel";
    if (report)
      op->emitRemark("attention in parts: it ") << verdict.why;
    return success();
  }
  Builder builder(op->getContext());
  for (Operation *call : splitIntoCalls(op)) {
    call->setAttr(attr::workspace,
                  builder.getI64IntegerAttr(verdict.workspace));
    if (deterministic)
      call->setAttr(attr::deterministic, builder.getUnitAttr());
  }
  return success();
}

void PlanAttention::runOnOperation() {
  FailureOr<TargetDescription> target = getTarget(getOperation());
  if (failed(target))
    return signalPassFailure();
  if (target->kind != TargetKind::CUDA)
    return markAllAnalysesPreserved();
  collect();
  if (failed(ask(target->arch.empty() ? StringRef(oldestDevice)
                                      : StringRef(target->arch))))
    return signalPassFailure();
  judge();
  for (auto &[op, verdict] : verdicts)
    if (failed(apply(op, verdict)))
      return signalPassFailure();
}
