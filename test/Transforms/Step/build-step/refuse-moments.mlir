// RUN: not hone-opt %s --hone-build-step="moments=fp8" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not hone-opt %s --hone-build-step="optimizer=sgd moments=8bit" 2>&1 | FileCheck %s --check-prefix=CODED
// RUN: not hone-opt %s --hone-build-step="optimizer=lion moments=8bit" 2>&1 | FileCheck %s --check-prefix=LION
// RUN: not hone-opt %s --hone-build-step="optimizer=adafactor moments=bf16" 2>&1 | FileCheck %s --check-prefix=MEANS

// NAME: error: hone.optimizer: moments is 'fp8', expected fp32, bf16 or 8bit
// CODED: error: hone.optimizer: moments is '8bit', but sgd has them in fp32 or bf16 only
// LION: error: hone.optimizer: moments is '8bit', but lion has them in fp32 or bf16 only
// MEANS: error: hone.optimizer: moments is 'bf16', but adafactor has them in fp32 only
module {
  func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad})
      -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "grad", hone.fqn = "w"}) {
    return %w, %w : tensor<f32>, tensor<f32>
  }
}
