//===- Advice.cpp - What would help a program -----------------------------===//

#include "Advice.h"

#include "MemoryCurve.h"
#include "hone/Support/ByteSize.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace hone;
using namespace hone::report;
using llvm::formatv;

/// Seconds of a step in launches that `belongs` accepts.
static double
secondsOf(const Report &report,
          llvm::function_ref<bool(const Launch &launch)> belongs) {
  double seconds = 0;
  for (const Launch &launch : report.summary.launches)
    if (belongs(launch))
      seconds += double(report.summary.timesPerStep(launch.function)) *
                 estimateSeconds(launch, report.machine);
  return seconds;
}

/// "12.345 ms" as everywhere, or of long steps "12.34 s".
static std::string formatTime(double seconds) {
  return seconds < 10 ? formatv("{0:F3} ms", seconds * 1e3).str()
                      : formatv("{0:F2} s", seconds).str();
}

/// "21.98 GiB, 53.39 GiB in the second arena, 31.38 s per step; rounds
/// gradients to bf16; in place of --offload=state", or why not.
static std::string describeTried(const TriedPlan &plan) {
  if (!plan.fits)
    return formatv("does not fit, takes {0} at least", formatBytes(plan.bytes));
  std::string text = formatBytes(plan.bytes);
  if (plan.secondArena > 0)
    text += ", " + formatBytes(plan.secondArena) + " in the second arena";
  text += ", " + formatTime(plan.seconds) + " per step";
  if (!plan.note.empty())
    text += "; " + plan.note;
  return plan.replaced.empty() ? text : text + "; in place of " + plan.replaced;
}

/// With a part of the rows of a package, in as many more micro-batches. Nothing
/// has planned it: what grows with rows gets a part, and gradients of all
/// parameters stay between micro-batches. None where 1/16 is too much.
static std::optional<Advice> adviseFewerRows(const Summary &summary,
                                             int64_t room) {
  const MemoryBytes &peak = summary.memory.peak;
  int64_t ofRows = peak[MemoryCategory::Activations] +
                   peak[MemoryCategory::Temporaries] +
                   peak[MemoryCategory::Workspaces];
  int64_t rest = summary.memory.arena - ofRows;
  auto parameters = summary.memory.state.find("param");
  if (summary.microBatches == 1 && parameters != summary.memory.state.end())
    rest += std::max<int64_t>(0, parameters->second -
                                     peak[MemoryCategory::Gradients]);
  for (int64_t parts = 2; parts <= 16; parts *= 2)
    if (int64_t bytes = rest + ofRows / parts; bytes <= room)
      return Advice{
          formatv("--micro-batches={0}", parts * summary.microBatches),
          formatv("with a package of 1/{0} of the rows, exported anew: about "
                  "{1}, not planned",
                  parts, formatBytes(bytes))};
  return std::nullopt;
}

/// What was tried, the fastest first, and what was not enough behind it.
static std::vector<Advice> adviseOfTried(const Summary &summary, int64_t room) {
  std::vector<TriedPlan> plans = summary.tried;
  llvm::sort(plans, [](const TriedPlan &a, const TriedPlan &b) {
    return std::make_tuple(!a.fits, a.seconds, a.bytes, a.flags) <
           std::make_tuple(!b.fits, b.seconds, b.bytes, b.flags);
  });
  std::vector<Advice> advice;
  for (const TriedPlan &plan : plans)
    advice.push_back(
        {plan.flags, plan.isBare && !plan.fits
                         ? "recomputation alone " + describeTried(plan)
                         : describeTried(plan)});
  if (std::optional<Advice> fewer = adviseFewerRows(summary, room))
    advice.push_back(*fewer);
  return advice;
}

std::vector<Advice> hone::report::adviseToFit(const Summary &summary,
                                              const MachineModel &machine) {
  const MemorySummary &memory = summary.memory;
  std::optional<int64_t> room = machine.arenaRoom();
  if (!room || memory.arena <= *room)
    return {};
  if (!summary.tried.empty())
    return adviseOfTried(summary, *room);
  return {
      {"--memory-budget=" + formatBytesToType(*room),
       formatv("recomputes activations, which are {0} of the {1} at the peak",
               formatBytes(memory.peak[MemoryCategory::Activations]),
               formatBytes(memory.arena))},
      {"--offload=auto",
       "with that budget, moves state and activations to a second arena"},
      {"--moments=8bit", "shrinks the optimizer's state"},
      {"--mesh=fs=N", "divides state and activations over N ranks"},
      {"--micro-batches=N", "goes with an N-th of the batch, exported anew"}};
}

/// Where activations are most of the arena and no budget was given.
static void adviseMemory(const Report &report, std::vector<Advice> &advice) {
  const MemorySummary &memory = report.summary.memory;
  int64_t activations = memory.peak[MemoryCategory::Activations];
  if (!memory.budget && 2 * activations > memory.arena)
    advice.push_back(
        {"--memory-budget=SIZE",
         formatv("takes less memory, and more time per step: recomputes "
                 "activations, which are {0} of the {1} at the peak",
                 formatBytes(activations), formatBytes(memory.arena))
             .str()});
}

/// Under a budget: the next larger arena that saves a percent of the time.
static void adviseBudget(const Report &report, std::vector<Advice> &advice) {
  MemoryCurve curve = readMemoryCurve(report);
  double step = estimateStep(report.summary, report.machine);
  for (auto [bytes, seconds] :
       llvm::ArrayRef(curve.points).drop_front(curve.chosen))
    if (seconds < 0.99 * step) {
      advice.push_back({"--memory-budget=" + std::to_string(bytes),
                        formatv("keeps more: {0} per step in place of {1}",
                                formatTime(seconds), formatTime(step))
                            .str()});
      return;
    }
}

/// How much faster 16-bit products are than fp32, at peak.
static double narrowGain(const MachineModel &machine) {
  return machine.device ? machine.device->narrow / machine.device->wide
                        : double(machine.bf16Factor);
}

static void advisePrecision(const Report &report, double step,
                            std::vector<Advice> &advice) {
  double gain = narrowGain(report.machine);
  double products = secondsOf(report, [](const Launch &launch) {
    return launch.family == "contraction";
  });
  const std::string &precision = report.summary.precision;
  if ((precision.empty() || precision == "fp32") && gain > 1 &&
      products > 0.2 * step)
    advice.push_back(
        {"--precision=bf16",
         formatv("matrix products take {0} of {1}; this machine's bf16 "
                 "products are up to {2:F1} times as fast",
                 formatTime(products), formatTime(step), gain)
             .str()});
}

static void adviseBatches(const Report &report, double step,
                          std::vector<Advice> &advice) {
  double update = secondsOf(
      report, [](const Launch &launch) { return launch.pass == Pass::update; });
  if (update > 0.2 * step)
    advice.push_back(
        {"--micro-batches=N",
         formatv("adds up gradients of N batches before an update, "
                 "which takes {0} of {1} now",
                 formatTime(update), formatTime(step))
             .str()});
}

std::vector<Advice> hone::report::adviseOn(const Report &report) {
  // That the program fits comes first, then what makes a step faster.
  std::vector<Advice> advice = adviseToFit(report.summary, report.machine);
  bool fits = advice.empty();
  double step = estimateStep(report.summary, report.machine);
  advisePrecision(report, step, advice);
  adviseBudget(report, advice);
  if (report.job && !report.job->advice.empty())
    advice.push_back({"--mesh", report.job->advice});
  adviseBatches(report, step, advice);
  if (fits)
    adviseMemory(report, advice);
  return advice;
}
