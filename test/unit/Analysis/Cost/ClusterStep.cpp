//===- ClusterStep.cpp - How long a step takes on a cluster ---------------===//

#include "ClusterStep.h"

#include "hone/Analysis/Pipeline/Generate.h"
#include "hone/Analysis/Pipeline/Timeline.h"
#include "hone/Sharding/IR/Sharding.h"

using namespace hone;
using namespace hone::dist;

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
// Seconds
//===----------------------------------------------------------------------===//

namespace {
/// Of a rank's share of a layer and a micro-batch.
struct Work {
  double products = 0, elements = 0;

  double seconds() const { return products + elements; }
};

class StepModel {
public:
  StepModel(const DecoderShape &decoder, const ParallelStep &step,
            const Cluster &cluster)
      : decoder(decoder), step(step), cluster(cluster),
        mesh({{"stage", step.pipeline, ""},
              {"data", step.data, ""},
              {"tensor", step.tensor, ""}},
             cluster.network) {}

  StepSeconds estimate() const;

private:
  enum Axis : unsigned { Stage, Data, Tensor };

  double tokens() const {
    return double(step.microBatch) * double(decoder.sequence);
  }
  /// Of the residual stream.
  double streamBytes() const { return 2 * tokens() * double(decoder.width); }
  double layersPerRank() const {
    return double(decoder.layers) / double(step.pipeline);
  }
  /// Of a rank's stage; those of the ends have the tables besides.
  double parametersPerRank() const {
    return decoder.parameters() / double(step.tensor * step.pipeline);
  }

  double productSeconds(double flops) const;
  Work scores() const;
  Work forward() const;
  Work backward() const;
  Work head() const;
  double tensorRounds() const;
  double tensorSeconds() const;
  double stageSeconds() const;
  double bubbleSeconds() const;
  double sumSeconds() const;
  double gatherSeconds() const;
  double updateSeconds() const;

  const DecoderShape &decoder;
  const ParallelStep &step;
  const Cluster &cluster;
  Mesh mesh;
};
} // namespace

double StepModel::productSeconds(double flops) const {
  return flops / double(step.tensor) / (cluster.peakFlops * cluster.efficiency);
}

/// What lies between the two products of attention, and these.
Work StepModel::scores() const {
  double count = tokens() * double(decoder.sequence * decoder.heads);
  return {productSeconds(4 * tokens() * double(decoder.sequence) *
                         double(decoder.width)),
          count * step.bytesPerScore / double(step.tensor) /
              cluster.memoryBandwidth};
}

/// Bytes per element in a 16-bit type: a norm reads and writes it (4), a
/// residual sum with dropout reads two, writes one and a mask (7), each twice
/// in a layer and on every rank unless it divides sequences. On parts of the
/// tensor axis: bias and order of queries, keys and values (4 each), the
/// activation (4, of two matrices 6).
Work StepModel::forward() const {
  double t = double(step.tensor);
  double whole = 22 * double(decoder.width) / (step.dividesSequence ? t : 1);
  double parts = (12 * double(decoder.width) +
                  (decoder.isGated ? 6 : 4) * double(decoder.innerWidth())) /
                 t;
  Work work;
  work.products = productSeconds(tokens() * decoder.layerFlopsPerToken());
  work.elements =
      tokens() * (whole + parts) / cluster.memoryBandwidth + scores().elements;
  return work;
}

/// Twice the forward pass, and what is computed again.
Work StepModel::backward() const {
  Work once = forward(), again;
  if (step.recomputed == Recomputed::Layers)
    again = once;
  else if (step.recomputed == Recomputed::Scores)
    again = scores();
  return {2 * once.products + again.products,
          2 * once.elements + again.elements};
}

/// Products, and logits written and read by the loss in both directions.
Work StepModel::head() const {
  return {productSeconds(3 * tokens() * decoder.headFlopsPerToken()),
          tokens() * double(decoder.vocabulary) / double(step.tensor) * 16 /
              cluster.memoryBandwidth};
}

/// Of a layer and a micro-batch: two sums in each direction, and those of what
/// is computed again.
double StepModel::tensorRounds() const {
  return step.recomputed == Recomputed::Layers ? 6 : 4;
}

/// Where sequences are divided a sum is a gather and a scatter.
double StepModel::tensorSeconds() const {
  Group group = mesh.group({Tensor});
  double rounds = tensorRounds();
  double bytes = streamBytes();
  if (!step.dividesSequence)
    return rounds * secondsOf(CollectiveKind::allReduce, group, bytes);
  return rounds * (secondsOf(CollectiveKind::reduceScatter, group, bytes) +
                   secondsOf(CollectiveKind::allGather, group,
                             bytes / double(step.tensor)));
}

