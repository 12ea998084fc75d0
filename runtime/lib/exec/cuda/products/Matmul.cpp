//===- Matmul.cpp - Matrix products by cuBLASLt ---------------------------===//

#include "exec/cuda/products/Matmul.h"

#include <algorithm>
#include <cstdio>

using namespace honert;

//===----------------------------------------------------------------------===//
// Workspace
//===----------------------------------------------------------------------===//

void MatmulWorkspace::addOnes(DType dtype, int64_t count) {
  int64_t &longest = dtype == DType::f32   ? ones32
                     : dtype == DType::f16 ? ones16
                                           : onesB16;
  longest = std::max(longest, count);
}

void MatmulWorkspace::add(const MatmulLaunch &launch) {
  isNeeded |= launch.batch * launch.m * launch.n != 0;
  hasCodes |= launch.scales.has_value();
  // Where the library has no epilogue for a bias, it is added by a product.
  if (launch.bias != -1 && launch.activation == Activation::none)
    addOnes(launch.result, launch.m);
  if (launch.summed == Sums::ofResult)
    addOnes(launch.result, launch.m);
  else if (launch.summed != Sums::none)
    addOnes(launch.operand, launch.k);
}

/// Vectors start where memory of the device does.
static int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

int64_t MatmulWorkspace::onesOffset(DType dtype) const {
  int64_t offset = algorithmBytes;
  if (dtype == DType::f32)
    return offset;
  offset += aligned(4 * ones32);
  return dtype == DType::f16 ? offset : offset + aligned(2 * ones16);
}

int64_t MatmulWorkspace::bytes() const {
  return isNeeded ? onesOffset(DType::bf16) + aligned(2 * onesB16) : 0;
}

Status MatmulLaunches::fillOnes() {
  const DriverFunctions &driver = device.functions();
  auto fill = [&](DType dtype, int64_t count, unsigned one) {
    if (count == 0)
      return Status();
    CUdeviceptr at = workspace.at(sizes.onesOffset(dtype));
    auto elements = static_cast<size_t>(count);
    return device.check(
        dtype == DType::f32
            ? driver.cuMemsetD32Async(at, one, elements, device.stream())
            : driver.cuMemsetD16Async(at, static_cast<unsigned short>(one),
                                      elements, device.stream()),
        "the workspace cannot be filled");
  };
  HONERT_TRY(fill(DType::f32, sizes.ones32, 0x3f800000));
  HONERT_TRY(fill(DType::f16, sizes.ones16, 0x3c00));
  return fill(DType::bf16, sizes.onesB16, 0x3f80);
}

//===----------------------------------------------------------------------===//
// Library
//===----------------------------------------------------------------------===//

MatmulLaunches::MatmulLaunches(const Device &device, MatmulOptions options)
    : device(device), options(options),
      cache(options.deterministic ? "" : AlgorithmCache::defaultPath()) {}

MatmulLaunches::~MatmulLaunches() {
  if (handle)
    (void)library.cublasLtDestroy(handle);
}

Status MatmulLaunches::start(const MatmulWorkspace &needed) {
  sizes = needed;
  if (!sizes.isNeeded)
    return Status();
  HONERT_TRY(library.open());
  if (sizes.hasCodes)
    HONERT_TRY(library.checkScales());
  cublasLtHandle_t made = nullptr;
  if (cublasStatus_t status = library.cublasLtCreate(&made);
      status != CUBLAS_STATUS_SUCCESS)
    return Status::error(format("%s does not start on GPU %s (status %d)",
                                library.versionText().c_str(),
                                device.name().c_str(), status));
  handle = made;
  HONERT_TRY(
      workspace.allocate(device, sizes.bytes(), "the library workspace"));
  return fillOnes();
}

std::string MatmulLaunches::versionText() const {
  return handle ? library.versionText() : "";
}

Status MatmulLaunches::startBeside() {
  return besideWorkspace.allocate(device, algorithmBytes,
                                  "the library workspace beside it");
}

