//===- Profile.cpp - The launches of a step and their times ---------------===//

#include "train/Profile.h"
#include "base/Json.h"

#include <algorithm>

using namespace honert;

static double microseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

static double secondsOf(const LaunchTime &time) {
  return std::chrono::duration<double>(time.end - time.begin).count();
}

/// Seconds of all launches of the group that launch `index` belongs to. They
/// were made in turn.
static double groupSeconds(const std::vector<LaunchTime> &times, size_t index) {
  const LaunchCost &cost = times[index].launch->cost;
  size_t first = index - std::min(index, cost.part);
  size_t end = std::min(times.size(), first + cost.parts);
  double seconds = 0;
  for (size_t i = first; i != end; ++i)
    seconds += secondsOf(times[i]);
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

static std::string eventText(const std::vector<LaunchTime> &times, size_t index,
                             const Executor &executor) {
  const LaunchTime &time = times[index];
  const Launch &launch = *time.launch;
  LaunchLimits limits = executor.limitsOf(launch);
  std::string arguments = "\"location\":" + quoteJson(launch.location);
  if (auto *kernel = std::get_if<DeviceLaunch>(&launch.action))
    arguments += ",\"kernel\":" + quoteJson(kernel->kernel) +
                 member("blocks", kernel->blocks) +
                 member("threads", kernel->threads);
  if (!launch.cost.family.empty())
    arguments += rateMembers(launch.cost, limits, groupSeconds(times, index));
  if (limits.usesTensorCores)
    arguments += format(",\"tensor_cores\":%s",
                        *limits.usesTensorCores ? "true" : "false");
  if (limits.alignment)
    arguments += member("operand_alignment", *limits.alignment);
  return format("{\"name\":%s,\"cat\":%s,\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,"
                "\"pid\":1,\"tid\":1,\"args\":{%s}}",
                quoteJson(launch.name).c_str(),
                quoteJson(launch.cost.family).c_str(),
                microseconds(time.begin - times.front().begin),
                microseconds(time.end - time.begin), arguments.c_str());
}

std::string honert::chromeTrace(const std::vector<LaunchTime> &times,
                                const Program &program,
                                const Executor &executor) {
  std::string text = format(
      "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"model\":%s,\"machine\":%s,"
      "\"library\":%s},\"traceEvents\":[\n",
      quoteJson(program.text("model")).c_str(),
      quoteJson(executor.machineText()).c_str(),
      quoteJson(executor.libraryVersion()).c_str());
  for (size_t i = 0; i != times.size(); ++i)
    text +=
        eventText(times, i, executor) + (i + 1 != times.size() ? ",\n" : "\n");
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

static std::vector<Sum> sumByName(const std::vector<LaunchTime> &times) {
  std::map<std::string, Sum> byName;
  for (const LaunchTime &time : times) {
    const Launch &launch = *time.launch;
    Sum &sum = byName[launch.name];
    sum.name = launch.name;
    sum.seconds += secondsOf(time);
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

std::string honert::profileTable(const std::vector<LaunchTime> &times) {
  std::vector<Sum> sums = sumByName(times);
  Sum all = {"all launches of the last step"};
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
  return text + rowText(all, all.seconds);
}