/// Of a micro-batch: each chunk sends its activations on and their gradients
/// back; ranks of the tensor axis a part each.
double StepModel::stageSeconds() const {
  return 2 * double(step.chunks) *
         secondsOf(CollectiveKind::shift, mesh.group({Stage}),
                   streamBytes() / double(step.tensor));
}

/// What the last rank, which has the head, waits for others: 1F1B or its
/// interleaved form. Messages are part of the work of those who send them.
double StepModel::bubbleSeconds() const {
  pipeline::ScheduleChoice choice;
  if (step.chunks > 1)
    choice = {pipeline::ScheduleKind::Interleaved, int(step.chunks)};
  pipeline::Schedule schedule =
      pipeline::placeTransfers(pipeline::generateSchedule(
          choice, int(step.pipeline), int(step.microBatches())));
  double layers = layersPerRank(), message = stageSeconds() / 2;
  double tensor = layers * tensorSeconds(), ahead = 2 / tensorRounds();
  pipeline::ChunkSeconds rank;
  rank.forward = layers * forward().seconds() + tensor * ahead + message;
  rank.backward =
      layers * backward().seconds() + tensor * (1 - ahead) + message;
  pipeline::ScheduleSeconds seconds = pipeline::equalSeconds(schedule, rank);
  seconds.chunks.back().forward += head().seconds() / 3;
  seconds.chunks.back().backward += head().seconds() * 2 / 3;
  return pipeline::runSchedule(schedule, seconds)
      .idle(schedule.shape.rankOf(schedule.shape.chunks() - 1));
}

/// Sums copies of gradients.
double StepModel::sumSeconds() const {
  return secondsOf(CollectiveKind::allReduce, mesh.group({Data}),
                   2 * parametersPerRank());
}

/// What gathers of parameters and scatters of gradients, one per layer, add to
/// a step. Each direction takes as long as the longest of its work, its
/// collectives inside the group of parts, and sums between such groups; the
/// first gather and the last scatter have nothing beside them.
double StepModel::gatherSeconds() const {
  Group parts = mesh.group({Data}), copies;
  if (step.state == StateParts::Node) {
    copies = parts;
    copies.perNode = 1;
    parts.nodes = 1;
  }
  double layers = layersPerRank(), bytes = 2 * parametersPerRank() / layers;
  double share = bytes / double(parts.ranks());
  double gather = secondsOf(CollectiveKind::allGather, parts, share);
  double scatter = secondsOf(CollectiveKind::reduceScatter, parts, bytes);
  double sum = secondsOf(CollectiveKind::allReduce, copies, share);
  double ahead = forward().seconds(), back = backward().seconds();
  double head = this->head().seconds() / layers; // its part
  auto exposed = [&](bool reduces) {
    double backSeconds = back + head * 2 / 3;
    double exchanged = gather + (reduces ? scatter : 0);
    double extra =
        std::max(gather - ahead - head / 3, 0.0) +
        std::max(std::max(exchanged, reduces ? sum : 0) - backSeconds, 0.0);
    return layers * extra + gather + (reduces ? scatter : 0);
  };
  double microBatches = double(step.microBatches());
  return step.reducesEachTime
             ? microBatches * exposed(true)
             : (microBatches - 1) * exposed(false) + exposed(true);
}

/// Adam: master and two moments in f32 are read and written, the gradient read,
/// the weight written.
double StepModel::updateSeconds() const {
  Group group = mesh.group({Data});
  double parts = step.state == StateParts::Copies ? 1
                 : step.state == StateParts::All  ? double(group.ranks())
                                                  : double(group.perNode);
  return 28 * parametersPerRank() / parts / cluster.memoryBandwidth;
}

StepSeconds StepModel::estimate() const {
  double microBatches = double(step.microBatches()), layers = layersPerRank();
  Work layer = forward(), back = backward(), end = head();
  StepSeconds seconds;
  seconds.products =
      microBatches * (layers * (layer.products + back.products) + end.products);
  seconds.elements =
      microBatches * (layers * (layer.elements + back.elements) + end.elements);
  seconds.tensor = microBatches * layers * tensorSeconds();
  seconds.stages = microBatches * stageSeconds();
  seconds.bubble = bubbleSeconds();
  seconds.data =
      step.state == StateParts::Copies ? sumSeconds() : gatherSeconds();
  seconds.update = updateSeconds();
  return seconds;
}

StepSeconds hone::estimateStep(const DecoderShape &decoder,
                               const ParallelStep &step,
                               const Cluster &cluster) {
  return StepModel(decoder, step, cluster).estimate();
}
