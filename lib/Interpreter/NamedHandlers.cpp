//===- NamedHandlers.cpp - Handlers of named ops --------------------------===//

#include "Handlers.h"
#include "MergeAttention.h"

#include "hone/IR/MergeOps.h"
#include "hone/IR/QueryPositions.h"
#include "hone/Sharding/IR/RingOps.h"

#include <cmath>

using namespace mlir;
using namespace hone;
using namespace hone::interp;

template <typename OpTy>
static CrossEntropyOptions crossEntropyOptions(OpTy op) {
  return {op.getReduction(), int64_t(op.getIgnoreIndex()),
          op.getLabelSmoothing().convertToDouble(), int64_t(op.getWidth())};
}

template <typename OpTy>
static AttentionInputs attentionInputs(OpTy op, const Frame &frame) {
  RandomPlace place = placeOf(op, frame);
  Value first = firstPositions(op.getMasks());
  if (first && !place.part.empty()) // rows go by their position
    place.part[2] = place.whole[2];
  return {frame[op.getQuery()],
          frame[op.getKey()],
          frame[op.getValue()],
          frame.optional(op.getMask()),
          frame.optional(op.getSegments()),
          frame.optional(op.getRng()),
          op.getCausal(),
          op.getScale().convertToDouble(),
          op.getDropout().convertToDouble(),
          int64_t(op.getSalt()),
          std::move(place),
          first ? std::vector<int64_t>(frame[first].ints())
                : std::vector<int64_t>{0}};
}

/// A ring is causal attention of all positions.
template <typename RingOp>
static AttentionInputs ringInputs(RingOp op, const Frame &frame) {
  return {frame[op.getQuery()],
          frame[op.getKey()],
          frame[op.getValue()],
          /*mask=*/nullptr,
          /*segments=*/nullptr,
          /*rng=*/nullptr,
          /*causal=*/true,
          op.getScale().convertToDouble(),
          /*dropout=*/0,
          /*salt=*/0,
          RandomPlace(),
          {0}};
}

void HandlerTable::addNamed() {
  on<LayerNormOp>([](LayerNormOp op, const Frame &frame) {
    return layerNorm(frame.specs(op), frame[op.getInput()],
                     frame.optional(op.getScale()),
                     frame.optional(op.getBias()),
                     op.getEps().convertToDouble(), op.getWidth());
  });
  on<RmsNormOp>([](RmsNormOp op, const Frame &frame) {
    return rmsNorm(frame.specs(op), frame[op.getInput()],
                   frame.optional(op.getScale()), op.getEps().convertToDouble(),
                   op.getWidth());
  });
  on<SoftmaxOp>([](SoftmaxOp op, const Frame &frame) {
    return softmax(frame.spec(op), frame[op.getInput()], op.getWidth());
  });
  on<CrossEntropyOp>([](CrossEntropyOp op, const Frame &frame) {
    return crossEntropy(frame.specs(op), frame[op.getLogits()],
                        frame[op.getTargets()], crossEntropyOptions(op));
  });
  on<AttentionOp>([](AttentionOp op, const Frame &frame) {
    return attention(frame.specs(op), attentionInputs(op, frame));
  });
  on<DecodeAttentionOp>([](DecodeAttentionOp op, const Frame &frame) {
    return attention(frame.specs(op), {frame[op.getQuery()],
                                       frame[op.getKey()],
                                       frame[op.getValue()],
                                       frame.optional(op.getMask()),
                                       /*segments=*/nullptr,
                                       /*rng=*/nullptr,
                                       /*causal=*/true,
                                       op.getScale().convertToDouble(),
                                       /*dropout=*/0,
                                       /*salt=*/0,
                                       RandomPlace(),
                                       {frame[op.getFirst()].ints()[0]}});
  });
  on<dist::RingAttentionOp>([](dist::RingAttentionOp op, const Frame &frame) {
    return attention(frame.specs(op), ringInputs(op, frame));
  });
  on<MergeAttentionOp>([](MergeAttentionOp op, const Frame &frame) {
    return mergeAttention(frame.specs(op),
                          {frame[op.getResult()], frame[op.getLse()]},
                          {frame[op.getOther()], frame[op.getOtherLse()]});
  });
  on<GeluOp>([](GeluOp op, const Frame &frame) {
    std::vector<double> values(frame[op.getInput()].floats());
    for (double &value : values)
      value = gelu(op.getApproximate(), value);
    return frame.spec(op).floats(std::move(values));
  });
}

void HandlerTable::addBackward() {
  on<EmbeddingBwdOp>([](EmbeddingBwdOp op, const Frame &frame) {
    return embeddingBwd(frame.spec(op), frame[op.getGrad()],
                        frame[op.getIds()]);
  });
  on<LayerNormBwdOp>([](LayerNormBwdOp op, const Frame &frame) {
    return layerNormBwd(frame.spec(op), frame[op.getGrad()],
                        frame[op.getInput()], frame[op.getMean()],
                        frame[op.getRstd()], frame.optional(op.getScale()),
                        op.getWidth());
  });
  on<RmsNormBwdOp>([](RmsNormBwdOp op, const Frame &frame) {
    return rmsNormBwd(frame.spec(op), frame[op.getGrad()], frame[op.getInput()],
                      frame[op.getRstd()], frame.optional(op.getScale()),
                      op.getWidth());
  });
  on<SoftmaxBwdOp>([](SoftmaxBwdOp op, const Frame &frame) {
    return softmaxBwd(frame.spec(op), frame[op.getGrad()],
                      frame[op.getOutput()], op.getWidth());
  });
  on<CrossEntropyBwdOp>([](CrossEntropyBwdOp op, const Frame &frame) {
    return crossEntropyBwd(frame.spec(op), frame[op.getGrad()],
                           frame[op.getLogits()], frame[op.getTargets()],
                           frame[op.getLse()], crossEntropyOptions(op));
  });
  on<AttentionBwdOp>([](AttentionBwdOp op, const Frame &frame) {
    return attentionBwd(frame.specs(op), frame[op.getGrad()],
                        attentionInputs(op, frame), frame[op.getOutput()],
                        frame[op.getLse()]);
  });
  on<dist::RingAttentionBwdOp>(
      [](dist::RingAttentionBwdOp op, const Frame &frame) {
        return attentionBwd(frame.specs(op), frame[op.getGrad()],
                            ringInputs(op, frame), frame[op.getOutput()],
                            frame[op.getLse()]);
      });
  on<GeluBwdOp>([](GeluBwdOp op, const Frame &frame) {
    std::vector<double> values(frame[op.getInput()].floats());
    for (auto [value, grad] : llvm::zip(values, frame[op.getGrad()].floats()))
      value = grad * geluSlope(op.getApproximate(), value);
    return frame.spec(op).floats(std::move(values));
  });
}
