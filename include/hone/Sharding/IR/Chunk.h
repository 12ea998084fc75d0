//===- Chunk.h - What a chunk of a pipeline is called -----------*- C++ -*-===//

#ifndef HONE_SHARDING_IR_CHUNK_H
#define HONE_SHARDING_IR_CHUNK_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace hone::dist {

/// A part of the model between two cuts, and what its functions and boundaries
/// are called. Chunks are numbered from the input of the model. A stage has
/// one, of its number, or several.
struct Chunk {
  int64_t number = 0;
  bool isStage = true; ///< stages have one each

  /// What it gets from the chunk before: "stage3", or "chunk3".
  std::string input() const {
    return (isStage ? "stage" : "chunk") + std::to_string(number);
  }
  /// What it hands back: the gradient of that.
  std::string inputGradient() const { return input() + ".grad"; }
  std::string output() const { return next().input(); }
  std::string outputGradient() const { return next().inputGradient(); }
  /// The gradients of `weight` that it adds up in a step, of a parameter that a
  /// chunk before it owns.
  std::string gradientSum(llvm::StringRef weight) const {
    return input() + "." + weight.str();
  }
  /// "forward", or "forward.3".
  std::string function(llvm::StringRef name) const {
    return name.str() + (isStage ? "" : "." + std::to_string(number));
  }
  Chunk next() const { return {number + 1, isStage}; }
};

/// Without its chunk: "forward" of "forward.3".
inline llvm::StringRef functionWithoutChunk(llvm::StringRef function) {
  llvm::StringRef name = function.rtrim("0123456789");
  return name != function && name.consume_back(".") ? name : function;
}

} // namespace hone::dist

#endif // HONE_SHARDING_IR_CHUNK_H
