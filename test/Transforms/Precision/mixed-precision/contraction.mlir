// A contraction reads and writes the low type, and its sum is still f32 inside. One cast per value, whoever reads it.
// RUN: hone-opt %s --hone-mixed-precision=policy=bf16 --canonicalize --hone-verify-precision | FileCheck %s
// RUN: hone-opt %s --hone-mixed-precision=policy=fp16 --canonicalize --hone-verify-precision \
// RUN:   | FileCheck %s --check-prefix=FP16
// RUN: hone-opt %s --hone-mixed-precision=policy=fp32 | FileCheck %s --check-prefix=FP32
// RUN: hone-opt %s --hone-mixed-precision=policy=tf32 | FileCheck %s --check-prefix=TF32

// FP16-COUNT-4: hone.dot_general {{.*}}xf16>, {{.*}}xf16> -> tensor<{{.*}}xf16>
// FP32: hone.precision = "fp32"
// FP32-NOT: hone.cast
// TF32: hone.precision = "tf32"
// TF32-NOT: hone.cast

// CHECK: module attributes {hone.precision = "bf16"}
// CHECK-LABEL: @forward
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4x6xf32>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<3x5x6xf32>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x4xf32>
func.func @forward(
    %w: tensor<4x6xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %v: tensor<3x5x6xf32> {hone.kind = "param", hone.fqn = "v", hone.requires_grad},
    %x: tensor<8x4xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  // CHECK-DAG: %[[XL:.+]] = hone.cast %[[X]] : tensor<8x4xf32> -> tensor<8x4xbf16>
  // CHECK-DAG: %[[WL:.+]] = hone.cast %[[W]] : tensor<4x6xf32> -> tensor<4x6xbf16>
  // CHECK-DAG: %[[VL:.+]] = hone.cast %[[V]] : tensor<3x5x6xf32> -> tensor<3x5x6xbf16>
  // CHECK-NOT: hone.cast %[[W]]
  // CHECK: %[[Y:.+]] = hone.dot_general %[[XL]], %[[WL]] {{.*}} -> tensor<8x6xbf16>
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  // The transposed weight is the transposed cast, and the slice of a parameter a slice of its cast.
  // CHECK: %[[WT:.+]] = hone.transpose %[[WL]] [1, 0] : tensor<4x6xbf16> -> tensor<6x4xbf16>
  %wt = hone.transpose %w [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  // CHECK: %[[Z:.+]] = hone.dot_general %[[Y]], %[[WT]] {{.*}} -> tensor<8x4xbf16>
  %z = hone.dot_general %y, %wt batch [] x [] contract [1] x [0] : tensor<8x6xf32>, tensor<6x4xf32> -> tensor<8x4xf32>
  %part = hone.slice %v [1, 0, 0] to [2, 5, 6] by [1, 1, 1] : tensor<3x5x6xf32> -> tensor<1x5x6xf32>
  // CHECK: %[[PART:.+]] = hone.slice %[[VL]]
  // CHECK: %[[FLAT:.+]] = hone.reshape %[[PART]] : tensor<1x5x6xbf16> -> tensor<5x6xbf16>
  %flat = hone.reshape %part : tensor<1x5x6xf32> -> tensor<5x6xf32>
  // CHECK: hone.dot_general %[[Y]], %[[FLAT]] {{.*}} -> tensor<8x5xbf16>
  %u = hone.dot_general %y, %flat batch [] x [] contract [1] x [1] : tensor<8x6xf32>, tensor<5x6xf32> -> tensor<8x5xf32>
  // A second reader of the input: the same cast.
  // CHECK: hone.dot_general %[[XL]], %[[Z]] {{.*}} -> tensor<8x8xbf16>
  %s = hone.dot_general %x, %z batch [] x [] contract [1] x [1] : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x8xf32>
  %a = hone.reduce sum %u dims [0, 1] : tensor<8x5xf32> -> tensor<f32>
  %b = hone.reduce sum %s dims [0, 1] : tensor<8x8xf32> -> tensor<f32>
  %loss = hone.add %a, %b : tensor<f32>
  return %loss : tensor<f32>
}
