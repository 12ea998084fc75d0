// RUN: hone-opt %s --verify-diagnostics --dist-propagate --dist-partition=warn-bytes=1024 -o /dev/null

dist.mesh @mesh [<"tp" = 4>]

// A softmax needs whole rows.
func.func @rows(%x: tensor<16x32xf32> {dist.sharding = #dist.sharding<{}, {"tp"}>, hone.fqn = "x"}) -> tensor<16x32xf32> {
  // expected-warning@+1 {{gathers operand 0, 2048 bytes, over axis "tp", by which argument 'x' divides it and the op cannot: all ranks along the axis compute the same}}
  %y = hone.softmax %x : tensor<16x32xf32>
  return %y : tensor<16x32xf32>
}

// Too little to speak of.
func.func @small(%x: tensor<4x32xf32> {dist.sharding = #dist.sharding<{}, {"tp"}>}) -> tensor<4x32xf32> {
  %y = hone.softmax %x : tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}

// A gathered weight, whose axis divides the batch.
func.func @voluntary(%x: tensor<64x32xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>},
                     %w: tensor<32x32xf32> {dist.sharding = #dist.sharding<{"tp"} p3, {}>}) -> tensor<64x32xf32> {
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<64x32xf32>, tensor<32x32xf32> -> tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}

// The annotation is further away.
func.func @constrained(%x: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %c = dist.constrain %x to <{}, {"tp"}> : tensor<16x32xf32>
  %n = hone.neg %c : tensor<16x32xf32>
  // expected-warning-re@+1 {{gathers operand 0, 2048 bytes, over axis "tp", by which the constraint at {{.*}}copies.mlir:{{[0-9]+}}:8 divides it}}
  %y = hone.softmax %n : tensor<16x32xf32>
  return %y : tensor<16x32xf32>
}
