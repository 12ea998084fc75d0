//===- CodeProducts.cpp - Which GPUs multiply codes of fp8 ----------------===//

#include "hone/Analysis/Cost/CodeProducts.h"

using namespace hone;

// By cuBLASLt's manual: one scale per tensor from Ada on, blocks on Hopper
// alone, MX from Blackwell on.
static std::pair<int, int> archsOf(Fp8Scaling scaling) {
  constexpr int any = std::numeric_limits<int>::max();
  switch (scaling) {
  case Fp8Scaling::tensor:
    return {89, any};
  case Fp8Scaling::block:
    return {90, 90};
  case Fp8Scaling::mx:
    return {100, any};
  }
  llvm_unreachable("unknown scaling");
}

int hone::numberOfArch(llvm::StringRef arch) {
  int number = 0;
  if (arch.consume_front("sm_"))
    arch.consumeInteger(10, number);
  return number;
}

bool hone::hasCodeProducts(Fp8Scaling scaling, int arch) {
  auto [oldest, newest] = archsOf(scaling);
  return oldest <= arch && arch <= newest;
}

int hone::oldestArchOf(Fp8Scaling scaling) { return archsOf(scaling).first; }
