//===- Pipeline.cpp - A step of the stages of a pipeline ------------------===//

#include "hone/Report/Pipeline.h"

#include "hone/Analysis/Pipeline/StageActions.h"
#include "hone/Sharding/IR/Dist.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cassert>

using namespace hone;
using namespace hone::report;
using hone::pipeline::ActionKind;
using hone::pipeline::Channel;
using hone::pipeline::ChunkSeconds;
using hone::pipeline::ChunkWindows;
using hone::pipeline::Payload;
using hone::pipeline::Schedule;
using hone::pipeline::Shape;
using hone::pipeline::WindowClass;
using llvm::ArrayRef;
using llvm::formatv;
using llvm::StringRef;

double PipelineSummary::total() const {
  return timeline.makespan + *llvm::max_element(updates);
}

double PipelineSummary::work(size_t stage) const {
  return timeline.ranks[stage].busy + updates[stage];
}

//===----------------------------------------------------------------------===//
// Seconds
//===----------------------------------------------------------------------===//

static bool hasFunction(const Summary &stage, StringRef name) {
  return llvm::any_of(stage.launches, [&](const Launch &launch) {
    return launch.function == name;
  });
}

/// Of a chunk that runs @accumulate, a third is forward by convention: nothing
/// is sent between its parts, so that no other time depends on it.
static ChunkSeconds secondsOf(dist::Chunk chunk, const Summary &stage,
                              const MachineModel &machine) {
  bool joinsParts = hasFunction(stage, chunk.function("accumulate"));
  auto take = [&](ActionKind kind) {
    StringRef name = pipeline::functionOf(kind, joinsParts);
    return name.empty()
               ? 0.0
               : estimateFunction(chunk.function(name), stage, machine);
  };
  ChunkSeconds seconds;
  seconds.forward = take(ActionKind::Forward);
  seconds.backward = take(ActionKind::Backward);
  seconds.backwardInput = take(ActionKind::BackwardInput);
  seconds.backwardWeight = take(ActionKind::BackwardWeight);
  if (joinsParts) {
    double both = seconds.forward;
    seconds.forward = both / 3;
    seconds.backward = seconds.backwardInput = both - seconds.forward;
  }
  return seconds;
}

static double secondsOfOverlap(const Shape &shape,
                               const pipeline::Action &forward,
                               const pipeline::Action &backward,
                               const Summary &stage,
                               const MachineModel &machine) {
  return estimateFunction(
      pipeline::overlapFunction(pipeline::nameChunk(shape, forward.chunk),
                                pipeline::nameChunk(shape, backward.chunk)),
      stage, machine);
}

/// Seconds of the longest message of a channel, which `sender` sends.
static double secondsOf(const Channel &channel, const Shape &shape,
                        const Summary &sender) {
  double longest = 0;
  for (int chunk = 1; chunk != shape.chunks(); ++chunk) {
    int before = shape.rankOf(chunk - 1), own = shape.rankOf(chunk);
    dist::Chunk name = pipeline::nameChunk(shape, chunk);
    bool isActivation = channel.payload == Payload::Activation;
    if (channel.source != (isActivation ? before : own) ||
        channel.destination != (isActivation ? own : before))
      continue;
    std::string value = kind::boundary.str() + " " +
                        (isActivation ? name.input() : name.inputGradient());
    for (const StageMessages &sent : sender.messages)
      if (sent.value == value)
        longest = std::max(longest, sent.seconds);
  }
  assert(longest > 0 && "a stage sends over each of its channels");
  return longest;
}

//===----------------------------------------------------------------------===//
// The timeline
//===----------------------------------------------------------------------===//

/// How many instances of a boundary `program` has.
static int instancesOf(plan::ProgramOp program, const std::string &name) {
  for (auto argument : program.getBody().getOps<plan::ArgumentOp>())
    if (argument.getKind() == kind::boundary && argument.getFqn() == name)
      return int(argument.getWindow());
  return 0;
}

/// As the plan has them, where actions wait for sends.
static std::vector<ChunkWindows> readWindows(ArrayRef<plan::ProgramOp> programs,
                                             const Schedule &schedule) {
  const Shape &shape = schedule.shape;
  std::vector<ChunkWindows> windows = pipeline::countWindows(schedule);
  for (int chunk = 0; chunk != shape.chunks(); ++chunk) {
    plan::ProgramOp program = programs[shape.rankOf(chunk)];
    dist::Chunk name = pipeline::nameChunk(shape, chunk);
    windows[chunk][WindowClass::ActivationOut] =
        instancesOf(program, name.output());
    windows[chunk][WindowClass::GradientOut] =
        instancesOf(program, name.inputGradient());
  }
  return windows;
}

PipelineSummary
hone::report::summarizePipeline(ArrayRef<plan::ProgramOp> programs,
                                ArrayRef<Summary> stages, Schedule schedule,
                                const MachineModel &machine) {
  const Shape &shape = schedule.shape;
  int last = shape.chunks() - 1, lastStage = shape.rankOf(last);
  dist::Chunk name = pipeline::nameChunk(shape, last);
  // As hone-join-stages does.
  if (hasFunction(stages[lastStage], name.function("accumulate")))
    llvm::cantFail(pipeline::joinParts(
        schedule, instancesOf(programs[lastStage], name.input()) > 1));
  PipelineSummary step;
  for (int chunk = 0; chunk <= last; ++chunk)
    step.seconds.chunks.push_back(secondsOf(pipeline::nameChunk(shape, chunk),
                                            stages[shape.rankOf(chunk)],
                                            machine));
  for (auto [rank, list] : llvm::enumerate(schedule.ranks))
    for (auto [position, action] : llvm::enumerate(list))
      if (action.overlapsNext)
        step.seconds.overlaps[{action.chunk, list[position + 1].chunk}] =
            secondsOfOverlap(shape, action, list[position + 1], stages[rank],
                             machine);
  for (const Summary &stage : stages)
    step.updates.push_back(estimateFunction("update", stage, machine));
  for (const Channel &channel : schedule.channels)
    step.seconds.messages.push_back(
        secondsOf(channel, shape, stages[channel.source]));
  step.timeline = pipeline::runSchedule(schedule, step.seconds,
                                        readWindows(programs, schedule));
  step.schedule = std::move(schedule);
  return step;
}

