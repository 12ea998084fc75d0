//===- Json.cpp - A report as JSON ----------------------------------------===//

#include "Json.h"

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

/// The point of the curve that is nearest to the arena as it is.
static size_t findChosenPoint(const MemorySummary &memory) {
  auto distance = [&](const std::pair<double, double> &point) {
    return std::abs(point.first - double(memory.arena));
  };
  auto nearest = std::min_element(
      memory.curve.begin(), memory.curve.end(),
      [&](const auto &a, const auto &b) { return distance(a) < distance(b); });
  return nearest - memory.curve.begin();
}

static void writeCurve(OStream &out, const MemorySummary &memory) {
  out.attributeArray("curve", [&] {
    for (auto [bytes, seconds] : memory.curve)
      out.object([&, bytes = bytes, seconds = seconds] {
        out.attribute("bytes", int64_t(bytes));
        out.attribute("seconds", seconds);
      });
  });
  if (!memory.curve.empty())
    out.attribute("chosen", int64_t(findChosenPoint(memory)));
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

static void writeMemory(OStream &out, const MemorySummary &memory) {
  out.attribute("arena", memory.arena);
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
  writeCurve(out, memory);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static void writeLaunch(OStream &out, const Launch &launch,
                        const Report &report) {
  out.attribute("function", launch.function);
  out.attribute("number", int64_t(launch.number));
  out.attribute("times", report.summary.timesPerStep(launch.function));
  out.attribute("family", launch.family);
  out.attribute("ops", clean(launch.ops));
  out.attribute("source", clean(launch.location));
  out.attribute("flops", launch.flops);
  out.attribute("bytes", launch.bytes);
  out.attribute("seconds", estimateSeconds(launch, report.machine));
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
  out.attribute("step_seconds", job.seconds);
  out.attribute("tokens_per_step", job.tokens);
  out.attribute("mfu", job.utilization);
  if (!job.advice.empty())
    out.attribute("advice", clean(job.advice));
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

void hone::report::writeJson(OStream &out, const Report &report) {
  const Summary &summary = report.summary;
  out.object([&] {
    out.attribute("schema", reportSchema);
    out.attribute("model", clean(summary.model));
    out.attribute("machine", clean(describeMachine(report.machine)));
    out.attributeObject("step", [&] {
      out.attribute("micro_batches", summary.microBatches);
      out.attribute("launches", summary.launchesPerStep());
      out.attribute("flops", summary.flopsPerStep());
      out.attribute("bytes", summary.bytesPerStep());
      out.attribute("seconds", estimateStep(summary, report.machine));
    });
    out.attributeObject("memory", [&] { writeMemory(out, summary.memory); });
    if (report.job)
      out.attributeObject("ranks", [&] { writeJob(out, *report.job); });
    out.attributeArray("launches", [&] {
      for (const Launch &launch : summary.launches)
        out.object([&] { writeLaunch(out, launch, report); });
    });
    writeExplanations(out, "sizes", report.sizes);
    writeExplanations(out, "groups", report.groups);
    writeExplanations(out, "stages", report.stages);
    writeExplanations(out, "bounds", report.bounds);
  });
}
