//===- TargetDescription.cpp - The machine that passes decide for ---------===//

#include "hone/Analysis/Cost/TargetDescription.h"
#include "hone/Analysis/Cost/CodeProducts.h"
#include "hone/IR/Fp8.h"
#include "hone/Plan/AbiNumbers.h"

#include "base/DataSheet.h"
#include "base/ProductEpilogue.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace hone;

// CPU figures are those of two cores with AVX-512 (docs/benchmarks/cpu.md).

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

// Peaks are from NVIDIA's data sheets (base/DataSheet.h). What is reached was
// measured on an H200 (docs/benchmarks/gpu): in products of training steps, 580
// to 830 TFLOP/s, since it draws its 700 W in them; in memory-bound
// kernels, 3.5 to 4.1 TB/s. A100: the best published rate of products, and of
// memory an assumption. B200: shares of the H200 as published for the H100, 80
// % in products. f32 products: three quarters of the vector units' peak, an
// assumption. RTX 4090 and 5090: assumptions too, the same share of the data
// sheet on both, of memory an H200's. Products of 8-bit codes: on an H200, 1.82
// times the rate of bf16 with one scale per tensor, 1.62 with 1x128 by 128x128
// and 1.19 with 1x128 on both sides, as measured for layers of Llama 1B and 8B
// (docs/benchmarks/gpu, "Rates"). B200: 1.92 and with MX 1.83 times
// (TransformerEngine's benchmark, operands quantised before); others: 85 % of
// the data sheet's rate, which is twice that of bf16, and with MX a B200's
// share of that; these are not measured.
static constexpr honert::DataSheet ofA100 =
    *honert::findDataSheet("A100-SXM4-80GB");
static constexpr honert::DataSheet ofH200 = *honert::findDataSheet("H200");
static constexpr honert::DataSheet ofB200 = *honert::findDataSheet("B200");
static constexpr honert::DataSheet of4090 = *honert::findDataSheet("RTX 4090");
static constexpr honert::DataSheet of5090 = *honert::findDataSheet("RTX 5090");
static constexpr double gib = 1 << 30;
static constexpr DeviceFigures devices[] = {
    {"sm_80", "A100 SXM 80 GB", ofA100.narrow, 271e12, 14.6e12, 9e12,
     ofA100.bandwidth, 1.7e12, ofA100.gib *gib, ofA100.link, 0, 0, 0},
    {"sm_90", "H200 SXM", ofH200.narrow, 720e12, 50e12, 30e12, ofH200.bandwidth,
     3.8e12, ofH200.gib *gib, ofH200.link, 1310e12, 1166e12, 857e12,
     /*isMeasured=*/true},
    {"sm_100", "B200 SXM", ofB200.narrow, 1800e12, 60e12, 36e12,
     ofB200.bandwidth, 6.3e12, ofB200.gib *gib, ofB200.link, 3460e12, 3290e12,
     3290e12},
    {"sm_89", "RTX 4090", of4090.narrow, 160e12, 62e12, 37e12, of4090.bandwidth,
     0.8e12, of4090.gib *gib, of4090.link, 280e12, 0, 0},
    {"sm_120", "RTX 5090", of5090.narrow, 203e12, 79e12, 47e12,
     of5090.bandwidth, 1.42e12, of5090.gib *gib, of5090.link, 356e12, 339e12,
     339e12},
};

static const DeviceFigures &hopper() { return devices[1]; }

const DeviceFigures &TargetDescription::device() const {
  if (namedDevice)
    return *namedDevice;
  for (const DeviceFigures &figures : devices)
    if (figures.arch == arch)
      return figures;
  return hopper();
}

/// The table's device whose shares one of architecture `arch` reaches.
static const DeviceFigures &relativeOf(int arch) {
  return arch < 90 ? devices[0] : arch < 100 ? devices[1] : devices[2];
}

/// "sm_86", in static memory.
static StringRef nameOfArch(int arch) {
  switch (arch) {
  case 80:
    return "sm_80";
  case 86:
    return "sm_86";
  case 89:
    return "sm_89";
  case 90:
    return "sm_90";
  case 100:
    return "sm_100";
  case 103:
    return "sm_103";
  default:
    return "sm_120";
  }
}

