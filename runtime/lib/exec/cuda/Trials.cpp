//===- Trials.cpp - Parts that runs on a GPU rely on, by themselves -------===//

#include "exec/cuda/Executor.h"
#include "exec/cuda/collectives/Probe.h"
#include "exec/cuda/compare/ReferenceProduct.h"
#include "exec/cuda/core/Upload.h"

#include <chrono>
#include <cmath>
#include <functional>
#include <random>

using namespace honert;

// Of different sizes, all multiples of 8.
static constexpr int64_t m = 32, n = 48, k = 64, batches = 3;

// Where the tensors lie, of 8 bytes an element at most.
static constexpr int64_t aAt = 0, bAt = aAt + 8 * batches * m * k,
                         cAt = bAt + 8 * batches * k * n,
                         addendAt = cAt + 8 * batches * m * n,
                         biasAt = addendAt + 8 * batches * m * n,
                         auxAt = biasAt + 8 * n, sumsAt = auxAt + 8 * m * n,
                         aScalesAt = sumsAt + 8 * (m + n),
                         bScalesAt = aScalesAt + 512,
                         arenaBytes = bScalesAt + 512;

namespace {
struct Types {
  const char *name;
  DType operand, result;
  bool tf32;
};

struct ProductKind {
  const char *name;
  Activation activation;
  Sums sums;
  bool hasBias, hasAddend, isBatched;
};

/// Runs a small product of every kind that the compiler emits: types, TF32,
/// layouts of the operands, a batch, an addend, each epilogue.
class ProductTrials {
public:
  ProductTrials(const Device &device, const ThreadPool &pool)
      : device(device), pool(pool), before(arenaBytes) {}

  Status run(std::vector<std::pair<std::string, std::string>> &rows);

private:
  Status runTypes(const Types &types,
                  std::vector<std::pair<std::string, std::string>> &rows);
  Status runCodes(std::vector<std::pair<std::string, std::string>> &rows);
  Status tryOne(MatmulLaunches &library, const MatmulLaunch &launch,
                bool withSums, std::string &outcome);
  void fill(DType operand, DType result);
  Status upload();

  const Device &device;
  const ThreadPool &pool;
  DeviceMemory arena;
  std::vector<char> before; ///< what the arena holds before each product
};
} // namespace

static constexpr Types allTypes[] = {
    {"f32", DType::f32, DType::f32, false},
    {"tf32", DType::f32, DType::f32, true},
    {"bf16", DType::bf16, DType::bf16, false},
    {"bf16 to f32", DType::bf16, DType::f32, false},
    {"f16", DType::f16, DType::f16, false},
    {"f16 to f32", DType::f16, DType::f32, false}};

static constexpr ProductKind allKinds[] = {
    {"plain", Activation::none, Sums::none, false, false, false},
    {"batched", Activation::none, Sums::none, false, false, true},
    {"added", Activation::none, Sums::none, false, true, false},
    {"bias", Activation::none, Sums::none, true, false, false},
    {"bias, added", Activation::none, Sums::none, true, true, false},
    {"gelu", Activation::gelu, Sums::none, false, false, false},
    {"gelu, bias", Activation::gelu, Sums::none, true, false, false},
    {"gelu_aux", Activation::geluAux, Sums::none, false, false, false},
    {"gelu_aux, bias", Activation::geluAux, Sums::none, true, false, false},
    {"gelu_bwd", Activation::geluBwd, Sums::none, false, false, false},
    {"gelu_bwd, sums", Activation::geluBwd, Sums::ofResult, false, false,
     false},
    {"sums of A", Activation::none, Sums::ofA, false, false, false},
    {"sums of B", Activation::none, Sums::ofB, false, false, false}};

/// Products of codes: each recipe's forward, and with f32 results for sums of
/// gradients.
struct CodesKind {
  const char *name;
  ScaleMode a, b;
  DType operandB, result;
  bool hasAddend, isFast;
};

