//===- Model.h - What dividing a model depends on ---------------*- C++ -*-===//
//
// A model as the search for a mesh sees it: a chain of units, each with its
// arithmetic, the bytes that it moves and keeps, and its parameters. Plain
// data; Sharding/Describe reads it from a graph.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_MESHSEARCH_MODEL_H
#define HONE_ANALYSIS_MESHSEARCH_MODEL_H

#include <cstdint>
#include <string>
#include <vector>

namespace hone::search {

/// Bytes of activations by the axes that divide them. All are divided where
/// sequences or positions are.
struct Activations {
  double stream = 0; ///< the residual stream and its norms: whole on each rank
                     ///< of `tp`, divided along it if it divides positions
  double gathered = 0; ///< of the stream, as products read it: whole on each
                       ///< rank of `tp` also if that divides positions
  double inner = 0;    ///< heads, hidden widths, logits: divided along `tp`
  double rows = 0;     ///< of experts, as wide as the stream: never along `tp`

  Activations &operator+=(const Activations &other) {
    stream += other.stream;
    gathered += other.gathered;
    inner += other.inner;
    rows += other.rows;
    return *this;
  }
};

/// How attention is computed: in one kernel, whose queries may begin at any
/// position, or as products and a softmax, whose scores are in memory.
enum class AttentionKernel : uint8_t { Fused, None };

/// A part of the forward pass between two values at which a pipeline may be
/// cut. FLOPs and bytes are those of one sequence, forward.
struct Unit {
  double productFlops = 0;
  double attentionFlops = 0;
  double attentionBackwardFlops = 0;
  /// Of attention as products and a softmax: scores, hidden ones among them,
  /// and FLOPs of the forward pass.
  double scores = 0;
  double scoreFlops = 0;
  double expertFlops = 0;
  /// What norms, maps and copies move.
  Activations moved;
  /// What is kept for the backward pass: what products and attention compute,
  /// and inputs of norms; and `cheap`, what norms and maps make of them.
  Activations saved, cheap;
  /// What gradients of weights are made of: gradients of the results of
  /// products with weights, and their operands; `cheap` ones besides.
  Activations results, operands, cheapOperands;
  /// What computing `cheap` again moves and, where attention is no kernel of
  /// its own, multiplies.
  Activations remade;
  double remadeFlops = 0;

  double parameters = 0;       ///< elements; divided along `tp`
  double expertParameters = 0; ///< divided along `ep` and `tp`
  int64_t sums = 0;            ///< of the stream over `tp` in the forward pass
  double keyBytes = 0;         ///< keys and values that attention reads
  double headBytes = 0;        ///< queries, keys, values and the result
  double rowBytes = 0;         ///< sent to experts, and back

  bool operator==(const Unit &other) const;
};

struct Model {
  std::string name;
  std::vector<Unit> units;  ///< in the order of the forward pass
  int64_t sequences = 1;    ///< of a step
  int64_t positions = 1;    ///< of a sequence
  double boundaryBytes = 0; ///< of the value between two units, one sequence
  double flops = 0;         ///< of a step's products and attention, for MFU
  /// Seconds of the products with dense weights over those that they would take
  /// in 16-bit types: below 1 where some are of codes of 8 bits.
  double productTime = 1;
  /// Those of products of experts, whose kernel has a rate of its own, over
  /// those of dense products of the same types.
  double expertTime = 1;

  // What sizes of axes must divide; 0: the model has none.
  int64_t heads = 0, keyHeads = 0;
  int64_t innerWidth = 0; ///< the greatest common divisor of what products that
                          ///< return to the stream contract
  int64_t experts = 0;
  AttentionKernel attention = AttentionKernel::Fused;
  bool isCausal = true;   ///< all attention is: positions can be divided evenly
  bool takesRings = true; ///< keys and values of all attention can go around

  // Bytes per parameter on a rank that has all of them.
  double weightBytes = 2;   ///< as products read them: what ranks gather
  double gradientBytes = 4; ///< as they are accumulated and summed
  double stateBytes = 14;   ///< weights, masters, moments

  double parameters() const;
  double tokens() const { return double(sequences) * double(positions); }
};

} // namespace hone::search

#endif // HONE_ANALYSIS_MESHSEARCH_MODEL_H
