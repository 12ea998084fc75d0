// RUN: hone-opt %s --split-input-file --verify-diagnostics --dist-verify

dist.mesh @mesh [<"dp" = 2>]
// A gradient that was not summed.
// expected-error@+2 {{result 0 differs between ranks along axis "dp", which does not divide it: expected a sum or a gather over that axis}}
// expected-note@+1 {{ranks begin to differ here}}
func.func @dropped(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<{}>}) {
  %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  return %g : tensor<6xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>, <"tp" = 2>]
// expected-error@+2 {{result 0 differs between ranks along axis "dp"}}
// expected-note@+1 {{ranks begin to differ here}}
func.func @wrong_axis(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<{}>}) {
  %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  %s = dist.all_reduce sum %g over ["tp"] : tensor<6xf32>
  return %s : tensor<6xf32>
}

// -----

dist.mesh @mesh [<"tp" = 2>]
// expected-error@+1 {{result 0 differs between ranks along axis "tp"}}
func.func @part(%x: tensor<4xf32>) -> tensor<2xf32> {
  // expected-note@+1 {{ranks begin to differ here}}
  %p = dist.shard %x dim 0 over ["tp"] : tensor<4xf32> -> tensor<2xf32>
  return %p : tensor<2xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
func.func @summed(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<{}>}) {
  %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  %s = dist.all_reduce sum %g over ["dp"] : tensor<6xf32>
  return %s : tensor<6xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// A part, though of the sum.
// expected-error@+2 {{result 0 differs between ranks along axis "dp"}}
// expected-note@+1 {{ranks begin to differ here}}
func.func @scattered(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<3xf32> {dist.sharding = #dist.sharding<{}>}) {
  %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  %s = dist.reduce_scatter sum %g dim 0 over ["dp"] : tensor<6xf32> -> tensor<3xf32>
  return %s : tensor<3xf32>
}
