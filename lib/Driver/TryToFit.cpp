//===- TryToFit.cpp - What lets a program fit into its machine ------------===//
//
// A dry run whose plan does not fit plans the package again with options that
// take less memory, each within the room that there is, so that what it advises
// has figures (docs/rationale/device-memory.md).
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "hone/Support/ByteSize.h"
#include "hone/Transforms/Precision/Policy.h"
#include "hone/Transforms/Recompute/CheckpointPolicy.h"

using namespace hone;
using namespace hone::driver;
using namespace hone::report;
using llvm::Error;

namespace {
/// Options that take less memory than those that were given.
struct Candidate {
  std::string flags; ///< "" where only a budget is tried
  std::function<void(PipelineOptions &)> set;
};
} // namespace

//===----------------------------------------------------------------------===//
// One of them
//===----------------------------------------------------------------------===//

Error Compilation::planTrial() {
  isTrial = true;
  if (Error error = readModule())
    return error;
  if (!options.cluster.empty())
    if (Error error = readCluster())
      return error;
  return runPhases(Phase::Import, Phase::Plan);
}

std::optional<TriedPlan> Compilation::tryPlan() {
  TriedPlan tried;
  if (Error error = planTrial()) {
    llvm::consumeError(std::move(error));
    auto least =
        module ? (*module)->getAttrOfType<mlir::IntegerAttr>(smallestBudgetAttr)
               : mlir::IntegerAttr();
    if (!least)
      return std::nullopt;
    tried.bytes = least.getInt();
    return tried;
  }
  auto programs = module->getOps<plan::ProgramOp>();
  if (!llvm::hasSingleElement(programs))
    return std::nullopt; // stages of a pipeline
  Summary summary = summarizeProgram(*programs.begin(), assumedMachine());
  MachineModel machine = machineOfRank(summary.mesh.has_value());
  tried.fits = true;
  tried.bytes = summary.memory.arena;
  tried.seconds = estimateStep(summary, machine);
  tried.needsBudget = llvm::any_of(summary.launches, [](const Launch &launch) {
    return launch.isRecomputed;
  });
  return tried;
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

static Candidate ofMoments(llvm::StringRef format) {
  return {("--moments=" + format).str(),
          [format](PipelineOptions &options) { options.moments = format; }};
}

/// Of the numbers in memory, those that the options leave wide.
static void addNarrower(const PipelineOptions &given,
                        std::vector<Candidate> &candidates) {
  const PrecisionPolicy *policy = findPrecisionPolicy(given.precision);
  if (!policy)
    return;
  if (policy->low == PrecisionPolicy::Low::None)
    candidates.push_back(
        {"--precision=bf16 --stream=low", [](PipelineOptions &options) {
           options.precision = "bf16";
           options.stream = "low";
         }});
  else if (given.stream != "low")
    candidates.push_back({"--stream=low", [](PipelineOptions &options) {
                            options.stream = "low";
                          }});
}

static Candidate both(const Candidate &one, const Candidate &other) {
  return {one.flags + " " + other.flags, [=](PipelineOptions &options) {
            one.set(options);
            other.set(options);
          }};
}

/// What is tried on the machines that were given.
static std::vector<Candidate> makeCandidates(const PipelineOptions &given,
                                             const Summary &summary) {
  std::vector<Candidate> candidates = {{"", [](PipelineOptions &) {}}};
  addNarrower(given, candidates);
  if (given.moments.empty() && summary.memory.state.count("opt")) {
    candidates.push_back(ofMoments("bf16"));
    candidates.push_back(ofMoments("8bit"));
    if (candidates.size() == 4)
      candidates.push_back(both(candidates[1], candidates[3]));
  }
  return candidates;
}

/// What is tried on more of them, up to the first that is enough: axes that
/// divide the batch, and where it has too few rows, those that divide products.
static std::vector<Candidate> makeMeshes() {
  std::vector<Candidate> candidates;
  for (llvm::StringRef mesh : {"fs=2", "fs=4", "fs=8", "tp=2", "tp=4", "tp=8"})
    candidates.push_back({("--mesh=" + mesh).str(),
                          [mesh](auto &options) { options.mesh = mesh; }});
  return candidates;
}

/// `options` for a trial of `candidate`; none where they contradict each other.
static std::optional<Options>
withCandidate(Options options, const Candidate &candidate, int64_t room) {
  options.dryRun = true;
  options.timePhases = false;
  options.report = options.scheduleDump = "";
  options.pipeline.memoryBudget = room;
  options.pipeline.upto = nameOf(Phase::Plan);
  candidate.set(options.pipeline);
  if (Error error = options.pipeline.readRanks()) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  return options;
}

static std::optional<TriedPlan> tryCandidate(const Options &given,
                                             llvm::StringRef tool,
                                             const Candidate &candidate,
                                             int64_t room) {
  std::optional<Options> options = withCandidate(given, candidate, room);
  std::optional<TriedPlan> tried =
      options ? Compilation(*options, tool).tryPlan() : std::nullopt;
  if (!tried)
    return std::nullopt;
  tried->isBare = candidate.flags.empty();
  tried->flags = candidate.flags;
  if (tried->isBare || tried->needsBudget) {
    std::string budget = "--memory-budget=" + formatBytesToType(room);
    tried->flags += (tried->isBare ? "" : " ") + budget;
  }
  return tried;
}

std::vector<TriedPlan> Compilation::tryToFit(const Summary &summary,
                                             int64_t room) const {
  std::vector<TriedPlan> plans;
  if (options.readsText)
    return plans; // other phases have run with the options that were given
  for (const Candidate &candidate : makeCandidates(options.pipeline, summary))
    if (auto tried = tryCandidate(options, tool, candidate, room))
      plans.push_back(*tried);
  auto fits = [](const TriedPlan &plan) { return plan.fits; };
  if (llvm::any_of(plans, fits) || !options.isCuda || summary.mesh)
    return plans;
  for (const Candidate &candidate : makeMeshes()) {
    std::optional<TriedPlan> tried =
        tryCandidate(options, tool, candidate, room);
    if (tried)
      plans.push_back(*tried);
    if (tried && tried->fits)
      break;
  }
  return plans;
}
