// RUN: hone-opt %s --split-input-file --verify-diagnostics --dist-verify

// Rows that are all equal, as many as one sequence of a rank has, are the rank's shard of sequences.
dist.mesh @mesh [<"fs" = 2>]
func.func @equal(%x: tensor<1x4x6xf32> {dist.sharding = #dist.sharding<{"fs"}, {}, {}>},
                 %v: tensor<6xf32> {dist.sharding = #dist.sharding<{}>})
    -> (tensor<1x4x6xf32> {dist.sharding = #dist.sharding<{"fs"}, {}, {}>}) {
  %rows = hone.broadcast %v dims [1] : tensor<6xf32> -> tensor<4x6xf32>
  %own = hone.reshape %rows : tensor<4x6xf32> -> tensor<1x4x6xf32>
  %y = hone.add %x, %own : tensor<1x4x6xf32>
  return %y : tensor<1x4x6xf32>
}

// -----

// Along the elements of a row they differ.
dist.mesh @mesh [<"fs" = 2>]
// expected-error@+1 {{result 0 holds replicas along axis "fs", expected shards of dimension 2}}
func.func @different(%v: tensor<6xf32> {dist.sharding = #dist.sharding<{}>})
    -> (tensor<1x4x6xf32> {dist.sharding = #dist.sharding<{}, {}, {"fs"}>}) {
  %rows = hone.broadcast %v dims [1] : tensor<6xf32> -> tensor<4x6xf32>
  %own = hone.reshape %rows : tensor<4x6xf32> -> tensor<1x4x6xf32>
  return %own : tensor<1x4x6xf32>
}