//===----------------------------------------------------------------------===//
// In words
//===----------------------------------------------------------------------===//

/// Those of all chunks of a stage.
static ChunkSeconds sumOfChunks(const PipelineSummary &step, int stage) {
  ChunkSeconds sum;
  for (int index = 0; index != step.schedule.shape.chunksPerRank; ++index) {
    const ChunkSeconds &own =
        step.seconds.chunks[step.schedule.shape.chunkOf(stage, index)];
    sum.forward += own.forward;
    sum.backward += own.backward;
    sum.backwardInput += own.backwardInput;
    sum.backwardWeight += own.backwardWeight;
  }
  return sum;
}

/// A row per stage: milliseconds of a micro-batch, of the update, and of a
/// step. Where both parts are one function, one number is below both.
static void printStages(llvm::raw_ostream &out, const PipelineSummary &step,
                        ArrayRef<Summary> stages) {
  bool splits = step.schedule.splitsBackward();
  out << formatv("  {0,-10}{1,11}{2,11}{3}{4,11}{5,11}{6,11}{7,11}\n",
                 "stage, ms", "forward", "backward",
                 splits ? "    weights" : "", "update", "work", "idle",
                 "messages");
  for (auto [stage, rank] : llvm::enumerate(step.timeline.ranks)) {
    ChunkSeconds once = sumOfChunks(step, int(stage));
    double backward = splits ? once.backwardInput : once.backward;
    if (hasFunction(stages[stage], "accumulate"))
      out << formatv("  {0,-10}{1,22:F3}", stage,
                     (once.forward + backward) * 1e3);
    else
      out << formatv("  {0,-10}{1,11:F3}{2,11:F3}", stage, once.forward * 1e3,
                     backward * 1e3);
    if (splits)
      out << formatv("{0,11:F3}", once.backwardWeight * 1e3);
    out << formatv("{0,11:F3}{1,11:F3}{2,11:F3}{3,11:F3}\n",
                   step.updates[stage] * 1e3, step.work(stage) * 1e3,
                   step.timeline.idle(int(stage)) * 1e3, rank.exposed * 1e3);
  }
}

/// What parts that run together take, and what they would take one after the
/// other, over all stages.
static void printOverlaps(llvm::raw_ostream &out, const PipelineSummary &step) {
  int64_t runs = 0;
  double together = 0, apart = 0;
  for (ArrayRef<pipeline::Action> list : step.schedule.ranks)
    for (auto [position, action] : llvm::enumerate(list)) {
      if (!action.overlapsNext)
        continue;
      const pipeline::Action &next = list[position + 1];
      ++runs;
      together += step.seconds.of({action, next});
      apart += step.seconds.of(action) + step.seconds.of(next);
    }
  if (runs != 0)
    out << formatv("overlap          {0} runs of a forward and a backward part "
                   "take {1:F3} ms, one after the other {2:F3} ms\n",
                   runs, together * 1e3, apart * 1e3);
}

void hone::report::printPipeline(llvm::raw_ostream &out,
                                 const PipelineSummary &step,
                                 ArrayRef<Summary> stages,
                                 const MachineModel &machine) {
  const Summary &first = stages.front();
  const dist::Mesh &mesh = *first.mesh;
  out << formatv("ranks            {0}: {1}\n", mesh.numRanks(),
                 describeMesh(mesh));
  if (!first.experts.empty())
    out << "experts          " << first.experts << '\n';
  int chunks = step.schedule.shape.chunksPerRank;
  out << formatv("pipeline         {0} stages{1}, schedule {2}, {3} "
                 "micro-batch{4}\n",
                 stages.size(),
                 chunks == 1 ? "" : formatv(" of {0} chunks", chunks).str(),
                 step.schedule.name, first.microBatches,
                 first.microBatches == 1 ? "" : "es");
  printStages(out, step, stages);
  std::vector<double> work;
  for (size_t stage = 0; stage != stages.size(); ++stage)
    work.push_back(step.work(stage));
  auto shortest = llvm::min_element(work), longest = llvm::max_element(work);
  out << formatv("longest stage    {0}: {1:F3} ms of work per step; shortest "
                 "{2}: {3:F3} ms\n",
                 longest - work.begin(), *longest * 1e3,
                 shortest - work.begin(), *shortest * 1e3);
  printOverlaps(out, step);
  out << formatv("bubble           {0:F1} % of {1:F3} ms up to the update\n",
                 step.timeline.bubble() * 100, step.timeline.makespan * 1e3);
  out << formatv("estimated step   {0:F3} ms\n", step.total() * 1e3);
  int64_t tokens = 0;
  for (const Summary &stage : stages)
    tokens = std::max(tokens, stage.tokens);
  printThroughput(out, tokens, step.total(),
                  findUtilization(first, machine, step.total()));
}
