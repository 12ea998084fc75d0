// Key heads that are fewer than the ranks along tp: axis tp becomes two, and weights of key heads are copies along the second.
// RUN: split-file %s %t
// RUN: hone-opt %t/two.mlir --dist-annotate="mesh=dp=2,tp=4@nvlink" 2>&1 | FileCheck %s --check-prefix=TWO
// TWO-NOT: warning
// TWO: dist.mesh @mesh [<"dp" = 2>, <"tp" = 2 over "nvlink">, <"tp.r" = 2 over "nvlink">]
// TWO-SAME: {{$}}
// TWO-NEXT: func.func @forward
// TWO-SAME: #dist.sharding<{"tp", "tp.r"} p1, {}>, hone.fqn = "q"
// TWO-SAME: #dist.sharding<{"tp"} p1, {}>, hone.fqn = "k"
// TWO-SAME: #dist.sharding<{"tp"} p1, {}>, hone.fqn = "v"
// TWO-SAME: #dist.sharding<{}, {"tp", "tp.r"} p1>, hone.fqn = "o"
// TWO-SAME: #dist.sharding<{"dp"}, {}, {}>, hone.fqn = "x"
//
// As many key heads as ranks, and more: one axis.
// RUN: hone-opt %t/two.mlir --dist-annotate="mesh=tp=2" 2>&1 | FileCheck %s --check-prefix=EVEN
// EVEN: dist.mesh @mesh [<"tp" = 2>]
// EVEN: #dist.sharding<{"tp"} p1, {}>, hone.fqn = "q"
// EVEN-SAME: #dist.sharding<{"tp"} p1, {}>, hone.fqn = "k"
//
// One key head: all ranks have copies.
// RUN: hone-opt %t/one.mlir --dist-annotate="mesh=tp=4" 2>&1 | FileCheck %s --check-prefix=ONE
// ONE-NOT: warning
// ONE: dist.mesh @mesh [<"tp" = 4>]
// ONE: #dist.sharding<{"tp"} p1, {}>, hone.fqn = "q"
// ONE-SAME: #dist.sharding<{}, {}>, hone.fqn = "k"
// ONE-SAME: #dist.sharding<{}, {}>, hone.fqn = "v"
// ONE-SAME: #dist.sharding<{}, {"tp"} p1>, hone.fqn = "o"
//
// Neither divides the other.
// RUN: not hone-opt %t/three.mlir --dist-annotate="mesh=tp=4" 2>&1 | FileCheck %s --check-prefix=THREE
// THREE: error: axis tp of 4 ranks divides none of 4 parameters, expected a size that does: 'q' (48x8: dimension 0 goes with one of size 3, no multiple of 4),
//
// More ranks than query heads.
// RUN: not hone-opt %t/two.mlir --dist-annotate="mesh=tp=8" 2>&1 | FileCheck %s --check-prefix=EIGHT
// EIGHT: error: axis tp of 8 ranks divides none of 4 parameters, expected a size that does: 'q' (16x8: dimension 0 goes with one of size 2, no multiple of 8),
//
// Two attentions, the first of which has as many key heads as there are ranks.
// RUN: hone-opt %t/both.mlir --dist-annotate="mesh=tp=4" 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH-NOT: warning
// BOTH: #dist.sharding<{"tp", "tp.r"} p1, {}>, hone.fqn = "q"
// BOTH-SAME: #dist.sharding<{"tp", "tp.r"} p1, {}>, hone.fqn = "k4"
// BOTH-SAME: #dist.sharding<{"tp"} p1, {}>, hone.fqn = "k2"

