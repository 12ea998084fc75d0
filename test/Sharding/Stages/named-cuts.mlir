// A user says which parameter or module each stage begins with.
// RUN: hone-opt %s --dist-assign-stages="stages=2 cuts=b" | FileCheck %s
// RUN: hone-opt %s --dist-assign-stages="stages=2 cuts=b.w" | FileCheck %s
// RUN: hone-opt %s --dist-assign-stages="stages=2 schedule=zb-v cuts=b,c.w,d" | FileCheck %s --check-prefix=ALL
// RUN: not hone-opt %s --dist-assign-stages="stages=2 cuts=b,c" 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not hone-opt %s --dist-assign-stages="stages=2 schedule=zb-v cuts=b" 2>&1 | FileCheck %s --check-prefix=TOOFEW
// RUN: not hone-opt %s --dist-assign-stages="stages=3 cuts=c,b" 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not hone-opt %s --dist-assign-stages="stages=2 cuts=d.v" 2>&1 | FileCheck %s --check-prefix=INSIDE
// RUN: not hone-opt %s --dist-assign-stages="stages=2 cuts=a" 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: not hone-opt %s --dist-assign-stages="stages=2 cuts=c.ww" 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK: hone.dot_general
// CHECK-NEXT: %[[H:.*]] = dist.boundary %{{.*}} from 0 to 1
// CHECK-NEXT: hone.dot_general %[[H]], %arg1
// CHECK-NOT: dist.boundary
// ALL: dist.boundary %{{.*}} from 0 to 1
// ALL-NEXT: hone.dot_general %{{.*}}, %arg1
// ALL-NEXT: dist.boundary %{{.*}} from 1 to 2
// ALL-NEXT: hone.dot_general %{{.*}}, %arg2
// ALL-NEXT: dist.boundary %{{.*}} from 2 to 3
// ALL-NEXT: hone.dot_general %{{.*}}, %arg3
// MANY: error: --cuts: names 2 places, expected 1 for 2 stages
// TOOFEW: error: --cuts: names 1 places, expected 3 for 4 chunks
// ORDER: error: --cuts: 'b' is not behind 'c', expected names in the order of the model
// INSIDE: error: --cuts: 'd.v' is no place to cut at, since more than one value is read behind it; the place before it is at 'd.w'
// FIRST: error: --cuts: 'a' begins the model, expected a later one
// UNKNOWN: error: --cuts: 'c.ww' is no parameter or module with parameters, expected one that a chunk begins with; did you mean c.w?
module attributes {hone.target = "cpu znver4"} {
  func.func @forward(
      %a: tensor<32x32xf32> {hone.kind = "param", hone.fqn = "a.w", hone.requires_grad},
      %b: tensor<32x32xf32> {hone.kind = "param", hone.fqn = "b.w", hone.requires_grad},
      %c: tensor<32x32xf32> {hone.kind = "param", hone.fqn = "c.w", hone.requires_grad},
      %d: tensor<32x32xf32> {hone.kind = "param", hone.fqn = "d.w", hone.requires_grad},
      %v: tensor<32x32xf32> {hone.kind = "param", hone.fqn = "d.v", hone.requires_grad},
      %x: tensor<8x32xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
    %0 = hone.dot_general %x, %a batch [] x [] contract [1] x [0] : tensor<8x32xf32>, tensor<32x32xf32> -> tensor<8x32xf32>
    %1 = hone.dot_general %0, %b batch [] x [] contract [1] x [0] : tensor<8x32xf32>, tensor<32x32xf32> -> tensor<8x32xf32>
    %2 = hone.dot_general %1, %c batch [] x [] contract [1] x [0] : tensor<8x32xf32>, tensor<32x32xf32> -> tensor<8x32xf32>
    %3 = hone.dot_general %2, %d batch [] x [] contract [1] x [0] : tensor<8x32xf32>, tensor<32x32xf32> -> tensor<8x32xf32>
    %4 = hone.dot_general %3, %v batch [] x [] contract [1] x [0] : tensor<8x32xf32>, tensor<32x32xf32> -> tensor<8x32xf32>
    %5 = hone.add %4, %2 : tensor<8x32xf32>
    %loss = hone.reduce sum %5 dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
