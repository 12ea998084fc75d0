// What each of four ranks computes of attention over 32 positions, two runs of 4 per rank. In blocks of 4 x 4 scores: of its
// own runs one whole block and two on the diagonal, in each of three steps two whole blocks: 2 c - 1 = 7 and 2.
// RUN: hone-opt %s --dist-lower-rings -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: hone-opt %t --cse --dist-print-collectives -o /dev/null | FileCheck %s --check-prefix=SENT

dist.mesh @mesh [<"dp" = 2>, <"cp" = 4>]

// The shift for a step stands before the attention of the step before it; what is not rounded yet is f32.
// CHECK-LABEL: @forward
// CHECK: dist.coordinate ["cp"] : tensor<i64>
// CHECK: %[[K1:.*]] = dist.shift %[[K:.*]] by 1 over ["cp"] : tensor<3x8x2x6xbf16>
// CHECK: %[[V1:.*]] = dist.shift %[[V:.*]] by 1 over ["cp"] : tensor<3x8x2x5xbf16>
// CHECK: hone.attention %[[Q:.*]], %[[K]], %[[V]] causal scale 5.000000e-01 : (tensor<3x8x4x6xbf16>, {{.*}}) -> (tensor<3x8x4x5xf32>, tensor<3x4x8xf32>)
// CHECK: %[[K2:.*]] = dist.shift %[[K1]] by 1
// CHECK: %[[V2:.*]] = dist.shift %[[V1]] by 1
// CHECK: hone.cmp ge,
// CHECK-COUNT-3: hone.select
// CHECK: hone.attention %{{.*}}, %{{.*}}, %{{.*}} scale 5.000000e-01 : (tensor<6x4x4x6xbf16>, tensor<6x4x2x6xbf16>, tensor<6x4x2x5xbf16>) -> (tensor<6x4x4x5xf32>, tensor<6x4x4xf32>)
// CHECK: hone.merge_attention %{{.*}}, %{{.*}} with %{{.*}}, %{{.*}} : tensor<3x4x4x5xf32>, tensor<3x4x4xf32>
// CHECK-COUNT-2: hone.merge_attention
// CHECK: dist.shift %[[K2]] by 1
// CHECK: dist.shift %[[V2]] by 1
// CHECK: hone.attention
// CHECK-NOT: dist.shift
// CHECK: hone.attention
// CHECK-NOT: hone.attention
// CHECK: hone.concat
// CHECK-NEXT: hone.cast {{.*}} : tensor<3x8x4x5xf32> -> tensor<3x8x4x5xbf16>
// CHECK: return
func.func @forward(%q: tensor<3x8x4x6xbf16>, %k: tensor<3x8x2x6xbf16>, %v: tensor<3x8x2x5xbf16>)
    -> (tensor<3x8x4x5xbf16>, tensor<3x4x8xf32>) {
  %o, %l = dist.ring_attention %q, %k, %v over ["cp"] scale 0.5
      : (tensor<3x8x4x6xbf16>, tensor<3x8x2x6xbf16>, tensor<3x8x2x5xbf16>) -> (tensor<3x8x4x5xbf16>, tensor<3x4x8xf32>)
  return %o, %l : tensor<3x8x4x5xbf16>, tensor<3x4x8xf32>
}

// Keys and values go around again, which CSE must not merge with the forward part; their gradients follow in f32, and get
// the rank's own part at the end.
// CHECK-LABEL: @both
// CHECK: hone.attention_bwd {{.*}} causal {{.*}} -> (tensor<3x8x4x6xf32>, tensor<3x8x2x6xf32>, tensor<3x8x2x5xf32>)
// CHECK: dist.shift {{.*}} {dist.again} : tensor<3x8x2x6xbf16>
// CHECK: hone.cmp lt,
// CHECK-COUNT-6: hone.select
// CHECK: hone.attention_bwd {{.*}} scale 5.000000e-01 : (tensor<6x4x4x5xbf16>, tensor<6x4x4x6xbf16>, tensor<6x4x2x6xbf16>, tensor<6x4x2x5xbf16>, tensor<6x4x4x5xbf16>, tensor<6x4x4xf32>) -> (tensor<6x4x4x6xf32>, tensor<6x4x2x6xf32>, tensor<6x4x2x5xf32>)
// CHECK: hone.attention_bwd
// CHECK: dist.shift {{.*}} {dist.again} : tensor<3x8x2x6xf32>
// CHECK: dist.shift {{.*}} {dist.again} : tensor<3x8x2x5xf32>
// CHECK: hone.attention_bwd
// CHECK-NOT: hone.attention_bwd
// CHECK: return

// Of keys 3 x 8 x 2 x 6 numbers, of values 3 x 8 x 2 x 5.
// SENT: @forward
// SENT-NEXT: shift over cp bf16: 3 x 576 = 1728
// SENT-NEXT: shift over cp bf16: 3 x 480 = 1440
// SENT-NEXT: over cp: 6 collectives
// SENT: @both
// SENT-NEXT: shift over cp bf16: 6 x 576 = 3456
// SENT-NEXT: shift over cp bf16: 6 x 480 = 2880
// SENT-NEXT: shift over cp f32: 3 x 1152 = 3456
// SENT-NEXT: shift over cp f32: 3 x 960 = 2880
// SENT-NEXT: over cp: 18 collectives
func.func @both(%g: tensor<3x8x4x5xbf16>, %q: tensor<3x8x4x6xbf16>, %k: tensor<3x8x2x6xbf16>, %v: tensor<3x8x2x5xbf16>)
    -> (tensor<3x8x4x5xbf16>, tensor<3x8x4x6xbf16>, tensor<3x8x2x6xbf16>, tensor<3x8x2x5xbf16>) {
  %o, %l = dist.ring_attention %q, %k, %v over ["cp"] scale 0.5
      : (tensor<3x8x4x6xbf16>, tensor<3x8x2x6xbf16>, tensor<3x8x2x5xbf16>) -> (tensor<3x8x4x5xbf16>, tensor<3x4x8xf32>)
  %dq, %dk, %dv = dist.ring_attention_bwd %g, %q, %k, %v, %o, %l over ["cp"] scale 0.5
      : (tensor<3x8x4x5xbf16>, tensor<3x8x4x6xbf16>, tensor<3x8x2x6xbf16>, tensor<3x8x2x5xbf16>, tensor<3x8x4x5xbf16>,
         tensor<3x4x8xf32>) -> (tensor<3x8x4x6xbf16>, tensor<3x8x2x6xbf16>, tensor<3x8x2x5xbf16>)
  return %o, %dq, %dk, %dv
      : tensor<3x8x4x5xbf16>, tensor<3x8x4x6xbf16>, tensor<3x8x2x6xbf16>, tensor<3x8x2x5xbf16>
}