Status MatmulLaunches::enqueue(const MatmulDescriptors &call, CUstream stream,
                               const DeviceMemory &algorithms) const {
  auto address = [&](int i) {
    return reinterpret_cast<void *>(call.addresses[i]);
  };
  float alpha = 1;
  return call.check(
      library.cublasLtMatmul(handle, call.desc, &alpha, address(0),
                             call.layouts[0], address(1), call.layouts[1],
                             &call.beta, address(2), call.layouts[2],
                             address(3), call.layouts[3], &call.algorithm,
                             reinterpret_cast<void *>(algorithms.at(0)),
                             static_cast<size_t>(algorithmBytes), stream),
      "run it");
}

namespace {
/// Calls that compute a launch.
struct Way {
  std::vector<LibraryProduct> products;
  bool needsActivation = false; ///< after the first
};

/// Of one launch: how it is computed, then how it is where the library lacks an
/// epilogue, which versions of it and GPUs differ in.
class Ways {
public:
  Ways(const std::string &name, const MatmulLaunch &launch, int64_t processors)
      : name(name), launch(launch), processors(processors) {}

  Status plan();
  std::vector<Way> all;

private:
  Status add(const MatmulLaunch &planned, bool withSums);
  Status addPlain();

  const std::string &name;
  const MatmulLaunch &launch;
  const int64_t processors;
};
} // namespace

Status Ways::add(const MatmulLaunch &planned, bool withSums) {
  Way way;
  LibraryProduct product;
  HONERT_TRY(planProduct(name, planned, withSums, product));
  way.products.push_back(product);
  way.needsActivation = planned.activation != launch.activation;
  if (planned.bias != launch.bias && !way.needsActivation)
    way.products.push_back(planBias(launch, product));
  if (launch.summed != Sums::none && !withSums)
    way.products.push_back(planSums(launch));
  for (LibraryProduct &each : way.products)
    each.processors = processors;
  all.push_back(std::move(way));
  return Status();
}

/// Without bias and activation, which the kernel does together.
Status Ways::addPlain() {
  MatmulLaunch plain = launch;
  plain.activation = Activation::none;
  plain.bias = plain.aux = -1;
  return add(plain, false);
}

Status Ways::plan() {
  if (hasSumsEpilogue(launch.result, launch.activation, launch.summed,
                      launch.bias != -1))
    HONERT_TRY(add(launch, true));
  // A bias beside codes is of bf16, also where their product is not.
  bool lacksBias =
      launch.scales && launch.bias != -1 && launch.result == DType::f32;
  if (!lacksBias)
    HONERT_TRY(add(launch, false));
  bool canBePlain = launch.activation == Activation::none
                        ? launch.bias != -1
                        : launch.activationKernel.has_value();
  return canBePlain ? addPlain() : Status();
}

Status MatmulLaunches::prepareAll(const std::string &name,
                                  const std::vector<LibraryProduct> &products,
                                  const DeviceMemory &arena, MatmulCalls &calls,
                                  bool &isKnown) {
  isKnown = true;
  for (size_t i = 0; i != products.size() && isKnown; ++i) {
    calls.products.push_back(std::make_unique<MatmulDescriptors>(library));
    MatmulDescriptors &call = *calls.products.back();
    HONERT_TRY(call.create(name, products[i], *this, arena));
    HONERT_TRY(choose(call, isKnown));
  }
  return Status();
}

Status MatmulLaunches::prepare(const std::string &name,
                               const MatmulLaunch &launch, int64_t processors,
                               const DeviceMemory &arena, MatmulCalls &calls) {
  if (launch.batch * launch.m * launch.n == 0)
    return Status(); // no element of the result
  Ways ways(name, launch, processors);
  HONERT_TRY(ways.plan());
  for (const Way &way : ways.all) {
    if (!calls.products.empty())
      tellOfFallback(*calls.products.back());
    calls.products.clear();
    calls.needsActivation = way.needsActivation;
    bool isKnown = false;
    HONERT_TRY(prepareAll(name, way.products, arena, calls, isKnown));
    if (isKnown)
      return Status();
  }
  return Status::error(lacks(*calls.products.back()));
}