//--- two.mlir
func.func @forward(%q: tensor<16x8xf32> {hone.fqn = "q", hone.kind = "param"},
                   %k: tensor<8x8xf32> {hone.fqn = "k", hone.kind = "param"},
                   %v: tensor<8x8xf32> {hone.fqn = "v", hone.kind = "param"},
                   %o: tensor<8x16xf32> {hone.fqn = "o", hone.kind = "param"},
                   %x: tensor<2x6x8xf32> {hone.fqn = "x", hone.kind = "input"}) -> tensor<2x6x8xf32> {
  %0 = hone.dot_general %x, %q batch [] x [] contract [2] x [1] : tensor<2x6x8xf32>, tensor<16x8xf32> -> tensor<2x6x16xf32>
  %1 = hone.dot_general %x, %k batch [] x [] contract [2] x [1] : tensor<2x6x8xf32>, tensor<8x8xf32> -> tensor<2x6x8xf32>
  %2 = hone.dot_general %x, %v batch [] x [] contract [2] x [1] : tensor<2x6x8xf32>, tensor<8x8xf32> -> tensor<2x6x8xf32>
  %3 = hone.reshape %0 : tensor<2x6x16xf32> -> tensor<2x6x4x4xf32>
  %4 = hone.reshape %1 : tensor<2x6x8xf32> -> tensor<2x6x2x4xf32>
  %5 = hone.reshape %2 : tensor<2x6x8xf32> -> tensor<2x6x2x4xf32>
  %y, %lse = hone.attention %3, %4, %5 causal scale 0.5 : (tensor<2x6x4x4xf32>, tensor<2x6x2x4xf32>, tensor<2x6x2x4xf32>) -> (tensor<2x6x4x4xf32>, tensor<2x4x6xf32>)
  %6 = hone.reshape %y : tensor<2x6x4x4xf32> -> tensor<2x6x16xf32>
  %7 = hone.dot_general %6, %o batch [] x [] contract [2] x [1] : tensor<2x6x16xf32>, tensor<8x16xf32> -> tensor<2x6x8xf32>
  %8 = hone.softmax %7 : tensor<2x6x8xf32>
  return %8 : tensor<2x6x8xf32>
}

//--- one.mlir
func.func @forward(%q: tensor<16x8xf32> {hone.fqn = "q", hone.kind = "param"},
                   %k: tensor<4x8xf32> {hone.fqn = "k", hone.kind = "param"},
                   %v: tensor<4x8xf32> {hone.fqn = "v", hone.kind = "param"},
                   %o: tensor<8x16xf32> {hone.fqn = "o", hone.kind = "param"},
                   %x: tensor<2x6x8xf32> {hone.fqn = "x", hone.kind = "input"}) -> tensor<2x6x8xf32> {
  %0 = hone.dot_general %x, %q batch [] x [] contract [2] x [1] : tensor<2x6x8xf32>, tensor<16x8xf32> -> tensor<2x6x16xf32>
  %1 = hone.dot_general %x, %k batch [] x [] contract [2] x [1] : tensor<2x6x8xf32>, tensor<4x8xf32> -> tensor<2x6x4xf32>
  %2 = hone.dot_general %x, %v batch [] x [] contract [2] x [1] : tensor<2x6x8xf32>, tensor<4x8xf32> -> tensor<2x6x4xf32>
  %3 = hone.reshape %0 : tensor<2x6x16xf32> -> tensor<2x6x4x4xf32>
  %4 = hone.reshape %1 : tensor<2x6x4xf32> -> tensor<2x6x1x4xf32>
  %5 = hone.reshape %2 : tensor<2x6x4xf32> -> tensor<2x6x1x4xf32>
  %y, %lse = hone.attention %3, %4, %5 causal scale 0.5 : (tensor<2x6x4x4xf32>, tensor<2x6x1x4xf32>, tensor<2x6x1x4xf32>) -> (tensor<2x6x4x4xf32>, tensor<2x4x6xf32>)
  %6 = hone.reshape %y : tensor<2x6x4x4xf32> -> tensor<2x6x16xf32>
  %7 = hone.dot_general %6, %o batch [] x [] contract [2] x [1] : tensor<2x6x16xf32>, tensor<8x16xf32> -> tensor<2x6x8xf32>
  %8 = hone.softmax %7 : tensor<2x6x8xf32>
  return %8 : tensor<2x6x8xf32>
}

