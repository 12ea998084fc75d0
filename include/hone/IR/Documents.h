//===- Documents.h - Documents packed into a row ----------------*- C++ -*-===//
//
// docs/rationale/packed-documents.md
//
//===----------------------------------------------------------------------===//

#ifndef HONE_IR_DOCUMENTS_H
#define HONE_IR_DOCUMENTS_H

#include "hone/IR/Hone.h"

namespace hone {

namespace attr {
/// On the module, after the step phase: causal attentions of the step in which
/// the documents of a row see one another.
constexpr llvm::StringLiteral crossingAttentions = "hone.crossing_attentions";
} // namespace attr

} // namespace hone

#endif // HONE_IR_DOCUMENTS_H