static constexpr CodesKind allCodes[] = {
    {"tensor", ScaleMode::tensor, ScaleMode::tensor, DType::f8e4m3, DType::bf16,
     false, false},
    {"tensor, fast", ScaleMode::tensor, ScaleMode::tensor, DType::f8e4m3,
     DType::bf16, false, true},
    {"tensor by e5m2, added", ScaleMode::tensor, ScaleMode::tensor,
     DType::f8e5m2, DType::f32, true, false},
    {"1x128 by 128x128", ScaleMode::vector128, ScaleMode::block128,
     DType::f8e4m3, DType::bf16, false, false},
    {"1x128, added", ScaleMode::vector128, ScaleMode::vector128, DType::f8e4m3,
     DType::f32, true, false},
    {"1x32", ScaleMode::vector32, ScaleMode::vector32, DType::f8e4m3,
     DType::bf16, false, false},
    {"1x32, added", ScaleMode::vector32, ScaleMode::vector32, DType::f8e4m3,
     DType::f32, true, false}};

static MatmulLaunch launchOf(const Types &types, const ProductKind &kind,
                             bool transposesA, bool transposesB) {
  MatmulLaunch launch = {};
  launch.batch = kind.isBatched ? batches : 1;
  launch.m = m, launch.n = n, launch.k = k;
  launch.strides = {m * k,
                    transposesA ? 1 : k,
                    transposesA ? m : 1,
                    k * n,
                    transposesB ? 1 : n,
                    transposesB ? k : 1,
                    m * n,
                    n,
                    1,
                    m * n,
                    n,
                    1};
  launch.operand = types.operand;
  launch.result = types.result;
  launch.a = aAt, launch.b = bAt, launch.c = cAt;
  launch.bias = kind.hasBias ? biasAt : -1;
  launch.addend = kind.hasAddend ? addendAt : -1;
  launch.activation = kind.activation;
  launch.summed = kind.sums;
  bool hasAux = kind.activation == Activation::geluAux ||
                kind.activation == Activation::geluBwd;
  launch.aux = hasAux ? auxAt : -1;
  launch.auxStride = hasAux ? n : 0;
  launch.sums = kind.sums == Sums::none ? -1 : sumsAt;
  return launch;
}

/// Random numbers of the types of operands and results.
void ProductTrials::fill(DType operand, DType result) {
  std::mt19937 random(1);
  std::normal_distribution<double> numbers;
  auto fillFrom = [&](int64_t begin, int64_t end, DType type) {
    for (int64_t at = begin; at != end; at += byteWidth(type))
      storeElement(type, before.data() + at, numbers(random));
  };
  fillFrom(aAt, cAt, operand);
  fillFrom(cAt, arenaBytes, result);
}

Status ProductTrials::upload() {
  Upload upload(device, pool);
  HONERT_TRY(upload.copy(before.data(), arena.at(0), arenaBytes));
  return device.synchronize("a product's operands");
}

Status ProductTrials::tryOne(MatmulLaunches &library,
                             const MatmulLaunch &launch, bool withSums,
                             std::string &outcome) {
  LibraryProduct product;
  HONERT_TRY(planProduct("trial", launch, withSums, product));
  HONERT_TRY(upload());
  bool isKnown = false;
  HONERT_TRY(library.attempt(product, arena, isKnown));
  outcome = isKnown ? "ok" : "absent";
  if (!isKnown)
    return Status();
  std::vector<char> should = before, seen(before.size());
  HONERT_TRY(device.download(seen.data(), arena.at(0), arenaBytes,
                             "a product's result"));
  for (const Expected &expected :
       referenceProduct(launch, library.roundsToTf32(), should.data(), pool)) {
    const char *from = seen.data() + expected.tensor.offset;
    const char *wanted = should.data() + expected.tensor.offset;
    Difference difference = compare(expected, from, wanted);
    if (difference.wrong > 0)
      outcome =
          format("element %lld is ", static_cast<long long>(difference.first)) +
          difference.text(expected, from, wanted);
  }
  return Status();
}

Status ProductTrials::runTypes(
    const Types &types,
    std::vector<std::pair<std::string, std::string>> &rows) {
  MatmulLaunches library(device, {types.tf32, /*deterministic=*/false});
  MatmulWorkspace workspace;
  workspace.add(launchOf(types, allKinds[0], false, false));
  HONERT_TRY(library.start(workspace));
  fill(types.operand, types.result);
  for (const ProductKind &kind : allKinds)
    for (int layout = 0; layout != 4; ++layout) {
      bool transposesA = layout & 1, transposesB = layout & 2;
      bool hasSums = kind.sums != Sums::none;
      if (hasSums && !hasSumsEpilogue(types.result, kind.activation, kind.sums,
                                      kind.hasBias))
        continue;
      auto &[name, outcome] = rows.emplace_back();
      name = format("%s %c%c %s", types.name, transposesA ? 'T' : 'N',
                    transposesB ? 'T' : 'N', kind.name);
      MatmulLaunch launch = launchOf(types, kind, transposesA, transposesB);
      HONERT_TRY(tryOne(library, launch, hasSums, outcome));
    }
  return Status();
}

