//===- Bench.cpp - How fast ranks reach each other ------------------------===//

#include "comm/Bench.h"
#include "comm/Transport.h"
#include "core/Arena.h"
#include "core/Json.h"

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

using namespace honert;

LinkRate honert::fitLink(const std::vector<LinkSample> &samples) {
  // Unknown are x = latency and y = 1 / bandwidth in 1 = x * a + y * b.
  double aa = 0, ab = 0, bb = 0, a = 0, b = 0;
  for (const LinkSample &sample : samples) {
    double steps = sample.steps / sample.seconds;
    double sent = sample.sent / sample.seconds;
    aa += steps * steps, ab += steps * sent, bb += sent * sent;
    a += steps, b += sent;
  }
  double determinant = aa * bb - ab * ab;
  double x = determinant > 0 ? (a * bb - b * ab) / determinant : -1;
  double y = determinant > 0 ? (b * aa - a * ab) / determinant : -1;
  if (y < 0)
    x = aa > 0 ? a / aa : 0, y = 0;
  else if (x < 0)
    x = 0, y = bb > 0 ? b / bb : 0;
  return {x, y > 0 ? 1 / y : std::numeric_limits<double>::infinity()};
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
  if (kind == CollectiveKind::allGather)
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

/// What a ring sends and how often it waits for a neighbour.
static LinkSample ringOf(const CollectiveLaunch &launch, int64_t ranks,
                         double seconds) {
  double others = static_cast<double>(ranks - 1);
  double given = static_cast<double>(launch.inBytes());
  double part = given / static_cast<double>(ranks);
  switch (launch.kind) {
  case CollectiveKind::allReduce:
    return {2 * others, 2 * others * part, seconds};
  case CollectiveKind::allGather:
    return {others, others * given, seconds};
  case CollectiveKind::reduceScatter:
  case CollectiveKind::allToAll:
    return {others, others * part, seconds};
  case CollectiveKind::shift:
    break;
  }
  return {1, given, seconds};
}

namespace {
/// Runs collectives on memory of its own.
class Bench {
public:
  Bench(const Program &program, World &world)
      : program(program), world(world) {}

  Status start();
  /// Samples of all kinds and sizes along each list of axes; the first rank
  /// prints them.
  Status run();
  /// The first rank prints the rates.
  void printRates();
  Status writeLog(const std::string &path) const;

private:
  Status prepare(CollectiveKind kind, const Axes &axes);
  Status time(const Launch &launch, double &seconds);
  Status measure(const Launch &launch);

  const Program &program;
  World &world;
  std::unique_ptr<Transport> transport;
  Arena memory;
  std::deque<Launch> launches; // stay where they are
  std::map<Axes, std::vector<LinkSample>> samples;
  std::string log; ///< lines of JSON
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
    HONERT_TRY(makeDeviceTransport(program, world, 2 * mostBytes, transport));
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
  std::printf("%-10s %5lld  %-14s  %10s  %10.1f us  %8.3f GB/s\n",
              along.c_str(), static_cast<long long>(ranks),
              name(collective.kind), formatBytes(collective.inBytes()).c_str(),
              seconds * 1e6, sample.sent / seconds * 1e-9);
  log += format("{\"axes\":%s,\"ranks\":%lld,\"collective\":\"%s\","
                "\"bytes\":%lld,\"sent\":%.0f,\"seconds\":%.9g}\n",
                quoteJson(along).c_str(), static_cast<long long>(ranks),
                name(collective.kind),
                static_cast<long long>(collective.inBytes()), sample.sent,
                seconds);
  return Status();
}

Status Bench::run() {
  if (launches.empty())
    std::printf("this program has no collectives\n");
  else
    std::printf("%-10s %5s  %-14s  %10s  %13s  %13s\n", "axes", "ranks",
                "collective", "bytes", "time", "sent");
  for (const Launch &launch : launches)
    HONERT_TRY(measure(launch));
  return Status();
}

void Bench::printRates() {
  for (const auto &[axes, own] : samples) {
    LinkRate rate = fitLink(own);
    std::string along = program.mesh.text(axes);
    std::printf("%s: latency %.2e s, bandwidth %.2e bytes/s\n", along.c_str(),
                rate.latency, rate.bandwidth);
    log += format("{\"axes\":%s,\"latency\":%.4g,\"bandwidth\":%.4g}\n",
                  quoteJson(along).c_str(), rate.latency,
                  std::min(rate.bandwidth, 1e300));
  }
}

Status Bench::writeLog(const std::string &path) const {
  std::FILE *file = std::fopen(path.c_str(), "w");
  bool isWritten = file && std::fputs(log.c_str(), file) >= 0;
  if (file)
    isWritten &= std::fclose(file) == 0;
  return isWritten ? Status()
                   : Status::error(format("%s: cannot be written: %s",
                                          path.c_str(), std::strerror(errno)));
}

Status honert::benchCollectives(const Program &program, const Options &options,
                                World &world) {
  Bench bench(program, world);
  HONERT_TRY(world.agree(bench.start()));
  HONERT_TRY(bench.run());
  bench.printRates();
  bool writes = world.isFirst() && !options.log.empty();
  return world.agree(writes ? bench.writeLog(options.log) : Status());
}
