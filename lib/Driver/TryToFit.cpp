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
  std::string note = ""; ///< what they change besides
  bool offloads = false; ///< with a second arena, which keeps every bit
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
  tried.secondArena = summary.memory.secondArena;
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

static void addFlag(std::string &flags, llvm::StringRef flag) {
  flags += (flags.empty() || flag.empty() ? "" : " ") + flag.str();
}

/// Without a note, which is for the caller to write.
static Candidate both(const Candidate &one, const Candidate &other) {
  std::string flags = one.flags;
  addFlag(flags, other.flags);
  return {flags,
          [=](PipelineOptions &options) {
            one.set(options);
            other.set(options);
          },
          "", one.offloads || other.offloads};
}

static Candidate ofLowStream() {
  return {"--stream=low",
          [](PipelineOptions &options) { options.stream = "low"; }};
}

static Candidate ofPrecision(const PipelineOptions &given,
                             llvm::StringRef policy) {
  Candidate low = {
      ("--precision=" + policy).str(),
      [policy](PipelineOptions &options) { options.precision = policy; }};
  return given.stream == "low" ? low : both(low, ofLowStream());
}

static bool isWide(const PipelineOptions &given) {
  const PrecisionPolicy *policy = findPrecisionPolicy(given.precision);
  return policy && policy->low == PrecisionPolicy::Low::None;
}

