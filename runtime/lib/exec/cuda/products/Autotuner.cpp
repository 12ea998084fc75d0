//===- Autotuner.cpp - Times the algorithms of a product ------------------===//

#include "exec/cuda/products/Autotuner.h"
#include "base/Philox.h"

#include <algorithm>
#include <cmath>

using namespace honert;

// The heuristic's order is rough: the fastest may stand behind its first eight.
constexpr int mostCandidates = 16;
constexpr int mostRounds = 9, leastRounds = 3;
/// Seconds after which a product is measured well enough.
constexpr double productSeconds = 0.1;
/// Seconds after which a program should start: the products that are left have
/// few candidates and few rounds.
constexpr double programSeconds = 3;
constexpr int lateCandidates = 4;
/// Seconds of work until an idle GPU has its highest clocks.
constexpr double clockSeconds = 0.15;

struct Autotuner::Candidate {
  cublasLtMatmulAlgo_t algorithm;
  std::vector<double> samples; ///< seconds

  /// Interrupted runs do not count, as they would in a mean.
  double median() const {
    std::vector<double> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    return sorted[(sorted.size() - 1) / 2];
  }
  double least() const {
    return *std::min_element(samples.begin(), samples.end());
  }
};

Status Autotuner::start() {
  int bytes = 0;
  HONERT_TRY(device.attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, bytes,
                              "the cache of the GPU"));
  l2Bytes = bytes;
  // A program may leave no room: then small products are timed in a hot L2.
  (void)others.allocate(device, 2 * l2Bytes, "memory to empty the L2").ok();
  events.resize(2 * mostCandidates);
  for (DeviceEvent &event : events)
    HONERT_TRY(event.create(device, /*timed=*/true));
  return Status();
}

bool Autotuner::isLate() const { return spentSeconds > programSeconds; }

int Autotuner::candidates() const {
  return isLate() ? lateCandidates : mostCandidates;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

// A GPU spends power where bits change, and lowers its clocks for it: memory of
// zeros, which a driver may give, is multiplied up to 13 % faster than weights.

/// Nearly normal, as activations and weights are, and never zero.
static double randomNumber(uint32_t number) {
  double sum = -2;
  for (uint32_t word : philox({number, 0, 0, 0}, philoxKey(1)))
    sum += word * 0x1p-32;
  return std::fabs(sum) < 0x1p-10 ? 0x1p-10 : sum;
}

/// Random numbers to be repeated: not at a power of two, so that rows differ.
/// Bytes are scales of MX (UE8M0), all 1: others could be no number.
const std::vector<char> &Autotuner::patternOf(DType dtype) {
  constexpr size_t bytes = 4099 * 256;
  std::vector<char> &pattern = patterns[dtype];
  if (pattern.empty()) {
    pattern.resize(bytes);
    auto width = static_cast<size_t>(byteWidth(dtype));
    for (size_t i = 0; i != bytes / width; ++i)
      storeElement(dtype, &pattern[i * width],
                   dtype == DType::i8 ? 127
                                      : randomNumber(static_cast<uint32_t>(i)));
  }
  return pattern;
}

/// Copies the pattern, then what is filled behind itself until all is.
Status Autotuner::fill(const ReadOperand &operand) {
  const std::vector<char> &pattern = patternOf(operand.dtype);
  auto bytes = static_cast<size_t>(operand.bytes);
  size_t filled = std::min(bytes, pattern.size());
  const DriverFunctions &driver = device.functions();
  CUresult result = driver.cuMemcpyHtoDAsync_v2(operand.address, pattern.data(),
                                                filled, device.stream());
  while (result == CUDA_SUCCESS && filled != bytes) {
    size_t count = std::min(filled, bytes - filled);
    result = driver.cuMemcpyDtoDAsync_v2(
        operand.address + filled, operand.address, count, device.stream());
    filled += count;
  }
  return device.check(result, "operands cannot be filled");
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// Waits for the end.
static Status secondsBetween(const DeviceEvent &begin, const DeviceEvent &end,
                             double &seconds) {
  HONERT_TRY(end.wait());
  return begin.secondsTo(end, seconds);
}

/// The first run of an algorithm loads its kernels, which is not to be timed,
/// and shows whether it runs at all: those that do not are dropped.
Status Autotuner::runEach(const TunedProduct &product,
                          std::vector<Candidate> &candidates) {
  HONERT_TRY(events[0].record());
  Status failure;
  auto fails = [&](const Candidate &candidate) {
    Status status = product.enqueue(candidate.algorithm);
    if (!status.ok())
      failure = status;
    return !status.ok();
  };
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(), fails),
                   candidates.end());
  HONERT_TRY(events[1].record());
  double seconds = 0;
  HONERT_TRY(secondsBetween(events[0], events[1], seconds));
  spentSeconds += seconds;
  return candidates.empty() ? failure : Status();
}

