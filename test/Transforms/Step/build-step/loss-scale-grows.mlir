// The random state has three good steps and three updates behind it. Where four good steps are wanted, the
// scale doubles
// and the count begins anew; where five are, the scale stays and the step is counted. An update is made either way.
// RUN: hone-opt %s --hone-autodiff=scale-loss --hone-build-step="growth-interval=4 loss-scale=8.0" --hone-verify-step \
// RUN:   | hone-run --eval - --entry step --args 3 | FileCheck %s
// RUN: hone-opt %s --hone-autodiff=scale-loss --hone-build-step="growth-interval=5 loss-scale=8.0" --hone-verify-step \
// RUN:   | hone-run --eval - --entry step --args 3 | FileCheck %s --check-prefix=STAYS
// RUN: hone-opt %s --hone-autodiff=scale-loss --hone-build-step="growth-interval=1 loss-scale=1.8446744073709552e19" \
// RUN:   | hone-run --eval - --entry step --args 3 | FileCheck %s --check-prefix=LARGEST

// CHECK: result 3: tensor<f32> = 16{{$}}
// CHECK-NEXT: result 4: tensor<i64> = 0{{$}}
// CHECK-NEXT: result 5: tensor<i64> = 4{{$}}
// STAYS: result 3: tensor<f32> = 8{{$}}
// STAYS-NEXT: result 4: tensor<i64> = 4{{$}}
// STAYS-NEXT: result 5: tensor<i64> = 4{{$}}
// The gradient norm is that of the loss, whatever the scale: 5.
// CHECK: result 7: tensor<f32> = 5{{$}}
// LARGEST: result 3: tensor<f32> = 1.84467441e+19{{$}}
func.func @forward(%w: tensor<2xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %x = hone.constant dense<[3.0, -4.0]> : tensor<2xf32>
  %0 = hone.mul %w, %x : tensor<2xf32>
  %loss = hone.reduce sum %0 dims [0] : tensor<2xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