/// The same, of products of codes, whose shares architectures do not share.
static const DeviceFigures &codesLike(int arch) {
  for (const DeviceFigures &figures : devices)
    if (figures.arch == nameOfArch(arch))
      return figures;
  return relativeOf(arch);
}

std::optional<DeviceFigures> hone::findDevice(StringRef name) {
  std::optional<honert::DataSheet> sheet =
      honert::findDataSheet({name.data(), name.size()});
  if (!sheet)
    return std::nullopt;
  const DeviceFigures &like = relativeOf(sheet->arch);
  if (like.narrowPeak == sheet->narrow && like.bytesPeak == sheet->bandwidth &&
      like.memoryBytes == sheet->gib * gib && like.link == sheet->link)
    return like;
  double narrow = sheet->narrow / like.narrowPeak;
  double bytes = sheet->bandwidth / like.bytesPeak;
  // Of f32 the table says what is reached; where a sheet does not say its peak,
  // it grows as products do.
  double wide = sheet->f32 > 0 ? sheet->f32 * 0.75 : like.wide * narrow;
  double maps = sheet->f32 > 0 ? sheet->f32 * 0.45 : like.maps * narrow;
  const DeviceFigures &kin = codesLike(sheet->arch);
  double codes = sheet->narrow / kin.narrowPeak;
  return DeviceFigures{nameOfArch(sheet->arch),
                       name,
                       sheet->narrow,
                       like.narrow * narrow,
                       wide,
                       maps,
                       sheet->bandwidth,
                       like.bytes * bytes,
                       sheet->gib * gib,
                       sheet->link,
                       kin.codes * codes,
                       kin.scaledCodes * codes,
                       kin.rowCodes * codes};
}

std::string hone::listDevices(StringRef name) {
  SmallVector<std::string> models, all;
  for (const honert::DataSheet &sheet : honert::dataSheets) {
    StringRef model(sheet.model.data(), sheet.model.size());
    all.push_back(model.str());
    if (!name.empty() && model.contains_insensitive(name))
      models.push_back(model.str());
  }
  return llvm::join(models.empty() ? all : models, ", ");
}

bool TargetDescription::hasFusedAttention(Operation *op) const {
  return kind == TargetKind::CPU || op->hasAttr(attr::workspace);
}

double TargetDescription::matmulFlopsPerSecond(Type element) const {
  bool codes = element && (element.isFloat8E4M3FN() || element.isFloat8E5M2());
  if (codes && kind == TargetKind::CUDA)
    return device().codes;
  bool narrow =
      hasNarrowUnits && (codes || element.isBF16() || element.isF16());
  if (kind == TargetKind::CPU)
    return narrow ? 450e9 : 240e9;
  return narrow ? device().narrow : device().wide;
}

/// The policy whose operands have such scales.
static Fp8Scaling scalingOf(honert::ScaleTile tile) {
  switch (tile) {
  case honert::ScaleTile::tensor:
    return Fp8Scaling::tensor;
  case honert::ScaleTile::row128:
  case honert::ScaleTile::block128:
    return Fp8Scaling::block;
  case honert::ScaleTile::row32:
    return Fp8Scaling::mx;
  }
  llvm_unreachable("unknown tile");
}

// A CPU multiplies codes as the bf16 that codes times scales are.
double TargetDescription::codeFlopsPerSecond(honert::ScaleTile lhs,
                                             honert::ScaleTile rhs) const {
  using honert::ScaleTile;
  if (kind == TargetKind::CPU)
    return hasNarrowUnits ? 450e9 : 240e9;
  if (!hasCodeProducts(scalingOf(lhs),
                       numberOfArch(arch.empty() ? device().arch : arch)))
    return 0;
  if (lhs == ScaleTile::tensor)
    return device().codes;
  bool areRows = lhs == ScaleTile::row128 && rhs == ScaleTile::row128;
  return areRows ? device().rowCodes : device().scaledCodes;
}

