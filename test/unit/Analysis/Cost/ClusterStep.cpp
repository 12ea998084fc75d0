//===- ClusterStep.cpp - How long a step takes on a cluster ---------------===//

#include "ClusterStep.h"

#include "hone/Analysis/MeshSearch/Estimate.h"

using namespace hone;
using search::Part;

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

double DecoderShape::layerMatrices() const {
  double h = double(width);
  return 4 * h * h + (isGated ? 3 : 2) * h * double(innerWidth());
}

double DecoderShape::parameters() const {
  double h = double(width);
  double vectors = isGated ? 2 * h : 13 * h; // of a layer
  double tables = double(vocabulary) * h * (isTied ? 1 : 2);
  if (!isGated)
    tables += double(sequence) * h;
  return double(layers) * (layerMatrices() + vectors) + tables;
}

double DecoderShape::layerFlopsPerToken() const {
  return 2 * layerMatrices() + 4 * double(sequence) * double(width);
}

double DecoderShape::headFlopsPerToken() const {
  return 2 * double(width) * double(vocabulary);
}

double DecoderShape::modelFlopsPerToken() const {
  return 3 * (double(layers) * layerFlopsPerToken() + headFlopsPerToken());
}

//===----------------------------------------------------------------------===//
// As the search for a mesh sees it
//===----------------------------------------------------------------------===//

/// Bytes per element in a 16-bit type: a norm reads and writes it (4), a
/// residual sum with dropout reads two, writes one and a mask (7), each twice
/// in a layer and on every rank unless it divides sequences. On parts of the
/// tensor axis: bias and order of queries, keys and values (4 each), the
/// activation (4, of two matrices 6). Scores lie between the two products of
/// attention.
static search::Unit layerOf(const DecoderShape &decoder,
                            const ParallelStep &step) {
  double sequence = double(decoder.sequence), width = double(decoder.width);
  double inner = double(decoder.innerWidth());
  double scores =
      sequence * sequence * double(decoder.heads) * step.bytesPerScore;
  search::Unit layer;
  layer.productFlops = 2 * sequence * decoder.layerMatrices();
  layer.attentionFlops = 4 * sequence * sequence * width;
  layer.attentionBackwardFlops = 2 * layer.attentionFlops;
  layer.moved.stream = 22 * sequence * width;
  layer.moved.inner =
      sequence * (12 * width + (decoder.isGated ? 6 : 4) * inner) + scores;
  layer.remade.inner = scores;
  layer.remadeFlops = layer.attentionFlops;
  // Tables are spread over the layers.
  layer.parameters = decoder.parameters() / double(decoder.layers);
  layer.sums = 2;
  return layer;
}

/// Products, and logits written and read by the loss in both directions.
static search::Unit headOf(const DecoderShape &decoder) {
  double sequence = double(decoder.sequence);
  search::Unit head;
  head.productFlops = sequence * decoder.headFlopsPerToken();
  head.moved.inner = sequence * double(decoder.vocabulary) * 16 / 3;
  return head;
}

static search::Model modelOf(const DecoderShape &decoder,
                             const ParallelStep &step) {
  search::Model model;
  model.units.assign(size_t(decoder.layers), layerOf(decoder, step));
  model.units.push_back(headOf(decoder));
  model.sequences = step.batch;
  model.positions = decoder.sequence;
  model.boundaryBytes = 2 * double(decoder.sequence * decoder.width);
  model.gradientBytes = 2;
  return model;
}

static search::Plan planOf(const DecoderShape &decoder,
                           const ParallelStep &step, const Cluster &cluster) {
  search::Plan plan;
  plan.pp = step.pipeline;
  plan.dp = step.data;
  plan.tp = step.tensor;
  if (step.state != StateParts::Copies) {
    plan.state = search::StateLevel::Zero3;
    plan.fs = step.data;
    if (step.state == StateParts::Node)
      plan.fs = std::min(step.data, cluster.network.ranksPerNode / step.tensor);
    plan.dp = step.data / plan.fs;
  }
  plan.dividesPositions = step.dividesSequence;
  plan.microBatch = step.microBatch;
  plan.keep = step.recomputed == Recomputed::Layers   ? search::Keep::Borders
              : step.recomputed == Recomputed::Scores ? search::Keep::Products
                                                      : search::Keep::All;
  if (step.chunks > 1)
    plan.schedule = {pipeline::ScheduleKind::Interleaved, int(step.chunks)};
  // Chunks of as many layers each; the last has the head besides.
  int64_t chunks = step.pipeline * step.chunks;
  for (int64_t chunk = 1; chunk < chunks; ++chunk)
    plan.cuts.push_back(size_t(chunk * decoder.layers / chunks));
  return plan;
}

StepSeconds hone::estimateStep(const DecoderShape &decoder,
                               const ParallelStep &step,
                               const Cluster &cluster) {
  search::Model model = modelOf(decoder, step);
  search::Seconds parts = search::Estimator(model, cluster)
                              .estimate(planOf(decoder, step, cluster))
                              .seconds;
  StepSeconds seconds;
  seconds.products = parts[Part::Products];
  seconds.elements = parts[Part::Elements];
  seconds.tensor = parts[Part::Tensor];
  seconds.stages = parts[Part::Stages];
  seconds.bubble = parts[Part::Bubble];
  seconds.data = parts[Part::Data];
  seconds.update = parts[Part::Update];
  return seconds;
}