//--- three.mlir
func.func @forward(%q: tensor<48x8xf32> {hone.fqn = "q", hone.kind = "param"},
                   %k: tensor<12x8xf32> {hone.fqn = "k", hone.kind = "param"},
                   %v: tensor<12x8xf32> {hone.fqn = "v", hone.kind = "param"},
                   %o: tensor<8x48xf32> {hone.fqn = "o", hone.kind = "param"},
                   %x: tensor<2x6x8xf32> {hone.fqn = "x", hone.kind = "input"}) -> tensor<2x6x8xf32> {
  %0 = hone.dot_general %x, %q batch [] x [] contract [2] x [1] : tensor<2x6x8xf32>, tensor<48x8xf32> -> tensor<2x6x48xf32>
  %1 = hone.dot_general %x, %k batch [] x [] contract [2] x [1] : tensor<2x6x8xf32>, tensor<12x8xf32> -> tensor<2x6x12xf32>
  %2 = hone.dot_general %x, %v batch [] x [] contract [2] x [1] : tensor<2x6x8xf32>, tensor<12x8xf32> -> tensor<2x6x12xf32>
  %3 = hone.reshape %0 : tensor<2x6x48xf32> -> tensor<2x6x12x4xf32>
  %4 = hone.reshape %1 : tensor<2x6x12xf32> -> tensor<2x6x3x4xf32>
  %5 = hone.reshape %2 : tensor<2x6x12xf32> -> tensor<2x6x3x4xf32>
  %y, %lse = hone.attention %3, %4, %5 causal scale 0.5 : (tensor<2x6x12x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>) -> (tensor<2x6x12x4xf32>, tensor<2x12x6xf32>)
  %6 = hone.reshape %y : tensor<2x6x12x4xf32> -> tensor<2x6x48xf32>
  %7 = hone.dot_general %6, %o batch [] x [] contract [2] x [1] : tensor<2x6x48xf32>, tensor<8x48xf32> -> tensor<2x6x8xf32>
  %8 = hone.softmax %7 : tensor<2x6x8xf32>
  return %8 : tensor<2x6x8xf32>
}

//--- both.mlir
func.func @forward(%q: tensor<16x8xf32> {hone.fqn = "q", hone.kind = "param"},
                   %k4: tensor<16x8xf32> {hone.fqn = "k4", hone.kind = "param"},
                   %k2: tensor<8x8xf32> {hone.fqn = "k2", hone.kind = "param"},
                   %x: tensor<2x6x8xf32> {hone.fqn = "x", hone.kind = "input"}) -> tensor<2x6x4x4xf32> {
  %0 = hone.dot_general %x, %q batch [] x [] contract [2] x [1] : tensor<2x6x8xf32>, tensor<16x8xf32> -> tensor<2x6x16xf32>
  %1 = hone.dot_general %x, %k4 batch [] x [] contract [2] x [1] : tensor<2x6x8xf32>, tensor<16x8xf32> -> tensor<2x6x16xf32>
  %2 = hone.dot_general %x, %k2 batch [] x [] contract [2] x [1] : tensor<2x6x8xf32>, tensor<8x8xf32> -> tensor<2x6x8xf32>
  %3 = hone.reshape %0 : tensor<2x6x16xf32> -> tensor<2x6x4x4xf32>
  %4 = hone.reshape %1 : tensor<2x6x16xf32> -> tensor<2x6x4x4xf32>
  %5 = hone.reshape %2 : tensor<2x6x8xf32> -> tensor<2x6x2x4xf32>
  %y, %a = hone.attention %3, %4, %4 causal scale 0.5 : (tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>) -> (tensor<2x6x4x4xf32>, tensor<2x4x6xf32>)
  %z, %b = hone.attention %y, %5, %5 causal scale 0.5 : (tensor<2x6x4x4xf32>, tensor<2x6x2x4xf32>, tensor<2x6x2x4xf32>) -> (tensor<2x6x4x4xf32>, tensor<2x4x6xf32>)
  return %z : tensor<2x6x4x4xf32>
}