/// The tile that codes of a marked operand will have.
static honert::ScaleTile tileOf(Fp8Scaling scaling, FactorRole role) {
  using honert::ScaleTile;
  if (scaling == Fp8Scaling::tensor)
    return ScaleTile::tensor;
  if (scaling == Fp8Scaling::mx)
    return ScaleTile::row32;
  return role == FactorRole::weight ? ScaleTile::block128 : ScaleTile::row128;
}

// CPU: docs/rationale/attention.md. CUDA: causal, on an H200: measured for
// heads of 64 at T = 1024 and 2048 (247 to 339, 200 to 237), and cuDNN's
// published rates at T = 8192 for wider ones, at 794.5 TFLOP/s of products; on
// other devices the same shares of a product's rate, an assumption.
double TargetDescription::attentionFlopsPerSecond(Type element, int64_t width,
                                                  bool isBackward) const {
  bool isBf16 = hasNarrowUnits && element.isBF16();
  if (kind == TargetKind::CPU)
    return isBf16 ? 300e9 : 180e9;
  double onHopper = width <= 64 ? (isBackward ? 230e12 : 310e12)
                                : (isBackward ? 541e12 : 644e12);
  return matmulFlopsPerSecond(element) * onHopper / hopper().narrow;
}

double TargetDescription::contractionFlopsPerSecond(Operation *op) const {
  auto dot = dyn_cast<DotGeneralOp>(op);
  if (dot && dot.hasCodes())
    return codeFlopsPerSecond(dot.getLhsScaleLayout().tile,
                              dot.getRhsScaleLayout().tile);
  // Marks are for CPUs too, whose library has no other rate for them.
  if (dot && dot.getQuantized() && kind == TargetKind::CUDA) {
    QuantizedAttr mark = dot.getQuantizedAttr();
    return codeFlopsPerSecond(tileOf(mark.getScaling(), mark.getLhs()),
                              tileOf(mark.getScaling(), mark.getRhs()));
  }
  return matmulFlopsPerSecond(getElementTypeOrSelf(op->getOperand(0)));
}

double TargetDescription::bytesPerSecond() const {
  return kind == TargetKind::CPU ? 50e9 : device().bytes;
}

double TargetDescription::mapFlopsPerSecond() const {
  return kind == TargetKind::CPU ? 100e9 : device().maps;
}

// CUDA: published for a node of a graph.
double TargetDescription::launchSeconds() const {
  return kind == TargetKind::CPU ? 0.5e-6 : 0.9e-6;
}

//===----------------------------------------------------------------------===//
// Limits and libraries
//===----------------------------------------------------------------------===//

// A core adds column sums in its caches, behind hardware prefetchers that
// follow some 24 streams; a multiprocessor in registers and 227 KiB of shared
// memory, of which four sums of 16 Ki columns in fp32 leave room for nothing
// else.
RowLimits TargetDescription::rowLimits() const {
  if (kind == TargetKind::CPU)
    return {/*columnSums=*/8, /*summedCols=*/1 << 18, /*results=*/8,
            /*streams=*/24, /*rowBytes=*/1 << 20};
  return {/*columnSums=*/4, /*summedCols=*/1 << 14, /*results=*/4,
          /*streams=*/24, /*rowBytes=*/227 << 10};
}

// CUDA: a chunk is a block with a thread for 8 columns, in warps, and a
// multiprocessor has as many as its registers hold (sums of 8 columns take 8):
// they hide each other's barriers and waits for memory, and none is left for a
// second round. With two blocks of 96 threads, norm gradients of 768 columns
// ran at 42 % of a copy's rate on an H200; with eight, at 85 %.
int64_t TargetDescription::partialChunks(int64_t cols, int64_t sums,
                                         bool hasRowReductions) const {
  if (kind == TargetKind::CPU)
    return 64;
  constexpr int64_t multiprocessors = 132, registers = 1 << 16, all = 2048;
  int64_t threads = hasRowReductions ? registers / (56 + 8 * sums) : all;
  int64_t blockThreads = llvm::alignTo(std::max<int64_t>(1, cols / 8), 32);
  return multiprocessors * std::clamp<int64_t>(threads / blockThreads, 2, 8);
}

