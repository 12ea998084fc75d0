// RUN: hone-opt %s --hone-autodiff --hone-build-step="moments=bf16" --hone-verify-step | FileCheck %s
// RUN: hone-opt %s --hone-autodiff --hone-build-step="optimizer=sgd momentum=0.9 moments=bf16" --hone-verify-step \
// RUN: | FileCheck %s --check-prefix=SGD
// RUN: hone-opt %s --hone-autodiff --hone-build-step="optimizer=sgd moments=bf16" --hone-verify-step \
// RUN: | FileCheck %s --check-prefix=PLAIN
// RUN: hone-opt %s --hone-autodiff=seed=0.5 --hone-build-step="micro-batches=2 optimizer=lion moments=bf16" \
// RUN: --hone-verify-step | FileCheck %s --check-prefix=LION

// Parameters stay as they are; what is in bf16 is rounded at random, each update with numbers of its own.
// CHECK: hone.optimizer = {{.*}} moments = "bf16"
// CHECK-LABEL: @step
// CHECK-SAME: %arg0: tensor<8x4xf32> {hone.fqn = "w"
// CHECK-SAME: tensor<8x4xbf16> {hone.fqn = "exp_avg.w"
// CHECK-SAME: tensor<8x4xbf16> {hone.fqn = "exp_avg_sq.w"
// CHECK-SAME: %[[KEY:arg[0-9]+]]: tensor<3xi64> {hone.fqn = "rng", hone.kind = "rng"}
// CHECK: hone.adamw %arg0, {{.*}} rng %[[KEY]] salt 1073741824 {
// CHECK: hone.adamw %arg1, {{.*}} rng %[[KEY]] salt 1073741825 {
// SGD: tensor<8x4xbf16> {hone.fqn = "momentum.w"
// SGD: hone.sgd {{.*}} rng %{{.+}} salt 1073741824 {
// Nothing to round.
// PLAIN: hone.sgd
// PLAIN-NOT: rng %
// LION-LABEL: @accumulate
// LION-NOT: "rng"
// LION-LABEL: @update
// LION-SAME: tensor<8x4xbf16> {hone.fqn = "exp_avg.w"
// LION-SAME: tensor<3xi64> {hone.fqn = "rng", hone.kind = "rng"}
// LION: hone.lion {{.*}} rng %
module {
  func.func @forward(%w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
                     %b: tensor<4xf32> {hone.kind = "param", hone.fqn = "b", hone.requires_grad})
      -> (tensor<f32> {hone.kind = "loss"}) {
    %r = hone.broadcast %b dims [1] : tensor<4xf32> -> tensor<8x4xf32>
    %y = hone.mul %w, %r : tensor<8x4xf32>
    %loss = hone.reduce sum %y dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
