//===- Json.cpp - A report as JSON ----------------------------------------===//

#include "Json.h"

#include "Advice.h"
#include "CostliestModules.h"
#include "MemoryCurve.h"

#include "llvm/ADT/StringMap.h"

using namespace hone;
using namespace hone::report;
using llvm::json::OStream;

/// `text` as it may stand in JSON: names come from users' files.
static std::string clean(llvm::StringRef text) {
  return llvm::json::fixUTF8(text);
}

static std::string printType(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static void writeCurve(OStream &out, const MemoryCurve &curve) {
  out.attributeArray("curve", [&] {
    for (auto [bytes, seconds] : curve.points)
      out.object([&, bytes = bytes, seconds = seconds] {
        out.attribute("bytes", bytes);
        out.attribute("seconds", seconds);
      });
  });
  if (!curve.points.empty())
    out.attribute("chosen", int64_t(curve.chosen));
}

static void writeTensors(OStream &out, const MemorySummary &memory) {
  out.attributeArray("tensors", [&] {
    for (const LiveTensors &row : memory.tensors)
      out.object([&] {
        out.attribute("bytes", row.bytes);
        out.attribute("count", row.count);
        out.attribute("type", printType(row.type));
        out.attribute("category", categoryName(row.category));
        out.attribute("name", clean(row.name));
        out.attribute("source", clean(row.location));
      });
  });
}

static void writeMemory(OStream &out, const Report &report) {
  const MemorySummary &memory = report.summary.memory;
  out.attribute("arena", memory.arena);
  if (memory.secondArena > 0) {
    const CopyCost &copies = report.summary.copies;
    out.attributeObject("second_arena", [&] {
      out.attribute("bytes", memory.secondArena);
      out.attribute("up", copies.up);
      out.attribute("down", copies.down);
      out.attribute("exposed_seconds", copies.exposed);
      out.attributeArray("functions", [&] {
        for (const auto &[name, seconds] : report.summary.waits)
          out.object([&, &name = name, seconds = seconds] {
            out.attribute("name", name);
            out.attribute("exposed_seconds", seconds);
          });
      });
    });
  }
  if (std::optional<int64_t> room = report.machine.arenaRoom())
    out.attribute("capacity", *room);
  if (memory.budget)
    out.attribute("budget", *memory.budget);
  if (memory.at)
    out.attribute("fullest", int64_t(*memory.at));
  out.attributeArray("peak", [&] {
    for (const auto &[name, bytes] : memory.categories())
      out.object([&, &name = name, bytes = bytes] {
        out.attribute("category", name);
        out.attribute("bytes", bytes);
      });
  });
  out.attributeArray("stack", [&] {
    for (size_t index = 0; index != memoryCategories; ++index)
      out.value(categoryName(static_cast<MemoryCategory>(index)));
  });
  out.attributeObject("state", [&] {
    for (const auto &[kind, bytes] : memory.state)
      out.attribute(kind, bytes);
  });
  writeTensors(out, memory);
  writeCurve(out, readMemoryCurve(report));
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

namespace {
/// What a launch has beside others of its program.
struct LaunchPlace {
  std::optional<size_t> reason; ///< in `groups`
  std::optional<std::pair<double, double>> span;
};
} // namespace

static void writeLaunch(OStream &out, const Launch &launch,
                        const LaunchPlace &place, const Report &report) {
  out.attribute("name", clean(launch.name));
  out.attribute("module", clean(launch.module));
  out.attribute("function", launch.function);
  out.attribute("pass", passName(launch.pass));
  out.attribute("number", int64_t(launch.number));
  out.attribute("times", report.summary.timesPerStep(launch.function));
  out.attribute("family", launch.family);
  out.attribute("ops", clean(launch.ops));
  out.attribute("source", clean(launch.location));
  out.attribute("flops", launch.flops);
  out.attribute("bytes", launch.bytes);
  out.attribute("seconds", estimateSeconds(launch, report.machine));
  if (launch.saved != 0)
    out.attribute("saved", launch.saved);
  if (launch.isRecomputed)
    out.attribute("recomputed", true);
  if (place.reason)
    out.attribute("reason", int64_t(*place.reason));
  if (place.span) {
    out.attribute("begin", place.span->first);
    out.attribute("end", place.span->second);
  }
  if (launch.transfer)
    out.attribute("axes",
                  clean(report.summary.channels[launch.transfer->channel]));
  if (launch.waitsFor)
    out.attribute("waits_for", int64_t(*launch.waitsFor));
  if (launch.endsForward)
    out.attribute("ends_forward", true);
  out.attributeObject("live", [&] {
    for (size_t index = 0; index != memoryCategories; ++index) {
      auto category = static_cast<MemoryCategory>(index);
      if (launch.live[category] != 0)
        out.attribute(categoryName(category), launch.live[category]);
    }
  });
}

static void writeLaunches(OStream &out, const Report &report) {
  const Summary &summary = report.summary;
  // Groups of one source line with one text share their explanation.
  llvm::StringMap<size_t> reasons;
  auto keyOf = [](llvm::StringRef location, llvm::StringRef text) {
    return (location + "\n" + text).str();
  };
  for (auto [index, group] : llvm::enumerate(report.groups))
    reasons.try_emplace(keyOf(group.location, group.text), index);
  std::vector<std::pair<double, double>> spans;
  if (report.job)
    spans = estimateSpans(summary, report.machine);
  out.attributeArray("launches", [&] {
    for (auto [index, launch] : llvm::enumerate(summary.launches)) {
      LaunchPlace place;
      auto reason = reasons.find(keyOf(launch.location, launch.reason));
      if (reason != reasons.end())
        place.reason = reason->second;
      if (!spans.empty())
        place.span = spans[index];
      out.object(
          [&, &launch = launch] { writeLaunch(out, launch, place, report); });
    }
  });
}

static void writeAdvice(OStream &out, const Report &report) {
  out.attributeArray("advice", [&] {
    for (const Advice &advice : adviseOn(report))
      out.object([&] {
        out.attribute("flag", clean(advice.flag));
        out.attribute("text", clean(advice.text));
      });
  });
}

/// As many as a reader takes in at a glance.
static constexpr size_t shownModules = 3;

static void writeCostliestModules(OStream &out, const Report &report) {
  out.attributeArray("costliest", [&] {
    for (const ModuleCost &cost : findCostliestModules(report, shownModules))
      out.object([&] {
        out.attribute("module", clean(cost.module));
        out.attribute("seconds", cost.seconds);
        out.attribute("share", cost.share);
        out.attributeArray("launches", [&] {
          for (size_t launch : cost.launches)
            out.value(int64_t(launch));
        });
      });
  });
}

static void writeExplanations(OStream &out, llvm::StringRef name,
                              llvm::ArrayRef<Explanation> explanations) {
  out.attributeArray(name, [&] {
    for (const Explanation &one : explanations)
      out.object([&] {
        out.attribute("phase", one.phase);
        out.attribute("source", clean(one.location));
        out.attribute("text", clean(one.text));
      });
  });
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

static void writeJob(OStream &out, const JobSummary &job) {
  out.attribute("count", job.ranks);
  out.attribute("mesh", clean(job.mesh));
  out.attribute("work_seconds", job.work);
  out.attributeArray("exposed", [&] {
    for (const auto &[axes, seconds] : job.exposed)
      out.object([&, &axes = axes, seconds = seconds] {
        out.attribute("axes", clean(axes));
        out.attribute("seconds", seconds);
      });
  });
  out.attributeArray("traffic", [&] {
    for (const TrafficRow &row : job.traffic)
      out.object([&] {
        out.attribute("kind", row.kind);
        out.attribute("axes", clean(row.axes));
        out.attribute("count", row.count);
        out.attribute("bytes", row.bytes);
        out.attribute("seconds", row.seconds);
      });
  });
}

static void writeStep(OStream &out, const Report &report) {
  const Summary &summary = report.summary;
  double seconds = estimateStep(summary, report.machine);
  out.attribute("micro_batches", summary.microBatches);
  out.attribute("launches", summary.launchesPerStep());
  out.attribute("flops", summary.flopsPerStep());
  out.attribute("bytes", summary.bytesPerStep());
  out.attribute("seconds", seconds);
  out.attribute("tokens", summary.tokens);
  out.attribute("mfu", findUtilization(summary, report.machine, seconds));
}

static void writeTexts(OStream &out, const PageTexts &texts) {
  out.attributeObject("ir", [&] {
    for (const ModuleText &one : texts.modules)
      out.attribute(one.phase, clean(one.text));
  });
  out.attributeObject("lines", [&] {
    for (const auto &[file, lines] : texts.sources)
      out.attributeObject(clean(file), [&, &lines = lines] {
        for (const auto &[number, text] : lines)
          out.attribute(std::to_string(number), clean(text));
      });
  });
}

void hone::report::writeJson(OStream &out, const Report &report,
                             const PageTexts *texts) {
  const Summary &summary = report.summary;
  out.object([&] {
    out.attribute("schema", reportSchema);
    out.attribute("model", clean(summary.model));
    out.attribute("machine", clean(describeMachine(report.machine)));
    out.attribute("precision", summary.precision);
    out.attributeObject("step", [&] { writeStep(out, report); });
    writeCostliestModules(out, report);
    writeAdvice(out, report);
    out.attributeObject("memory", [&] { writeMemory(out, report); });
    if (report.job)
      out.attributeObject("ranks", [&] { writeJob(out, *report.job); });
    writeLaunches(out, report);
    writeExplanations(out, "sizes", report.sizes);
    writeExplanations(out, "groups", report.groups);
    writeExplanations(out, "stages", report.stages);
    writeExplanations(out, "bounds", report.bounds);
    if (texts)
      writeTexts(out, *texts);
  });
}