Status MatmulLaunches::attempt(const LibraryProduct &product,
                               const DeviceMemory &arena, bool &isKnown) {
  MatmulDescriptors call(library);
  HONERT_TRY(call.create("attempt", product, *this, arena));
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  HONERT_TRY(askHeuristic(call, 1, algorithms));
  isKnown = !algorithms.empty();
  if (!isKnown)
    return Status();
  call.algorithm = algorithms.front();
  HONERT_TRY(enqueue(call));
  return device.synchronize("a product");
}

//===----------------------------------------------------------------------===//
// Algorithms
//===----------------------------------------------------------------------===//

/// The largest power of two up to 256 that divides an address.
static uint32_t alignmentOf(CUdeviceptr address) {
  uint32_t alignment = 256;
  while (address % alignment != 0)
    alignment /= 2;
  return alignment;
}

std::string MatmulLaunches::keyOf(const MatmulDescriptors &call) const {
  std::string key = library.versionText() + " | " + device.name() + " | " +
                    call.problem + (options.tf32 ? " tf32" : "") + " aligned";
  for (CUdeviceptr address : call.addresses)
    key += format(" %u", alignmentOf(address));
  return key;
}

Status
MatmulLaunches::askHeuristic(const MatmulDescriptors &call, int requested,
                             std::vector<cublasLtMatmulAlgo_t> &algorithms) {
  cublasLtMatmulPreference_t preference = nullptr;
  HONERT_TRY(call.check(library.cublasLtMatmulPreferenceCreate(&preference),
                        "make a preference"));
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    if (status == CUBLAS_STATUS_SUCCESS)
      status = library.cublasLtMatmulPreferenceSetAttribute(
          preference, attribute, &value, sizeof value);
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
      static_cast<uint64_t>(algorithmBytes));
  for (int i = 0; i != 4; ++i) // attributes of a, b, c and d follow each other
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + i,
        alignmentOf(call.addresses[i]));
  // A long sum may be split where the parts meet in the workspace, in f32 and
  // in one order.
  if (options.deterministic)
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  std::vector<cublasLtMatmulHeuristicResult_t> results(
      static_cast<size_t>(requested));
  int count = 0;
  bool isSet = status == CUBLAS_STATUS_SUCCESS;
  if (isSet)
    status = library.cublasLtMatmulAlgoGetHeuristic(
        handle, call.desc, call.layouts[0], call.layouts[1], call.layouts[2],
        call.layouts[3], preference, requested, results.data(), &count);
  (void)library.cublasLtMatmulPreferenceDestroy(preference);
  // Versions differ in which of the two an epilogue that they lack is.
  bool isAbsent = isSet && (status == CUBLAS_STATUS_NOT_SUPPORTED ||
                            status == CUBLAS_STATUS_INVALID_VALUE);
  if (!isAbsent)
    HONERT_TRY(call.check(status, "list algorithms"));
  results.resize(static_cast<size_t>(std::max(count, 0)));
  for (const cublasLtMatmulHeuristicResult_t &result : results)
    if (result.state == CUBLAS_STATUS_SUCCESS)
      algorithms.push_back(result.algo);
  return Status();
}

std::string MatmulLaunches::lacks(const MatmulDescriptors &call) const {
  return format("matmul %s: %s has no algorithm on GPU %s for %s",
                call.name.c_str(), library.versionText().c_str(),
                device.name().c_str(), call.problem.c_str());
}

void MatmulLaunches::tellOfFallback(const MatmulDescriptors &call) {
  if (!hasToldOfFallback)
    std::fprintf(stderr,
                 "warning: %s; products like it are several calls, which read "
                 "and write their result more than once\n",
                 lacks(call).c_str());
  hasToldOfFallback = true;
}

