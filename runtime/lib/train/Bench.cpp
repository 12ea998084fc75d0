//===- Bench.cpp - How fast ranks reach each other ------------------------===//

#include "train/Bench.h"
#include "base/Arena.h"
#include "base/Collectives.h"
#include "base/Json.h"
#include "exec/cuda/collectives/Transport.h"
#include "train/Process.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <utility>

using namespace honert;

/// Samples from here on, less what equal blocks demand, tell a link's rate;
/// those up to the other its latency.
static constexpr double largeBytes = 15 << 20, smallBytes = 64 << 10;

/// That which samples follow with the least squares of relative errors.
static double fitLatency(const std::vector<LinkSample> &samples) {
  // Unknown are x = latency and y = 1 / bandwidth in 1 = x * a + y * b.
  double aa = 0, ab = 0, bb = 0, a = 0, b = 0;
  for (const LinkSample &sample : samples) {
    double steps = sample.steps / sample.seconds;
    double sent = sample.sent / sample.seconds;
    aa += steps * steps, ab += steps * sent, bb += sent * sent;
    a += steps, b += sent;
  }
  double determinant = aa * bb - ab * ab;
  if (determinant <= 0 || b * aa < a * ab) // no time is left for what is sent
    return a / aa;
  return std::max(0.0, (a * bb - b * ab) / determinant);
}

LinkRate honert::fitLink(const std::vector<LinkSample> &samples) {
  auto isLess = [](const LinkSample &a, const LinkSample &b) {
    return a.bytes < b.bytes;
  };
  auto [least, most] =
      std::minmax_element(samples.begin(), samples.end(), isLess);
  std::vector<LinkSample> small;
  double steps = 0, sent = 0, seconds = 0; // of large ones
  for (const LinkSample &sample : samples) {
    if (sample.bytes <= std::max(least->bytes, smallBytes))
      small.push_back(sample);
    if (sample.bytes >= std::min(most->bytes, largeBytes))
      steps += sample.steps, sent += sample.sent, seconds += sample.seconds;
  }
  double latency = fitLatency(small), left = seconds - steps * latency;
  return {latency,
          left > 0 ? sent / left : std::numeric_limits<double>::infinity()};
}

//===----------------------------------------------------------------------===//
// One collective
//===----------------------------------------------------------------------===//

static constexpr int64_t leastBytes = 1 << 10, mostBytes = 64 << 20;

/// The collective whose larger side has `bytes` bytes, or as many less as cuts
/// into equal blocks demand; a block has an element at least.
static CollectiveLaunch launchOf(CollectiveKind kind, const Axes &axes,
                                 int64_t ranks, int64_t bytes) {
  int64_t count =
      std::max<int64_t>(bytes / byteWidth(DType::f32) / ranks, 1) * ranks;
  if (factsOf(kind).result == CollectiveFacts::allInputs)
    count /= ranks;
  return {kind,
          ReduceKind::sum,
          /*amount=*/kind == CollectiveKind::shift,
          DType::f32,
          count,
          axes,
          0,
          /*out=*/mostBytes,
          -1};
}

/// Of the larger side.
static int64_t largerBytes(const CollectiveLaunch &launch, int64_t ranks) {
  return std::max(launch.inBytes(), launch.outBytes(ranks));
}

/// What a ring sends and how often it waits for a neighbour.
static LinkSample ringOf(const CollectiveLaunch &launch, int64_t ranks,
                         double seconds) {
  return {static_cast<double>(stepsOf(launch.kind, ranks)),
          bytesSent(launch.kind, ranks, static_cast<double>(launch.inBytes())),
          static_cast<double>(largerBytes(launch, ranks)), seconds};
}

namespace {
/// Runs collectives on memory of its own.
class Bench {
public:
  Bench(const Program &program, ProcessGroup &world)
      : program(program), world(world) {}

  Status start();
  /// Samples of all kinds and sizes along each list of axes; the first rank
  /// prints them.
  Status run();
  /// Fits the rates; the first rank prints them.
  void fit();
  /// The rates of each axis, as honec --cluster reads them, and the samples.
  Status writeLog(const std::string &path) const;

private:
  Status prepare(CollectiveKind kind, const Axes &axes);
  Status time(const Launch &launch, double &seconds);
  Status measure(const Launch &launch);
  std::map<std::string, LinkRate> ratesByAxis() const;
  std::string text() const;

  const Program &program;
  ProcessGroup &world;
  std::unique_ptr<Transport> transport;
  Arena memory;
  std::deque<Launch> launches; // stay where they are
  std::map<Axes, std::vector<LinkSample>> samples;
  std::map<Axes, LinkRate> rates;
  std::vector<std::string> lines; ///< the samples in JSON
};
} // namespace

Status Bench::prepare(CollectiveKind kind, const Axes &axes) {
  int64_t ranks = program.mesh.groupSize(axes);
  for (int64_t bytes = leastBytes; bytes <= mostBytes; bytes *= 4) {
    launches.push_back({"bench", "", launchOf(kind, axes, ranks, bytes)});
    HONERT_TRY(transport->prepare(launches.back()));
  }
  return Status();
}

