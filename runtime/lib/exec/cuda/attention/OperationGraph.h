//===- OperationGraph.h - A computation as cuDNN is told it ---------------===//
//
// Plain data. Descriptors.h makes the library's objects of it; the emulated
// library (lib/fake) makes it of such objects, and evaluates it.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_EXEC_CUDA_ATTENTION_OPERATIONGRAPH_H
#define HONERT_EXEC_CUDA_ATTENTION_OPERATIONGRAPH_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace honert {

/// A tensor of rank 4. One that is neither virtual nor passed by value is in
/// memory, at the address that the call gives for its id.
struct GraphTensor {
  int64_t id = 0;
  int dtype = 0; ///< CUDNN_DATA_...
  std::array<int64_t, 4> dims = {}, strides = {};
  int64_t alignment = 16; ///< bytes that divide its address
  bool isVirtual = false, isByValue = false;
};

struct GraphNode {
  enum class Kind { matmul, pointwise, reduction, reshape, rng };

  Kind kind = Kind::matmul;
  /// CUDNN_POINTWISE_... or CUDNN_REDUCE_TENSOR_...
  int mode = 0;
  /// Tensors of the graph. Of a pointwise node x, b and t (BINARY_SELECT is
  /// t ? x : b); of a random one seed and offset.
  std::vector<size_t> inputs;
  size_t output = 0;
  int computeType = 0;    ///< CUDNN_DATA_...
  int64_t axis = -1;      ///< of GEN_INDEX
  double probability = 0; ///< that a random element is 1
  /// Of a product: rows, columns and terms that count, tensors of a number per
  /// batch; -1: all. What lies beyond is undefined, or 0 with `fillsZero`.
  std::array<int64_t, 3> sizes = {-1, -1, -1};
  bool fillsZero = false;
};

/// Nodes in an order in which each reads what those before it write.
struct OperationGraph {
  std::vector<GraphTensor> tensors;
  std::vector<GraphNode> nodes;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_ATTENTION_OPERATIONGRAPH_H
