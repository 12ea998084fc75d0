//===- ClusterStep.h - How long a step takes on a cluster -------*- C++ -*-===//
//
// An analytic model of a training step of a decoder: what published runs are
// compared with (docs/benchmarks/cluster-model.md). It looks at no graph, so
// that schemes can be weighed which the compiler does not make, as pipelines.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TEST_UNIT_ANALYSIS_COST_CLUSTERSTEP_H
#define HONE_TEST_UNIT_ANALYSIS_COST_CLUSTERSTEP_H

#include "hone/Analysis/Cost/Cluster.h"

namespace hone {

/// A decoder-only transformer in a 16-bit type.
struct DecoderShape {
  int64_t layers, width, heads, sequence, vocabulary;
  int64_t feedForward = 0; ///< 0: 4 * width
  bool isGated = false;    ///< three matrices in place of two, as in Llama
  bool isTied = true;      ///< the head is the table of embeddings

  int64_t innerWidth() const { return feedForward ? feedForward : 4 * width; }
  /// Elements of a layer's matrices.
  double layerMatrices() const;
  /// All parameters; norms and biases are those of a GPT, with its table of
  /// positions, or of a Llama, without, where it is gated.
  double parameters() const;
  /// Of one layer, forward; all scores are counted, as in the tables.
  double layerFlopsPerToken() const;
  double headFlopsPerToken() const;
  /// Forward and backward, nothing computed twice: what MFU divides.
  double modelFlopsPerToken() const;
};

/// What the backward pass computes again.
enum class Recomputed { Nothing, Scores, Layers };

/// How ranks of the data axis hold parameters, gradients and state: copies;
/// each a part; or each a part among those of its node.
enum class StateParts { Copies, All, Node };

/// How a step is divided among ranks. Those that differ in the tensor axis
/// alone are next to each other, then those of the data axis, then pipeline
/// stages.
struct ParallelStep {
  int64_t batch;      ///< sequences of all ranks
  int64_t microBatch; ///< sequences of a rank at a time
  int64_t tensor = 1, pipeline = 1, data = 1;
  int64_t chunks = 1; ///< of layers per rank, interleaved
  bool dividesSequence = false;
  Recomputed recomputed = Recomputed::Nothing;
  StateParts state = StateParts::Copies;
  /// Bytes that an attention score is read and written with, forward; 0 where
  /// attention is one kernel. 13: product, softmax, dropout and product.
  double bytesPerScore = 13;

  int64_t ranks() const { return tensor * pipeline * data; }
  int64_t microBatches() const { return batch / (data * microBatch); }
};

/// Seconds of a step, by what they go to, on the slowest stage.
struct StepSeconds {
  double products = 0; ///< at the cluster's efficiency
  double elements = 0; ///< norms, maps, scores: memory
  double tensor = 0;   ///< sums or gathers and scatters of activations
  double stages = 0;   ///< activations sent between stages
  double bubble = 0;   ///< the pipeline fills and drains
  double data = 0;     ///< of parameters and gradients, what nothing hides
  double update = 0;

  double total() const {
    return products + elements + tensor + stages + bubble + data + update;
  }
};

/// Estimates a step. Copies of gradients are summed after the last micro-batch,
/// with nothing beside it; parts are gathered and scattered beside a layer's
/// work.
StepSeconds estimateStep(const DecoderShape &decoder, const ParallelStep &step,
                         const Cluster &cluster);

} // namespace hone

#endif // HONE_TEST_UNIT_ANALYSIS_COST_CLUSTERSTEP_H