// oneDNN has GELU post-ops too, but cannot store their argument, which training
// reads: they are left out.
static Epilogues cpuEpilogues() {
  Epilogues table;
  table.bias = table.addend = 0.0;
  return table;
}

// cuBLASLt. Slow-downs are assumptions of the cost model, but for operand sums
// of 16-bit products, which took 40 and 60 % longer on an H200
// (docs/rationale/epilogues.md); where an architecture's library runs an
// epilogue as a kernel of its own, it has none.
static Epilogues cudaEpilogues(StringRef arch, Type operand, Type result) {
  Epilogues table;
  table.addend = 0.02;
  if (result.isF64())
    return table; // no other epilogue
  // Beside codes only a bias of 16 bits is the same in all versions: GELU has
  // restrictions that the manual leaves open, and operands' sums are of codes.
  if (isFp8(operand)) {
    if (result.isBF16())
      table.bias = 0.0;
    return table;
  }
  table.bias = 0.0;
  table.alignment = 8;
  bool isAmpere = arch == "sm_80" || arch == "sm_86";
  bool hasSeparateGelu = arch == "sm_89" || arch == "sm_120";
  if (operand == result && !hasSeparateGelu) {
    // Measured slower than a kernel of one's own before Hopper.
    table.gelu = table.geluAux = isAmpere ? 0.5 : 0.03;
    table.geluBwd = isAmpere ? 0.6 : 0.04;
  }
  auto sums = [&](honert::Activation activation, honert::Sums summed) {
    auto dtype = static_cast<honert::DType>(abi::dtype(result));
    return honert::hasSumsEpilogue(dtype, activation, summed, false);
  };
  if (sums(honert::Activation::none, honert::Sums::ofA))
    table.operandSums = isAmpere ? 0.6 : operand.isF32() ? 0.04 : 0.5;
  if (table.geluBwd &&
      sums(honert::Activation::geluBwd, honert::Sums::ofResult))
    table.geluBwdSums = *table.geluBwd + 0.02;
  return table;
}

Epilogues TargetDescription::epilogues(Type operand, Type result) const {
  if (!hasEpilogues)
    return {};
  return kind == TargetKind::CPU ? cpuEpilogues()
                                 : cudaEpilogues(arch, operand, result);
}

int64_t TargetDescription::paddingMultiple(Type element) const {
  if (kind == TargetKind::CPU)
    return 16; // one 512-bit vector of fp32
  return 64;   // 128 bytes of a 16-bit type: whole tiles and sectors
}

// CPU: measured (docs/rationale/padding.md): the last vector of a row of the
// result is masked, 1 % of one product of three. CUDA: rows that are no
// multiple of 16 bytes cannot be loaded by tensor-core kernels in vectors (40 %
// in a report of 2020), others than 128 bytes lose whole swizzled tiles;
// assumptions of the cost model until they are measured.
double TargetDescription::misalignment(Type element, int64_t size) const {
  int64_t bytes = size * elementByteWidth(element);
  if (kind == TargetKind::CPU)
    return bytes % 64 == 0 ? 0.0 : 0.004;
  if (bytes % 128 == 0)
    return 0.0;
  return bytes % 16 == 0 ? 0.02 : 0.4;
}

FailureOr<TargetDescription> hone::getTarget(ModuleOp module) {
  TargetDescription target;
  auto name = module->getAttrOfType<StringAttr>(attr::target);
  if (!name)
    return target;
  auto [kind, arch] = name.getValue().split(' ');
  target.arch = arch.str();
  if (kind == "cuda")
    target.kind = TargetKind::CUDA;
  else if (kind != "cpu")
    return module.emitError(attr::target)
           << " is '" << name.getValue() << "', expected 'cpu' or 'cuda'";
  auto device = module->getAttrOfType<StringAttr>(deviceAttr);
  if (!device || target.kind == TargetKind::CPU)
    return target;
  target.namedDevice = findDevice(device.getValue());
  if (!target.namedDevice)
    return module.emitError(deviceAttr)
           << " is '" << device.getValue() << "', expected a GPU of the data "
           << "sheets: " << listDevices(device.getValue());
  return target;
}
