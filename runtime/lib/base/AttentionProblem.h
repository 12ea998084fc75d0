//===- AttentionProblem.h - What a call of fused attention computes -------===//
//
// The line of text that abi.def gives honert_attention, as plain data. Also
// read by hone-plan-attention, which asks cuDNN about it without a GPU.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_BASE_ATTENTIONPROBLEM_H
#define HONERT_BASE_ATTENTIONPROBLEM_H

#include "base/Status.h"
#include "base/Types.h"

#include <array>
#include <vector>

namespace honert {

/// Divides the offset of a workspace, and that of each part of it.
constexpr int64_t attentionAlignment = 256;

/// In the order of honert_attention's offsets: those up to lse forward, those
/// up to valueGrad backward, then the seed if there is dropout, and the lengths
/// if queries begin at a position that is read.
enum class AttentionOperand {
  query,
  key,
  value,
  result,
  lse,
  resultGrad,
  queryGrad,
  keyGrad,
  valueGrad,
  seed,
  lengths
};

/// An operand in memory: [batch, head, position, width] and element strides.
struct AttentionTensor {
  const char *name;
  DType dtype;
  std::array<int64_t, 4> dims, strides;
  bool isWritten;

  /// From the first element to the end of the last; -1: more than int64 holds.
  int64_t extentBytes() const;
};

struct AttentionProblem {
  /// Of batch, position and head; elements of a head lie side by side.
  struct Strides {
    int64_t batch = 0, position = 0, head = 0;
  };

  bool isBackward = false;
  DType dtype = DType::bf16; ///< of all operands but lse, seed and lengths
  int64_t batch = 0, queryHeads = 0, keyHeads = 0, queries = 0, keys = 0;
  int64_t width = 0, valueWidth = 0; ///< of query and key; of value and result
  double scale = 1;
  bool causal = false;
  /// Of a causal one: query t is at position keys - queries + t, by the numbers
  /// of a sequence's queries and keys that its lengths say. Keys after those
  /// are not seen, and their gradients are not written.
  bool readsLengths = false;
  double dropout = 0;
  bool deterministic = false;
  /// By operand; of lse, seed and lengths unused.
  std::array<Strides, 11> strides;

  /// Reads one line. Errors: the first word that is not what it should be, or
  /// a value out of range. What is read has sizes of 1 to 2^31 - 1, strides
  /// of 0 to 2^40, and written operands whose elements lie apart.
  static Status parse(const std::string &line, AttentionProblem &problem);
  /// The line that parse() reads.
  std::string text() const;

  /// The operands, in the order of the offsets.
  std::vector<AttentionOperand> operands() const;
  AttentionTensor tensor(AttentionOperand operand) const;
};

} // namespace honert

#endif // HONERT_BASE_ATTENTIONPROBLEM_H