/// Of the numbers in memory, those that the options leave wide.
static void addNarrower(const PipelineOptions &given,
                        std::vector<Candidate> &candidates) {
  const PrecisionPolicy *policy = findPrecisionPolicy(given.precision);
  if (!policy)
    return;
  if (isWide(given))
    candidates.push_back(ofPrecision(given, "bf16"));
  else if (given.stream != "low")
    candidates.push_back(ofLowStream());
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

static bool mayOffload(const PipelineOptions &given) {
  return given.offload != "auto";
}

/// Gradients of matrices in bf16, where they are f32.
static Candidate ofLowGradients(const PipelineOptions &given) {
  if (given.gradients == "bf16")
    return {"", [](PipelineOptions &) {}, "", mayOffload(given)};
  return {"--gradients=bf16",
          [](PipelineOptions &options) { options.gradients = "bf16"; },
          "rounds gradients to bf16", mayOffload(given)};
}

/// Of fp32 with all that products read. None where gradients are narrow.
static std::optional<Candidate> makeLowGradients(const PipelineOptions &given) {
  if (given.gradients == "bf16" || given.exact)
    return std::nullopt;
  Candidate low = ofLowGradients(given);
  if (!isWide(given))
    return low;
  Candidate products = both(ofPrecision(given, "bf16"), low);
  products.note = low.note;
  return products;
}

/// "rounds weights, moments and gradients to bf16", of those that are wide.
static std::string noteOfLowState(bool hasMoments, bool hasGradients) {
  std::string note = "rounds weights";
  if (hasMoments)
    note += hasGradients ? ", moments" : " and moments";
  if (hasGradients)
    note += " and gradients";
  return note + " to bf16";
}

/// Weights and moments in bf16, too. None where another policy has been chosen
/// for what it keeps.
static std::optional<Candidate> makeLowState(const PipelineOptions &given,
                                             bool hasWideMoments) {
  const PrecisionPolicy *policy = findPrecisionPolicy(given.precision);
  bool hasMasters = policy && !policy->hasLowState && !policy->codes &&
                    policy->low != PrecisionPolicy::Low::F16;
  if (!hasMasters || given.exact)
    return std::nullopt;
  Candidate state = both(ofPrecision(given, "bf16-sr"), ofLowGradients(given));
  state.note = noteOfLowState(hasWideMoments, given.gradients != "bf16");
  return state;
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
  if (candidate.offloads)
    options.pipeline.offload = "auto";
  if (Error error = options.pipeline.readRanks()) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  return options;
}

/// Those of the options given that have other values in `flags`: typed beside
/// them they would be refused.
static std::string findReplaced(llvm::ArrayRef<std::string> given,
                                llvm::StringRef flags) {
  llvm::StringMap<llvm::StringRef> values;
  for (llvm::StringRef flag : llvm::split(flags, ' '))
    values.insert(flag.split('='));
  std::string replaced;
  for (llvm::StringRef option : given) {
    auto [name, value] = option.split('=');
    auto other = values.find(name);
    if (other != values.end() && other->second != value) {
      addFlag(replaced, option);
      values.erase(other); // given more than once, as equal values may be
    }
  }
  return replaced;
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
  // Where all of it fits, what would be away is no part of the plan.
  bool offloads = candidate.offloads && (!tried->fits || tried->needsBudget ||
                                         tried->secondArena > 0);
  tried->isBare = candidate.flags.empty() && !candidate.offloads;
  tried->flags = candidate.flags;
  tried->note = candidate.note;
  if (offloads)
    addFlag(tried->flags, "--offload=auto");
  if (tried->isBare || tried->needsBudget || tried->secondArena > 0)
    addFlag(tried->flags, "--memory-budget=" + formatBytesToType(room));
  tried->replaced = findReplaced(given.given, tried->flags);
  return tried;
}

namespace {
/// The plans of one program that does not fit into `room`.
class Trials {
public:
  Trials(const Options &given, llvm::StringRef tool, const Summary &summary,
         int64_t room)
      : given(given), tool(tool), summary(summary), room(room) {}

  void tryAll(llvm::ArrayRef<Candidate> candidates) {
    for (const Candidate &candidate : candidates)
      attempt(candidate);
  }
  void tryUntilFits(llvm::ArrayRef<Candidate> candidates) {
    for (const Candidate &candidate : candidates)
      if (const TriedPlan *tried = attempt(candidate); tried && tried->fits)
        return;
  }
  void tryOffload();
  /// Whether recomputation is enough for what was given.
  bool fitsBare() const {
    return llvm::any_of(plans, [](const TriedPlan &plan) {
      return plan.isBare && plan.fits && plan.secondArena == 0;
    });
  }
  bool anyFits() const {
    return llvm::any_of(plans, [](const TriedPlan &plan) { return plan.fits; });
  }

  std::vector<TriedPlan> plans;

private:
  const TriedPlan *attempt(const Candidate &candidate);
  std::vector<Candidate> makeRounded(int64_t least) const;
  int64_t summedGradients() const;

  const Options &given;
  llvm::StringRef tool;
  const Summary &summary;
  int64_t room;
};
} // namespace

/// Null where the options contradict each other.
const TriedPlan *Trials::attempt(const Candidate &candidate) {
  std::optional<TriedPlan> tried = tryCandidate(given, tool, candidate, room);
  if (!tried)
    return nullptr;
  plans.push_back(*tried);
  return &plans.back();
}

/// Bytes of gradients that lie in the arena between micro-batches.
int64_t Trials::summedGradients() const {
  auto sums = summary.memory.state.find(kind::grad.str());
  return sums == summary.memory.state.end() ? 0 : sums->second;
}

/// What rounds more, the least first, where a plan that takes `least` bytes may
/// come within the room by it: half of what it makes narrow goes.
std::vector<Candidate> Trials::makeRounded(int64_t least) const {
  int64_t gradients = std::max(summedGradients(),
                               summary.memory.peak[MemoryCategory::Gradients]);
  int64_t narrowed = isWide(given.pipeline) ? least : gradients;
  std::vector<Candidate> candidates;
  if (auto low = makeLowGradients(given.pipeline))
    if (least - narrowed / 2 <= room)
      candidates.push_back(*low);
  if (auto low = makeLowState(given.pipeline, summary.memory.hasWideMoments))
    if (least - least / 2 <= room)
      candidates.push_back(*low);
  return candidates;
}

/// A plan of two arenas takes longer than others to find. So it is not tried
/// where sums of gradients, which stay in the arena, leave no room, and what
/// rounds more only where nothing else fits.
void Trials::tryOffload() {
  int64_t least = summedGradients();
  if (mayOffload(given.pipeline) && least <= room) {
    const TriedPlan *tried =
        attempt({"", [](PipelineOptions &) {}, "", /*offloads=*/true});
    least = tried ? tried->bytes : room;
    if (tried && tried->fits && tried->secondArena == 0 && fitsBare())
      plans.pop_back(); // recomputation alone, which was tried before
  }
  if (!anyFits())
    tryUntilFits(makeRounded(least));
}

std::vector<TriedPlan> Compilation::tryToFit(const Summary &summary,
                                             int64_t room) const {
  if (options.readsText)
    return {}; // other phases have run with the options that were given
  Trials trials(options, tool, summary, room);
  trials.tryAll(makeCandidates(options.pipeline, summary));
  trials.tryOffload();
  if (!trials.anyFits() && options.isCuda && !summary.mesh)
    trials.tryUntilFits(makeMeshes());
  return trials.plans;
}