Status MatmulLaunches::tune(MatmulDescriptors &call,
                            const std::vector<cublasLtMatmulAlgo_t> &algorithms,
                            TimedAlgorithm &fastest) {
  auto run = [&](const cublasLtMatmulAlgo_t &algorithm) {
    call.algorithm = algorithm;
    return enqueue(call);
  };
  return tuner->choose({call.operands, call.bytes, run}, algorithms, fastest);
}

Status MatmulLaunches::startTuner() {
  if (tuner || options.deterministic)
    return Status();
  tuner = std::make_unique<Autotuner>(device);
  return tuner->start();
}

/// However short the run is that measures: what it measured is fair.
void MatmulLaunches::remember(
    const std::map<std::string, TimedAlgorithm> &algorithms) {
  for (const auto &[key, algorithm] : algorithms)
    if (algorithm.samples != 0)
      cache.add(key, algorithm);
}

void MatmulLaunches::finish() {
  remember(chosen);
  cache.save();
  tuner.reset();
}

/// What an earlier run found, if the library still accepts it.
bool MatmulLaunches::takeCached(const MatmulDescriptors &call,
                                const std::string &key,
                                TimedAlgorithm &algorithm) {
  std::optional<TimedAlgorithm> known = cache.find(key);
  cublasLtMatmulHeuristicResult_t result = {};
  if (!known ||
      library.cublasLtMatmulAlgoCheck(handle, call.desc, call.layouts[0],
                                      call.layouts[1], call.layouts[2],
                                      call.layouts[3], &known->algorithm,
                                      &result) != CUBLAS_STATUS_SUCCESS ||
      result.workspaceSize > static_cast<size_t>(algorithmBytes))
    return false;
  algorithm = *known;
  return true;
}

Status MatmulLaunches::find(MatmulDescriptors &call, const std::string &key,
                            TimedAlgorithm &algorithm, bool &isKnown) {
  isKnown = takeCached(call, key, algorithm);
  if (isKnown)
    return Status();
  HONERT_TRY(startTuner());
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  HONERT_TRY(askHeuristic(call, tuner ? tuner->candidates() : 8, algorithms));
  isKnown = !algorithms.empty();
  if (!isKnown)
    return Status();
  algorithm.algorithm = algorithms.front();
  return tuner && algorithms.size() > 1 ? tune(call, algorithms, algorithm)
                                        : Status();
}

Status MatmulLaunches::choose(MatmulDescriptors &call, bool &isKnown) {
  std::string key = keyOf(call);
  auto known = chosen.find(key);
  isKnown = known != chosen.end();
  if (!isKnown) {
    TimedAlgorithm algorithm;
    HONERT_TRY(find(call, key, algorithm, isKnown));
    if (!isKnown)
      return Status();
    known = chosen.emplace(key, algorithm).first;
  }
  call.algorithm = known->second.algorithm;
  return Status();
}

//===----------------------------------------------------------------------===//
// Several ranks
//===----------------------------------------------------------------------===//

Status MatmulLaunches::agree(ProcessGroup &world,
                             const std::vector<int64_t> &roots) {
  std::map<std::string, TimedAlgorithm> agreed;
  for (int64_t root : roots) {
    std::string text = root == world.rank() ? textOf(chosen) : "";
    auto bytes = static_cast<int64_t>(text.size());
    HONERT_TRY(world.broadcast(&bytes, sizeof bytes, root));
    text.resize(static_cast<size_t>(bytes));
    HONERT_TRY(world.broadcast(text.data(), bytes, root));
    agreed.merge(parseAlgorithms(text));
  }
  for (auto &[key, algorithm] : chosen)
    if (auto found = agreed.find(key); found != agreed.end())
      algorithm = found->second;
  // Ranks that write the file at once write the same, those of all stages: one
  // that was lost would be measured again, and may be another one then.
  remember(agreed);
  return Status();
}

void MatmulLaunches::adopt(MatmulCalls &calls) const {
  for (const auto &call : calls.products)
    call->algorithm = chosen.at(keyOf(*call)).algorithm;
}
