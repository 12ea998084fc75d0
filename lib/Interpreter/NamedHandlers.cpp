//===- NamedHandlers.cpp - Handlers of named ops and updates --------------===//

#include "Handlers.h"

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
  return {frame[op.getQuery()],
          frame[op.getKey()],
          frame[op.getValue()],
          frame.optional(op.getMask()),
          frame.optional(op.getRng()),
          op.getCausal(),
          op.getScale().convertToDouble(),
          op.getDropout().convertToDouble(),
          int64_t(op.getSalt()),
          placeOf(op, frame)};
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
  on<GeluBwdOp>([](GeluBwdOp op, const Frame &frame) {
    std::vector<double> values(frame[op.getInput()].floats());
    for (auto [value, grad] : llvm::zip(values, frame[op.getGrad()].floats()))
      value = grad * geluSlope(op.getApproximate(), value);
    return frame.spec(op).floats(std::move(values));
  });
}

template <typename OpTy> static bool isApplied(OpTy op, const Frame &frame) {
  return !op.getApply() || frame[op.getApply()].ints()[0] != 0;
}

template <typename OpTy>
static UpdateOptions updateOptions(OpTy op, const Frame &frame) {
  return {isApplied(op, frame), frame.optional(op.getRng()),
          int64_t(op.getSalt()), placeOf(op, frame)};
}

template <typename OpTy>
static AdamwOptions adamwOptions(OpTy op, const Frame &frame,
                                 UpdateOptions update) {
  return {frame.scalar(op.getLr()),
          frame.scalar(op.getWeightDecay()),
          frame.scalar(op.getGradScale()),
          frame[op.getStep()].ints()[0],
          op.getBeta1().convertToDouble(),
          op.getBeta2().convertToDouble(),
          op.getEps().convertToDouble(),
          op.getLrScale().convertToDouble(),
          op.getDecayScale().convertToDouble(),
          op.getMaximize(),
          update};
}

void HandlerTable::addState() {
  on<GlobalNormOp>([](GlobalNormOp op, const Frame &frame) {
    return globalNorm(frame.spec(op), frame.all(op.getInputs()));
  });
  on<AdamwOp>([](AdamwOp op, const Frame &frame) {
    return adamw(frame.specs(op), frame[op.getParam()], frame[op.getGrad()],
                 frame[op.getExpAvg()], frame[op.getExpAvgSq()],
                 adamwOptions(op, frame, updateOptions(op, frame)));
  });
  on<Adamw8bitOp>([](Adamw8bitOp op, const Frame &frame) {
    return adamw8bit(frame.specs(op), frame[op.getParam()], frame[op.getGrad()],
                     {frame[op.getExpAvg()], frame[op.getExpAvgScale()]},
                     {frame[op.getExpAvgSq()], frame[op.getExpAvgSqScale()]},
                     adamwOptions(op, frame, {isApplied(op, frame)}));
  });
  on<SgdOp>([](SgdOp op, const Frame &frame) {
    SgdOptions options{frame.scalar(op.getLr()),
                       frame.scalar(op.getWeightDecay()),
                       frame.scalar(op.getGradScale()),
                       op.getMomentum().convertToDouble(),
                       op.getLrScale().convertToDouble(),
                       op.getDecayScale().convertToDouble(),
                       op.getNesterov(),
                       op.getMaximize(),
                       updateOptions(op, frame)};
    return sgd(frame.specs(op), frame[op.getParam()], frame[op.getGrad()],
               frame.optional(op.getBuffer()), options);
  });
  on<LionOp>([](LionOp op, const Frame &frame) {
    LionOptions options{frame.scalar(op.getLr()),
                        frame.scalar(op.getWeightDecay()),
                        frame.scalar(op.getGradScale()),
                        op.getBeta1().convertToDouble(),
                        op.getBeta2().convertToDouble(),
                        op.getLrScale().convertToDouble(),
                        op.getDecayScale().convertToDouble(),
                        op.getMaximize(),
                        updateOptions(op, frame)};
    return lion(frame.specs(op), frame[op.getParam()], frame[op.getGrad()],
                frame[op.getExpAvg()], options);
  });
  on<AdafactorOp>([](AdafactorOp op, const Frame &frame) {
    AdafactorOptions options{frame.scalar(op.getLr()),
                             frame.scalar(op.getWeightDecay()),
                             frame.scalar(op.getGradScale()),
                             frame[op.getStep()].ints()[0],
                             op.getBeta2Decay().convertToDouble(),
                             op.getEps1().convertToDouble(),
                             op.getEps2().convertToDouble(),
                             op.getClipThreshold().convertToDouble(),
                             op.getLrScale().convertToDouble(),
                             op.getDecayScale().convertToDouble(),
                             op.getMaximize(),
                             isApplied(op, frame)};
    return adafactor(frame.specs(op), frame[op.getParam()], frame[op.getGrad()],
                     frame.all(op.getVariances()), options);
  });
}
