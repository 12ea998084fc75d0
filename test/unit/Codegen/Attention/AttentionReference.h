//===- AttentionReference.h - Attention in double precision -----*- C++ -*-===//
//
// The definition of attention and of its gradients, in plain loops that share
// no code with the kernels.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TEST_KERNELS_ATTENTIONREFERENCE_H
#define HONE_TEST_KERNELS_ATTENTIONREFERENCE_H

#include "AttentionCase.h"

namespace hone::test {

/// Word `index mod 4` of Philox4x32-10, straight from the paper.
uint32_t philoxWord(uint64_t index, uint64_t salt, const int64_t key[3]);

/// Results in double precision, row-major.
struct Reference {
  std::vector<double> result, lse, queryGrad, keyGrad, valueGrad;
};

/// The definition; or what flash attention in a narrow type makes of it, which
/// rounds the operands of each product and the results, but nothing else.
Reference computeReference(AttentionCase &c, Element element = Element::F32);

} // namespace hone::test

#endif // HONE_TEST_KERNELS_ATTENTIONREFERENCE_H
