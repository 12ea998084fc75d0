//===- Collectives.h - What kinds of collectives do -------------*- C++ -*-===//
//
// Facts that the compiler's cost model, the checks of programs and the
// benchmark of links share.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_BASE_COLLECTIVES_H
#define HONERT_BASE_COLLECTIVES_H

#include "base/Enumerations.h"

namespace honert {

/// What a collective of n ranks does with what each rank gives.
struct CollectiveFacts {
  enum Result { likeInput, allInputs, blockOfInput };

  Result result;    ///< how many elements each rank gets
  bool combines;    ///< elements of the ranks are added up, or the like
  bool splitsInput; ///< a rank gives a block of elements for each rank
  int64_t rounds;   ///< of n - 1 steps, around a ring; 0: one step to one rank
  bool sendsBlocks; ///< a step sends the n-th part of what a rank gives
};

constexpr CollectiveFacts factsOf(CollectiveKind kind) {
  using Facts = CollectiveFacts;
  switch (kind) { //         result, combines, splitsInput, rounds, sendsBlocks
  case CollectiveKind::allReduce:
    return {Facts::likeInput, true, false, 2, true};
  case CollectiveKind::allGather:
    return {Facts::allInputs, false, false, 1, false};
  case CollectiveKind::reduceScatter:
    return {Facts::blockOfInput, true, true, 1, true};
  case CollectiveKind::allToAll:
    return {Facts::likeInput, false, true, 1, true};
  case CollectiveKind::shift:
    return {Facts::likeInput, false, false, 0, false};
  }
  return {};
}

/// Bytes, or elements, that each of `ranks` ranks gets.
constexpr int64_t resultSize(CollectiveKind kind, int64_t ranks, int64_t size) {
  switch (factsOf(kind).result) {
  case CollectiveFacts::likeInput:
    break;
  case CollectiveFacts::allInputs:
    return size * ranks;
  case CollectiveFacts::blockOfInput:
    return size / ranks;
  }
  return size;
}

/// How often each rank waits for another one.
constexpr int64_t stepsOf(CollectiveKind kind, int64_t ranks) {
  int64_t rounds = factsOf(kind).rounds;
  return rounds != 0 ? rounds * (ranks - 1) : ranks > 1;
}

/// Bytes that each of `ranks` ranks sends, of `bytes` that it gives.
constexpr double bytesSent(CollectiveKind kind, int64_t ranks, double bytes) {
  auto steps = static_cast<double>(stepsOf(kind, ranks));
  return factsOf(kind).sendsBlocks ? steps / static_cast<double>(ranks) * bytes
                                   : steps * bytes;
}

} // namespace honert

#endif // HONERT_BASE_COLLECTIVES_H
