//===- TargetDescription.cpp - The machine that passes decide for ---------===//

#include "hone/Analysis/TargetDescription.h"

using namespace mlir;
using namespace hone;

// CPU figures are those of two cores with AVX-512 (docs/benchmarks/cpu.md);
// CUDA figures those published for one H200: matrix products 794.5 Tflop/s in
// bf16, 3.8 TB/s in memory-bound kernels, 0.9 us per node of a graph.

double TargetDescription::matmulFlopsPerSecond(Type element) const {
  bool narrow = element.isBF16() || element.isF16();
  if (kind == TargetKind::CPU)
    return narrow ? 450e9 : 240e9;
  return narrow ? 794.5e12 : 50e12;
}

double TargetDescription::bytesPerSecond() const {
  return kind == TargetKind::CPU ? 50e9 : 3.8e12;
}

double TargetDescription::launchSeconds() const {
  return kind == TargetKind::CPU ? 0.5e-6 : 0.9e-6;
}

Epilogues TargetDescription::epilogues(Type element) const {
  Epilogues table;
  table.bias = table.addend = true;
  if (kind == TargetKind::CPU)
    return table;
  // cuBLASLt: GELU epilogues and bias gradients exist for 16-bit results; a
  // bias gradient in fp16 would overflow, its vector has the result's type.
  bool narrow = element.isBF16() || element.isF16();
  table.geluTanh = table.geluTanhBwd = narrow;
  table.biasGradient = element.isBF16();
  return table;
}

int64_t TargetDescription::paddingMultiple(Type element) const {
  if (kind == TargetKind::CPU)
    return 16; // one 512-bit vector of fp32
  return 64;   // 128 bytes of a 16-bit type: whole tiles and sectors
}

int64_t TargetDescription::lossChunkBytes() const {
  // What stays in a third-level cache of 32 MiB beside its readers; on a GPU
  // 4,096 rows of a vocabulary of 50,304 in bf16.
  return kind == TargetKind::CPU ? int64_t(16) << 20 : int64_t(412) << 20;
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
  return target;
}
