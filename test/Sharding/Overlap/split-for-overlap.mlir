// RUN: hone-opt %s --dist-split-for-overlap="pieces=2 bytes=1" --dist-verify | FileCheck %s
// RUN: hone-opt %s --dist-split-for-overlap="pieces=2 bytes=1 axes=dp" | FileCheck %s --check-prefix=NONE
// RUN: hone-opt %s --dist-split-for-overlap=pieces=2 | FileCheck %s --check-prefix=NONE
// RUN: hone-opt %s --dist-split-for-overlap=pieces=1 | FileCheck %s --check-prefix=NONE
// RUN: not hone-opt %s --dist-split-for-overlap=pieces=0 -o /dev/null 2>&1 | FileCheck %s --check-prefix=FEWER

// Along other axes, where latency is most of the time of a collective, and in one piece nothing changes.
// NONE-NOT: dist.piece
// FEWER: option 'pieces' is 0, expected a number of pieces, at least 1

dist.mesh @mesh [<"tp" = 2>]

// The second piece of a product runs beside the sum of the first. What nothing waits for behind a collective is not split.
// CHECK-LABEL: @sums
// CHECK: %[[X0:.*]] = hone.slice %{{.*}} [0, 0, 0] to [1, 4, 8]
// CHECK: %[[Y0:.*]] = hone.dot_general %[[X0]]
// CHECK: %[[S0:.*]] = dist.all_reduce sum %[[Y0]] over ["tp"] {dist.piece} : tensor<1x4x8xf32>
// CHECK: %[[X1:.*]] = hone.slice %{{.*}} [1, 0, 0] to [2, 4, 8]
// CHECK: %[[Y1:.*]] = hone.dot_general %[[X1]]
// CHECK: %[[S1:.*]] = dist.all_reduce sum %[[Y1]] over ["tp"] {dist.piece} : tensor<1x4x8xf32>
// CHECK: %[[S:.*]] = hone.concat %[[S0]], %[[S1]] dim 0
// CHECK: %[[E:.*]] = hone.exp %[[S]]
// CHECK: return %[[E]]
func.func @sums(%x: tensor<2x4x8xf32> {dist.sharding = #dist.sharding<{}, {}, {"tp"}>},
                %w: tensor<8x8xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>})
    -> (tensor<2x4x8xf32> {dist.sharding = #dist.sharding<{}, {}, {}>}) {
  %y = hone.dot_general %x, %w batch [] x [] contract [2] x [0] : tensor<2x4x8xf32>, tensor<8x8xf32> -> tensor<2x4x8xf32>
  %s = dist.all_reduce sum %y over ["tp"] : tensor<2x4x8xf32>
  %e = hone.exp %s : tensor<2x4x8xf32>
  return %e : tensor<2x4x8xf32>
}

// One sequence: a piece of every rank's positions is gathered. A product of a gradient sums over the positions, so it
// reads the pieces one behind the other; the result has them in their own order.
// CHECK-LABEL: @positions
// CHECK: %[[N:.*]] = hone.neg
// CHECK: %[[X0:.*]] = hone.slice %[[N]] [0, 0, 0] to [1, 2, 8]
// CHECK: %[[G0:.*]] = dist.all_gather %[[X0]] dim 1 over ["tp"] {dist.piece} : tensor<1x2x8xf32> -> tensor<1x4x8xf32>
// CHECK: %[[X1:.*]] = hone.slice %[[N]] [0, 2, 0] to [1, 4, 8]
// CHECK: %[[G1:.*]] = dist.all_gather %[[X1]] dim 1 over ["tp"] {dist.piece}
// CHECK: %[[Y0:.*]] = hone.dot_general %[[G0]]
// CHECK: %[[Y1:.*]] = hone.dot_general %[[G1]]
// CHECK: %[[G:.*]] = hone.concat %[[G0]], %[[G1]] dim 1
// CHECK: %[[Y:.*]] = hone.concat %[[Y0]], %[[Y1]] dim 1
// CHECK: %[[A:.*]] = hone.slice %[[Y0]] [0, 0, 0] to [1, 2, 8]
// CHECK: %[[C:.*]] = hone.slice %[[Y0]] [0, 2, 0] to [1, 4, 8]
// CHECK: %[[B:.*]] = hone.slice %[[Y1]] [0, 0, 0] to [1, 2, 8]
// CHECK: %[[D:.*]] = hone.slice %[[Y1]] [0, 2, 0] to [1, 4, 8]
// CHECK: %[[RESULT:.*]] = hone.concat %[[A]], %[[B]], %[[C]], %[[D]] dim 1
// CHECK: %[[GRADIENT:.*]] = hone.dot_general %[[G]], %[[Y]] batch [] x [] contract [0, 1] x [0, 1]
// CHECK: return %[[RESULT]], %[[GRADIENT]]
func.func @positions(%x: tensor<1x4x8xf32> {dist.sharding = #dist.sharding<{}, {"tp"}, {}>},
                     %w: tensor<8x8xf32> {dist.sharding = #dist.sharding<{}, {"tp"}>})
    -> (tensor<1x8x8xf32> {dist.sharding = #dist.sharding<{}, {}, {"tp"}>},
        tensor<8x8xf32> {dist.sharding = #dist.sharding<{}, {"tp"}>}) {
  %n = hone.neg %x : tensor<1x4x8xf32>
  %g = dist.all_gather %n dim 1 over ["tp"] : tensor<1x4x8xf32> -> tensor<1x8x8xf32>
  %y = hone.dot_general %g, %w batch [] x [] contract [2] x [0] : tensor<1x8x8xf32>, tensor<8x8xf32> -> tensor<1x8x8xf32>
  %d = hone.dot_general %g, %y batch [] x [] contract [0, 1] x [0, 1] : tensor<1x8x8xf32>, tensor<1x8x8xf32> -> tensor<8x8xf32>
  return %y, %d : tensor<1x8x8xf32>, tensor<8x8xf32>
}

// Three collectives in a row: the second piece runs one step behind the first, where a step ends at a collective.
// CHECK-LABEL: @steps
// CHECK: hone.dot_general
// CHECK-NEXT: %[[S0:.*]] = dist.reduce_scatter
// CHECK-NEXT: hone.slice
// CHECK-NEXT: hone.dot_general
// CHECK-NEXT: %[[S1:.*]] = dist.reduce_scatter
// CHECK-NEXT: %[[E0:.*]] = hone.exp %[[S0]]
// CHECK-NEXT: %[[G0:.*]] = dist.all_gather %[[E0]]
// CHECK-NEXT: %[[E1:.*]] = hone.exp %[[S1]]
// CHECK-NEXT: %[[G1:.*]] = dist.all_gather %[[E1]]
// CHECK-NEXT: %[[Y0:.*]] = hone.dot_general %[[G0]]
// CHECK-NEXT: %[[Y1:.*]] = hone.dot_general %[[G1]]
// CHECK-NEXT: hone.concat %[[Y0]], %[[Y1]] dim 0
func.func @steps(%x: tensor<2x4x8xf32> {dist.sharding = #dist.sharding<{}, {}, {"tp"}>},
                 %w: tensor<8x8xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>},
                 %v: tensor<8x8xf32> {dist.sharding = #dist.sharding<{}, {"tp"}>})
    -> (tensor<2x4x8xf32> {dist.sharding = #dist.sharding<{}, {}, {"tp"}>}) {
  %y = hone.dot_general %x, %w batch [] x [] contract [2] x [0] : tensor<2x4x8xf32>, tensor<8x8xf32> -> tensor<2x4x8xf32>
  %s = dist.reduce_scatter sum %y dim 1 over ["tp"] : tensor<2x4x8xf32> -> tensor<2x2x8xf32>
  %e = hone.exp %s : tensor<2x2x8xf32>
  %g = dist.all_gather %e dim 1 over ["tp"] : tensor<2x2x8xf32> -> tensor<2x4x8xf32>
  %z = hone.dot_general %g, %v batch [] x [] contract [2] x [0] : tensor<2x4x8xf32>, tensor<8x8xf32> -> tensor<2x4x8xf32>
  return %z : tensor<2x4x8xf32>
}

// A product of a value with itself reads one operand as a whole: it is not split.
// CHECK-LABEL: @both
// CHECK: %[[S:.*]] = hone.concat %{{.*}}, %{{.*}} dim 0
// CHECK-NEXT: hone.dot_general %[[S]], %[[S]]
func.func @both(%x: tensor<2x4x8xf32> {dist.sharding = #dist.sharding<{}, {}, {"tp"}>},
                %w: tensor<8x8xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>})
    -> (tensor<2x4x2x4xf32> {dist.sharding = #dist.sharding<{}, {}, {}, {}>}) {
  %y = hone.dot_general %x, %w batch [] x [] contract [2] x [0] : tensor<2x4x8xf32>, tensor<8x8xf32> -> tensor<2x4x8xf32>
  %s = dist.all_reduce sum %y over ["tp"] : tensor<2x4x8xf32>
  %p = hone.dot_general %s, %s batch [] x [] contract [2] x [2] : tensor<2x4x8xf32>, tensor<2x4x8xf32> -> tensor<2x4x2x4xf32>
  return %p : tensor<2x4x2x4xf32>
}