Status Bench::start() {
  if (program.isForCuda())
    HONERT_TRY(makeGpuTransport(program, world, 2 * mostBytes, transport));
  else
    transport = world.makeTransport(program.mesh);
  if (!transport)
    return Status::error("--bench-collectives: this program is one rank");
  std::set<std::pair<Axes, CollectiveKind>> used;
  for (const Function &function : program.functions)
    for (const Launch &launch : function.launches)
      if (auto *collective = std::get_if<CollectiveLaunch>(&launch.action))
        if (program.mesh.groupSize(collective->axes) > 1)
          used.insert({collective->axes, collective->kind});
  for (const auto &[axes, kind] : used)
    HONERT_TRY(prepare(kind, axes));
  return memory.allocate(2 * mostBytes, "what --bench-collectives sends");
}

/// The median of some runs, of the slowest rank.
Status Bench::time(const Launch &launch, double &seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr double enough = 0.2; // s
  std::vector<double> times;
  int64_t runs = 0;
  for (int64_t i = 0; i <= runs; ++i) {
    HONERT_TRY(world.barrier());
    Clock::time_point begin = Clock::now();
    HONERT_TRY(transport->run(launch, memory.at(0)));
    std::chrono::duration<double> time = Clock::now() - begin;
    times.push_back(time.count());
    if (i > 0)
      continue;
    // The first run warms up; it tells how many there is time for.
    runs = std::clamp<int64_t>(std::llround(enough / time.count()), 5, 101);
    HONERT_TRY(world.broadcast(&runs, sizeof runs, 0));
    times.clear();
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2,
                   times.end());
  std::vector<double> all(static_cast<size_t>(world.size()));
  HONERT_TRY(
      world.allGather(&times[times.size() / 2], sizeof(double), all.data()));
  seconds = *std::max_element(all.begin(), all.end());
  return Status();
}

Status Bench::measure(const Launch &launch) {
  auto &collective = std::get<CollectiveLaunch>(launch.action);
  int64_t ranks = program.mesh.groupSize(collective.axes);
  std::string along = program.mesh.text(collective.axes);
  double seconds = 0;
  HONERT_TRY(time(launch, seconds));
  LinkSample sample = ringOf(collective, ranks, seconds);
  samples[collective.axes].push_back(sample);
  print(format("%-10s %5lld  %-14s  %10s  %10.1f us  %8.3f GB/s\n",
               along.c_str(), static_cast<long long>(ranks),
               name(collective.kind),
               formatBytes(largerBytes(collective, ranks)).c_str(),
               seconds * 1e6, sample.sent / seconds * 1e-9));
  lines.push_back(
      format("{\"axes\": %s, \"ranks\": %lld, \"collective\": \"%s\", "
             "\"bytes\": %.0f, \"sent\": %.0f, \"seconds\": %.9g}",
             quoteJson(along).c_str(), static_cast<long long>(ranks),
             name(collective.kind), sample.bytes, sample.sent, seconds));
  return Status();
}

Status Bench::run() {
  if (launches.empty())
    print("this program has no collectives\n");
  else
    print(format("%-10s %5s  %-14s  %10s  %13s  %13s\n", "axes", "ranks",
                 "collective", "size", "time", "rate"));
  for (const Launch &launch : launches)
    HONERT_TRY(measure(launch));
  return Status();
}

void Bench::fit() {
  for (const auto &[axes, own] : samples) {
    LinkRate rate = rates[axes] = fitLink(own);
    print(format("%s: latency %.2e s, bandwidth %.2e bytes/s\n",
                 program.mesh.text(axes).c_str(), rate.latency,
                 rate.bandwidth));
  }
}

/// As measured along each axis alone, or else the slowest of what was measured
/// along it and others.
std::map<std::string, LinkRate> Bench::ratesByAxis() const {
  std::map<std::string, LinkRate> all;
  for (const auto &[axes, rate] : rates)
    for (int64_t axis : axes) {
      auto [found, isNew] = all.try_emplace(program.mesh.text({axis}), rate);
      LinkRate &own = found->second;
      if (auto alone = rates.find({axis}); alone != rates.end())
        own = alone->second;
      else if (!isNew)
        own = {std::max(own.latency, rate.latency),
               std::min(own.bandwidth, rate.bandwidth)};
    }
  return all;
}

std::string Bench::text() const {
  std::string text = "{\"links\": {";
  const char *between = "\n  ";
  for (const auto &[axis, rate] : ratesByAxis()) {
    text += format("%s%s: {\"latency\": %.4g, \"bandwidth\": %.4g}", between,
                   quoteJson(axis).c_str(), rate.latency,
                   std::min(rate.bandwidth, 1e300));
    between = ",\n  ";
  }
  text += "},\n \"samples\": [";
  between = "\n  ";
  for (const std::string &line : lines)
    text += std::exchange(between, ",\n  ") + line;
  return text + "]}\n";
}

Status Bench::writeLog(const std::string &path) const {
  std::FILE *file = std::fopen(path.c_str(), "w");
  bool isWritten = file && std::fputs(text().c_str(), file) >= 0;
  if (file)
    isWritten &= std::fclose(file) == 0;
  return isWritten ? Status()
                   : Status::error(format("%s: cannot be written: %s",
                                          path.c_str(), std::strerror(errno)));
}

Status honert::benchCollectives(const Program &program, const Options &options,
                                ProcessGroup &world) {
  Bench bench(program, world);
  HONERT_TRY(world.agree(bench.start()));
  HONERT_TRY(bench.run());
  bench.fit();
  bool writes = world.isFirst() && !options.log.empty();
  return world.agree(writes ? bench.writeLog(options.log) : Status());
}