/// An idle GPU has low clocks, and would show the first product's candidates
/// slower the earlier they run. Products that are too short for the clocks to
/// matter leave the rest to later ones.
Status Autotuner::warmUp(const TunedProduct &product,
                         const cublasLtMatmulAlgo_t &algorithm) {
  for (int runs = 1; runs <= 512 && warmSeconds < clockSeconds; runs *= 2) {
    HONERT_TRY(events[0].record());
    for (int i = 0; i != runs; ++i)
      HONERT_TRY(product.enqueue(algorithm));
    HONERT_TRY(events[1].record());
    double seconds = 0;
    HONERT_TRY(secondsBetween(events[0], events[1], seconds));
    warmSeconds += seconds;
  }
  return Status();
}

/// In a step, weights and saved activations were last used many kernels ago;
/// only the end of what the kernel before wrote may be in the L2. Repeated runs
/// would find all of a small product there. Large ones overwrite the L2
/// themselves. It also keeps the GPU busy while the host prepares a short run.
Status Autotuner::evict(const TunedProduct &product) {
  if (others.bytes() == 0 || product.bytes >= 2 * l2Bytes)
    return Status();
  return device.check(device.functions().cuMemsetD8Async(
                          others.at(0), 0, static_cast<size_t>(others.bytes()),
                          device.stream()),
                      "the L2 cannot be emptied");
}

/// A sample of every candidate, one after the other: where clocks change with
/// time or heat, they change for all.
Status Autotuner::timeRound(const TunedProduct &product,
                            std::vector<Candidate> &candidates) {
  for (size_t i = 0; i != candidates.size(); ++i) {
    HONERT_TRY(evict(product));
    HONERT_TRY(events[2 * i].record());
    HONERT_TRY(product.enqueue(candidates[i].algorithm));
    HONERT_TRY(events[2 * i + 1].record());
  }
  for (size_t i = 0; i != candidates.size(); ++i) {
    double seconds = 0;
    HONERT_TRY(secondsBetween(events[2 * i], events[2 * i + 1], seconds));
    candidates[i].samples.push_back(seconds);
    spentSeconds += seconds;
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

template <typename Candidates> static auto findFastest(Candidates &candidates) {
  return std::min_element(
      candidates.begin(), candidates.end(),
      [](const auto &a, const auto &b) { return a.median() < b.median(); });
}

/// Drops those whose best run is slower than the fastest one's median by 50 %
/// after one round, by 10 % after five: the more samples, the less noise.
template <typename Candidates>
static void prune(Candidates &candidates, int round) {
  double limit = (1 + 0.5 / round) * findFastest(candidates)->median();
  candidates.erase(
      std::remove_if(candidates.begin(), candidates.end(),
                     [&](const auto &each) { return each.least() > limit; }),
      candidates.end());
}

Status Autotuner::timeRounds(const TunedProduct &product,
                             std::vector<Candidate> &candidates) {
  double start = spentSeconds;
  for (int round = 1; round <= mostRounds; ++round) {
    HONERT_TRY(timeRound(product, candidates));
    prune(candidates, round);
    bool isEnough = isLate() || spentSeconds - start > productSeconds;
    if (candidates.size() == 1 || (round >= leastRounds && isEnough))
      break;
  }
  return Status();
}

Status Autotuner::choose(const TunedProduct &product,
                         const std::vector<cublasLtMatmulAlgo_t> &algorithms,
                         TimedAlgorithm &fastest) {
  for (const ReadOperand &operand : product.operands)
    HONERT_TRY(fill(operand));
  std::vector<Candidate> candidates;
  for (const cublasLtMatmulAlgo_t &algorithm : algorithms)
    candidates.push_back({algorithm, {}});
  HONERT_TRY(runEach(product, candidates));
  HONERT_TRY(warmUp(product, candidates.front().algorithm));
  HONERT_TRY(timeRounds(product, candidates));
  auto best = findFastest(candidates);
  fastest = {best->algorithm, static_cast<int64_t>(best->samples.size()),
             best->median()};
  return Status();
}
