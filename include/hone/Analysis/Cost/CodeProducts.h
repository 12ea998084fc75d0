//===- CodeProducts.h - Which GPUs multiply codes of fp8 --------*- C++ -*-===//
//
// The only place that says which architectures have products of codes, for
// refusals and for estimates: TargetDescription has a rate for these, and 0 for
// others.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_COST_CODEPRODUCTS_H
#define HONE_ANALYSIS_COST_CODEPRODUCTS_H

#include "hone/IR/Hone.h"

namespace hone {

/// 90 of "sm_90a"; 0 of what is none.
int numberOfArch(llvm::StringRef arch);

/// Whether the library multiplies codes that are scaled so on a GPU of that
/// architecture.
bool hasCodeProducts(Fp8Scaling scaling, int arch);

/// The first architecture that has them.
int oldestArchOf(Fp8Scaling scaling);

} // namespace hone

#endif // HONE_ANALYSIS_COST_CODEPRODUCTS_H
