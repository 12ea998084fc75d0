// RUN: not hone-opt %s --hone-build-step="optimizer=adafactor beta2-decay=0.8" 2>&1 | FileCheck %s --check-prefix=DECAY
// RUN: not hone-opt %s --hone-build-step="optimizer=adafactor clip-threshold=0.5" 2>&1 | FileCheck %s --check-prefix=CLIP
// RUN: not hone-opt %s --hone-build-step="optimizer=adafactor beta1=0.5" 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not hone-opt %s --hone-build-step="optimizer=lion eps=0.5" 2>&1 | FileCheck %s --check-prefix=LION

// DECAY: error: hone.optimizer: beta2_decay is 8.000000e-01, expected a number <= 0
// CLIP: error: hone.optimizer: clip_threshold is 5.000000e-01, expected a number >= 1
// OTHER: error: hone.optimizer: beta1 is 0.5, but adafactor has no such setting
// LION: error: hone.optimizer: eps is 0.5, but lion has no such setting
module {
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad})
      -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "grad", hone.fqn = "w"}) {
    return %w, %w : tensor<f32>, tensor<f32>
  }
}
