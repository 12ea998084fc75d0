// RUN: hone-opt %s --hone-low-gradients --canonicalize | FileCheck %s

// Sums over micro-batches. A product adds in its call, and a table's kernel adds rows, also where a gradient has both; a
// product of f16 is added in f32 and rounded. A vector's sum stays f32.
module attributes {hone.precision = "fp16"} {
  // CHECK-LABEL: @accumulate
  // CHECK-SAME: %[[A:arg[0-9]+]]: tensor<8x4xbf16> {hone.fqn = "a", hone.kind = "grad"}
  // CHECK-SAME: %[[B:arg[0-9]+]]: tensor<8x4xbf16> {hone.fqn = "b", hone.kind = "grad"}
  // CHECK-SAME: %[[T:arg[0-9]+]]: tensor<6x4xbf16> {hone.fqn = "t", hone.kind = "grad"}
  // CHECK-SAME: tensor<4xf32> {hone.fqn = "v", hone.kind = "grad"}
  func.func @accumulate(
      %x: tensor<3x4xbf16> {hone.kind = "input", hone.fqn = "x"}, %g: tensor<3x8xbf16> {hone.kind = "input", hone.fqn = "g"},
      %xh: tensor<3x4xf16> {hone.kind = "input", hone.fqn = "xh"},
      %gh: tensor<3x8xf16> {hone.kind = "input", hone.fqn = "gh"},
      %u: tensor<3x6xbf16> {hone.kind = "input", hone.fqn = "u"},
      %r: tensor<3x4xf32> {hone.kind = "input", hone.fqn = "r"}, %ids: tensor<3xi64> {hone.kind = "input", hone.fqn = "ids"},
      %a: tensor<8x4xf32> {hone.kind = "grad", hone.fqn = "a"}, %b: tensor<8x4xf32> {hone.kind = "grad", hone.fqn = "b"},
      %t: tensor<6x4xf32> {hone.kind = "grad", hone.fqn = "t"}, %v: tensor<4xf32> {hone.kind = "grad", hone.fqn = "v"})
      -> (tensor<8x4xf32> {hone.kind = "grad", hone.fqn = "a", hone.donates = 7 : i64},
          tensor<8x4xf32> {hone.kind = "grad", hone.fqn = "b", hone.donates = 8 : i64},
          tensor<6x4xf32> {hone.kind = "grad", hone.fqn = "t", hone.donates = 9 : i64},
          tensor<4xf32> {hone.kind = "grad", hone.fqn = "v", hone.donates = 10 : i64}) {
    // CHECK: %[[DA:.+]] = hone.dot_general {{.*}} : tensor<3x8xbf16>, tensor<3x4xbf16> -> tensor<8x4xbf16>
    // CHECK: %[[DB:.+]] = hone.dot_general {{.*}} : tensor<3x8xf16>, tensor<3x4xf16> -> tensor<8x4xf32>
    // CHECK: %[[R:.+]] = hone.cast %{{.+}} : tensor<3x4xf32> -> tensor<3x4xbf16>
    // CHECK: %[[DT:.+]] = hone.embedding_bwd %[[R]], %{{.+}} : tensor<3x4xbf16>, tensor<3xi64> -> tensor<6x4xbf16>
    // CHECK: %[[DU:.+]] = hone.dot_general {{.*}} -> tensor<6x4xbf16>
    %da = hone.dot_general %g, %x batch [] x [] contract [0] x [0]
        : tensor<3x8xbf16>, tensor<3x4xbf16> -> tensor<8x4xf32>
    %db = hone.dot_general %gh, %xh batch [] x [] contract [0] x [0]
        : tensor<3x8xf16>, tensor<3x4xf16> -> tensor<8x4xf32>
    %dt = hone.embedding_bwd %r, %ids : tensor<3x4xf32>, tensor<3xi64> -> tensor<6x4xf32>
    %du = hone.dot_general %u, %x batch [] x [] contract [0] x [0]
        : tensor<3x6xbf16>, tensor<3x4xbf16> -> tensor<6x4xf32>
    %both = hone.add %dt, %du : tensor<6x4xf32>
    %dv = hone.reduce sum %r dims [0] : tensor<3x4xf32> -> tensor<4xf32>
    // CHECK: hone.add %[[A]], %[[DA]] : tensor<8x4xbf16>
    // CHECK: %[[WIDE:.+]] = hone.cast %[[B]] : tensor<8x4xbf16> -> tensor<8x4xf32>
    // CHECK: %[[SUM:.+]] = hone.add %[[DB]], %[[WIDE]] : tensor<8x4xf32>
    // CHECK: hone.cast %[[SUM]] : tensor<8x4xf32> -> tensor<8x4xbf16>
    // CHECK: %[[T1:.+]] = hone.add %[[T]], %[[DT]] : tensor<6x4xbf16>
    // CHECK: hone.add %[[T1]], %[[DU]] : tensor<6x4xbf16>
    %a1 = hone.add %a, %da : tensor<8x4xf32>
    %b1 = hone.add %db, %b : tensor<8x4xf32>
    %t1 = hone.add %t, %both : tensor<6x4xf32>
    %v1 = hone.add %v, %dv : tensor<4xf32>
    return %a1, %b1, %t1, %v1 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<6x4xf32>, tensor<4xf32>
  }

  // CHECK-LABEL: @update
  // CHECK-SAME: tensor<8x4xbf16> {hone.fqn = "a", hone.kind = "grad"}
  // CHECK: hone.sgd %arg0, %arg1 {{.*}} : (tensor<8x4xf32>, tensor<8x4xbf16>,
  func.func @update(
      %w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "a", hone.requires_grad},
      %a: tensor<8x4xf32> {hone.kind = "grad", hone.fqn = "a"}, %lr: tensor<f32> {hone.kind = "scalar", hone.fqn = "lr"})
      -> (tensor<8x4xf32> {hone.kind = "param", hone.fqn = "a", hone.donates = 0 : i64},
          tensor<f32> {hone.kind = "grad_norm"}) {
    %n = hone.global_norm %a : (tensor<8x4xf32>) -> tensor<f32>
    %w1 = hone.sgd %w, %a lr %lr weight_decay %lr grad_scale %n
        : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8x4xf32>
    return %w1, %n : tensor<8x4xf32>, tensor<f32>
  }
}
