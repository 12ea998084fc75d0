//===- Profile.cpp - The launches of a step and their times ---------------===//

#include "train/Profile.h"
#include "base/Json.h"
#include "train/Gaps.h"

#include <algorithm>

using namespace honert;

using TimePoint = std::chrono::steady_clock::time_point;

static double microseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

/// Of a launch, a gap or a function.
template <typename Span> static double secondsOf(const Span &span) {
  return std::chrono::duration<double>(span.end - span.begin).count();
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

namespace {
struct FunctionGap {
  Gap gap;
  const Function *function;
};
/// What the graphs of a step took while their launches were timed.
struct GraphSums {
  bool isGraph = false; ///< at least a part of the step
  double seconds = 0, idle = 0;
  std::vector<FunctionGap> gaps; ///< the largest first
};
} // namespace

static GraphSums sumGraphs(const std::vector<FunctionTimes> &step) {
  GraphSums sums;
  for (const FunctionTimes &times : step) {
    if (!times.isGraph)
      continue;
    sums.isGraph = true;
    sums.seconds += secondsOf(times);
    for (const Gap &gap : findGaps(times)) {
      sums.idle += secondsOf(gap);
      sums.gaps.push_back({gap, times.function});
    }
  }
  std::sort(sums.gaps.begin(), sums.gaps.end(),
            [](const FunctionGap &x, const FunctionGap &y) {
              double one = secondsOf(x.gap), other = secondsOf(y.gap);
              return one != other ? one > other : x.gap.begin < y.gap.begin;
            });
  return sums;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Median seconds of all launches of the group that launch `index` belongs to.
/// They were made in turn.
static double groupSeconds(const StepTimes &times, size_t function,
                           size_t index) {
  const std::vector<LaunchTime> &launches = times.latest()[function].launches;
  const LaunchCost &cost = launches[index].launch->cost;
  size_t first = index - std::min(index, cost.part);
  size_t end = std::min(launches.size(), first + cost.parts);
  double seconds = 0;
  for (size_t i = first; i != end; ++i)
    seconds += times.medianSeconds(function, i);
  return seconds;
}

//===----------------------------------------------------------------------===//
// Trace
//===----------------------------------------------------------------------===//

/// `,"key":value`, to be appended to an object.
static std::string member(const char *key, double value) {
  return format(",\"%s\":%.6g", key, value);
}

static std::string member(const char *key, int64_t value) {
  return format(",\"%s\":%lld", key, static_cast<long long>(value));
}

/// Rates of a group, and what they are of the launch's limits.
static std::string rateMembers(const LaunchCost &cost,
                               const LaunchLimits &limits, double seconds) {
  std::string text = member("bytes", cost.bytes) + member("flops", cost.flops);
  if (cost.parts > 1)
    text += member("launches", static_cast<int64_t>(cost.parts));
  if (seconds <= 0)
    return text;
  double bytes = static_cast<double>(cost.bytes) / seconds;
  double flops = static_cast<double>(cost.flops) / seconds;
  text += member("gb_per_s", bytes * 1e-9) + member("tflops", flops * 1e-12);
  if (limits.bytesPerSecond > 0)
    text += member("of_peak_bandwidth", bytes / limits.bytesPerSecond);
  if (limits.flops > 0)
    text += member("of_peak_flops", flops / limits.flops);
  return text;
}

namespace {
enum Track : int { launchTrack = 1, collectiveTrack, gapTrack };
} // namespace

static std::string eventText(const std::string &name, const std::string &family,
                             Track track, double begin, double duration,
                             const std::string &arguments) {
  return format("{\"name\":%s,\"cat\":%s,\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,"
                "\"pid\":1,\"tid\":%d,\"args\":{%s}}",
                quoteJson(name).c_str(), quoteJson(family).c_str(), begin,
                duration, track, arguments.c_str());
}

static std::string gapText(const Gap &gap, TimePoint origin) {
  return eventText("idle", "idle", gapTrack, microseconds(gap.begin - origin),
                   microseconds(gap.end - gap.begin),
                   "\"after\":" + quoteJson(gap.before->name) +
                       ",\"before\":" + quoteJson(gap.after->name));
}

static std::string trackText(Track track, const char *name) {
  return format("{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%d,"
                "\"args\":{\"name\":\"%s\"}}",
                track, name);
}

/// Collectives of a graph run beside its other launches.
static std::string launchText(const StepTimes &times, size_t at, size_t index,
                              TimePoint origin, const Executor &executor) {
  const FunctionTimes &function = times.latest()[at];
  const LaunchTime &time = function.launches[index];
  const Launch &launch = *time.launch;
  LaunchLimits limits = executor.limitsOf(launch);
  std::string arguments =
      "\"location\":" + quoteJson(launch.location) +
      member("median_us", times.medianSeconds(at, index) * 1e6);
  if (auto *kernel = std::get_if<DeviceLaunch>(&launch.action))
    arguments += ",\"kernel\":" + quoteJson(kernel->kernel) +
                 member("blocks", kernel->blocks) +
                 member("threads", kernel->threads);
  if (!launch.cost.family.empty())
    arguments +=
        member("launch", static_cast<int64_t>(launch.cost.group)) +
        rateMembers(launch.cost, limits, groupSeconds(times, at, index));
  if (limits.usesTensorCores)
    arguments += format(",\"tensor_cores\":%s",
                        *limits.usesTensorCores ? "true" : "false");
  if (limits.alignment)
    arguments += member("operand_alignment", *limits.alignment);
  bool isBeside = function.isGraph &&
                  std::holds_alternative<CollectiveLaunch>(launch.action);
  return eventText(launch.name, launch.cost.family,
                   isBeside ? collectiveTrack : launchTrack,
                   microseconds(time.begin - origin),
                   microseconds(time.end - time.begin), arguments);
}

/// Milliseconds, to be appended to an object.
static std::string graphMembers(const GraphSums &sums,
                                const std::vector<double> &graphSeconds) {
  std::string text;
  if (!graphSeconds.empty())
    text += member("graph_ms", medianOf(graphSeconds) * 1e3) +
            member("graph_steps", static_cast<int64_t>(graphSeconds.size()));
  if (sums.isGraph)
    text += member("timed_graph_ms", sums.seconds * 1e3) +
            member("idle_ms", sums.idle * 1e3);
  return text;
}

std::string honert::chromeTrace(const StepTimes &times, const Program &program,
                                const Executor &executor) {
  const std::vector<FunctionTimes> &step = times.latest();
  GraphSums sums = sumGraphs(step);
  std::string text = format(
      "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"model\":%s,\"machine\":%s,"
      "\"library\":%s,\"steps\":%zu%s},\"traceEvents\":[\n",
      quoteJson(program.text("model")).c_str(),
      quoteJson(executor.machineText()).c_str(),
      quoteJson(executor.libraryVersion()).c_str(), times.steps(),
      graphMembers(sums, executor.graphSeconds()).c_str());
  std::vector<std::string> events;
  if (sums.isGraph)
    events = {trackText(launchTrack, "launches"),
              trackText(collectiveTrack, "collectives"),
              trackText(gapTrack, "idle")};
  std::optional<TimePoint> origin; // the first launch begins
  for (size_t at = 0; at != step.size(); ++at) {
    const FunctionTimes &function = step[at];
    for (size_t i = 0; i != function.launches.size(); ++i) {
      if (!origin)
        origin = function.launches[i].begin;
      events.push_back(launchText(times, at, i, *origin, executor));
    }
    for (const Gap &gap : findGaps(function))
      events.push_back(gapText(gap, *origin));
  }
  for (size_t i = 0; i != events.size(); ++i)
    text += events[i] + (i + 1 != events.size() ? ",\n" : "\n");
  return text + "]}\n";
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

namespace {
/// All launches of one name.
struct Sum {
  std::string name;
  double seconds = 0;
  int64_t calls = 0;
  double bytes = 0, flops = 0; ///< zero: unknown
};
} // namespace

static std::vector<Sum> sumByName(const StepTimes &times) {
  std::map<std::string, Sum> byName;
  for (size_t at = 0; at != times.latest().size(); ++at)
    for (size_t i = 0; i != times.latest()[at].launches.size(); ++i) {
      const Launch &launch = *times.latest()[at].launches[i].launch;
      Sum &sum = byName[launch.name];
      sum.name = launch.name;
      sum.seconds += times.medianSeconds(at, i);
      ++sum.calls;
      if (launch.cost.part == 0) {
        sum.bytes += static_cast<double>(launch.cost.bytes);
        sum.flops += static_cast<double>(launch.cost.flops);
      }
    }
  std::vector<Sum> sums;
  for (const auto &entry : byName)
    sums.push_back(entry.second);
  std::sort(sums.begin(), sums.end(), [](const Sum &x, const Sum &y) {
    return x.seconds != y.seconds ? x.seconds > y.seconds : x.name < y.name;
  });
  return sums;
}

/// `work` per second in units of `unit`, or "-".
static std::string rateText(double work, double seconds, double unit) {
  if (work <= 0 || seconds <= 0)
    return "-";
  double rate = work / seconds / unit;
  return format(rate < 10 ? "%.2f" : "%.0f", rate);
}

static std::string rowText(const Sum &sum, double total) {
  return format("%10.3f %6.1f%% %7lld %7s %8s  %s\n", sum.seconds * 1e3,
                total > 0 ? 100 * sum.seconds / total : 0,
                static_cast<long long>(sum.calls),
                rateText(sum.bytes, sum.seconds, 1e9).c_str(),
                rateText(sum.flops, sum.seconds, 1e12).c_str(),
                sum.name.c_str());
}

/// "graph: 1.234 ms a step as replayed (median of 7), 1.345 ms with times of
/// launches, 0.012 ms of it idle (0.9%)", and the largest gaps.
static std::string graphText(const GraphSums &sums,
                             const std::vector<double> &graphSeconds) {
  std::string text;
  if (!graphSeconds.empty())
    text = format("graph: %.3f ms a step as replayed (median of %zu)",
                  medianOf(graphSeconds) * 1e3, graphSeconds.size());
  if (!sums.isGraph)
    return text.empty() ? "" : text + "; launches were timed one by one\n";
  text += format("%s%.3f ms with times of launches, %.3f ms of it idle (%.1f%%)"
                 "\n",
                 text.empty() ? "graph: " : ", ", sums.seconds * 1e3,
                 sums.idle * 1e3,
                 sums.seconds > 0 ? 100 * sums.idle / sums.seconds : 0);
  constexpr size_t shown = 5;
  if (!sums.gaps.empty())
    text += format("%10s %7s  %s\n", "idle ms", "%", "largest gaps");
  for (size_t i = 0; i != std::min(shown, sums.gaps.size()); ++i) {
    const auto &[gap, function] = sums.gaps[i];
    double seconds = secondsOf(gap);
    text += format("%10.3f %6.1f%%  %s: after %s, before %s\n", seconds * 1e3,
                   100 * seconds / sums.seconds, function->name.c_str(),
                   gap.before->name.c_str(), gap.after->name.c_str());
  }
  return text;
}

std::string honert::profileTable(const StepTimes &times,
                                 const std::vector<double> &graphSeconds) {
  std::vector<Sum> sums = sumByName(times);
  Sum all = {
      times.steps() == 1
          ? "all launches of a step"
          : format("all launches of a step (medians of %zu)", times.steps())};
  for (const Sum &sum : sums) {
    all.seconds += sum.seconds;
    all.calls += sum.calls;
    all.bytes += sum.bytes;
    all.flops += sum.flops;
  }
  std::string text = format("%10s %7s %7s %7s %8s  %s\n", "ms", "%", "calls",
                            "GB/s", "TFLOP/s", "launch");
  for (const Sum &sum : sums)
    text += rowText(sum, all.seconds);
  return text + rowText(all, all.seconds) +
         graphText(sumGraphs(times.latest()), graphSeconds);
}