static MatmulLaunch launchOf(const CodesKind &kind) {
  Types types = {"", DType::f8e4m3, kind.result, false};
  ProductKind plain = allKinds[0];
  plain.hasAddend = kind.hasAddend;
  MatmulLaunch launch = launchOf(types, plain, false, /*transposesB=*/true);
  launch.scales = {
      {kind.a, aScalesAt}, {kind.b, bScalesAt}, kind.operandB, kind.isFast};
  return launch;
}

/// "absent": the GPU or the library is too old for a mode, or too new.
Status ProductTrials::runCodes(
    std::vector<std::pair<std::string, std::string>> &rows) {
  MatmulLaunches library(device, {/*tf32=*/false, /*deterministic=*/false});
  MatmulWorkspace workspace;
  workspace.add(launchOf(allCodes[0]));
  Status started = library.start(workspace);
  for (const CodesKind &kind : allCodes) {
    auto &[name, outcome] = rows.emplace_back();
    name = format("fp8 %s", kind.name);
    outcome = "absent"; // where the library does not start, too
    if (!started.ok())
      continue;
    fill(DType::f8e4m3, kind.result);
    bool isMx = kind.a == ScaleMode::vector32;
    for (int64_t at = aScalesAt; at != arenaBytes; at += isMx ? 1 : 4)
      storeElement(isMx ? DType::i8 : DType::f32, before.data() + at,
                   isMx ? 127 - at % 7 : std::ldexp(1, -int(at / 4 % 7)));
    HONERT_TRY(tryOne(library, launchOf(kind), false, outcome));
  }
  return Status();
}

Status
ProductTrials::run(std::vector<std::pair<std::string, std::string>> &rows) {
  HONERT_TRY(arena.allocate(device, arenaBytes, "products to be tried"));
  for (const Types &types : allTypes)
    HONERT_TRY(runTypes(types, rows));
  HONERT_TRY(runCodes(rows));
  for (const auto &[name, outcome] : rows)
    if (outcome != "ok" && outcome != "absent")
      return Status::error("product " + name + ": " + outcome);
  return Status();
}

/// A row per kind: "ok", "absent" where the library has none (the runtime then
/// makes several calls), or how the result differs from the host's.
static TrialResult tryProducts(const Device &device, const ThreadPool &pool) {
  TrialResult result;
  result.name = "products";
  result.status = ProductTrials(device, pool).run(result.rows);
  if (!result.status.ok() && !result.rows.empty() &&
      result.rows.back().second.empty())
    result.rows.back().second = result.status.message();
  return result;
}

//===----------------------------------------------------------------------===//
// All parts
//===----------------------------------------------------------------------===//

std::vector<TrialResult> CudaExecutor::tryParts() {
  using Clock = std::chrono::steady_clock;
  std::vector<TrialResult> results;
  auto time = [&](const std::function<TrialResult()> &trial) {
    Clock::time_point begin = Clock::now();
    results.push_back(trial());
    results.back().seconds =
        std::chrono::duration<double>(Clock::now() - begin).count();
  };
  time([&] { return tryProducts(device, pool); });
  time([&] {
    TrialResult result{"slots", staging.check(memory, deviceArena)};
    return result;
  });
  time([&] {
    TrialResult result{"nccl", Status()};
    std::string report;
    NcclFunctions nccl;
    if (!nccl.open().ok()) {
      result.rows = {{"library", "absent"}};
      return result;
    }
    result.status = probeNccl(report);
    for (size_t begin = 0; begin < report.size();) {
      size_t end = report.find('\n', begin);
      result.rows.emplace_back(report.substr(begin, end - begin), "ok");
      begin = end + 1;
    }
    return result;
  });
  return results;
}
