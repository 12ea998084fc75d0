// RUN: hone-opt %s --split-input-file --hone-verify-import --verify-diagnostics | FileCheck %s

// CHECK: dist.mesh @mesh
dist.mesh @mesh [<"dp" = 2>, <"tp" = 4>]
// CHECK-LABEL: @forward
func.func @forward(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>, hone.kind = "input", hone.fqn = "x"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  // CHECK: dist.constrain
  %y = dist.constrain %x to <{"dp"}, {"tp"}> : tensor<8x4xf32>
  %l = hone.reduce sum %y dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// expected-error@+1 {{argument 0 ('x') names axis "tp", expected one of the mesh}}
func.func @forward(%x: tensor<8xf32> {dist.sharding = #dist.sharding<{"tp"}>, hone.kind = "input", hone.fqn = "x"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %l = hone.reduce sum %x dims [0] : tensor<8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

dist.mesh @mesh [<"tp" = 3>]
// expected-error@+1 {{argument 0 ('x') dimension 0 of size 8 cannot be divided into 3 equal parts along "tp"}}
func.func @forward(%x: tensor<8xf32> {dist.sharding = #dist.sharding<{"tp"}>, hone.kind = "input", hone.fqn = "x"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %l = hone.reduce sum %x dims [0] : tensor<8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

dist.mesh @mesh [<"tp" = 2>]
// expected-error@+1 {{argument 0 ('x') has a partial sharding, expected one of parts or copies: only gradients are partial}}
func.func @forward(%x: tensor<8xf32> {dist.sharding = #dist.sharding<{} partial sum ["tp"]>, hone.kind = "input", hone.fqn = "x"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %l = hone.reduce sum %x dims [0] : tensor<8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

dist.mesh @mesh [<"tp" = 2>]
func.func @forward(%x: tensor<8xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  // expected-error@+1 {{has a result that nothing reads, expected a reader: it holds for the result alone}}
  %y = dist.constrain %x to <{"tp"}> : tensor<8xf32>
  %l = hone.reduce sum %x dims [0] : tensor<8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// What ranks exchange is the compiler's.
dist.mesh @mesh [<"tp" = 2>]
func.func @forward(%x: tensor<8xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  // expected-error@+1 {{is not an op of the hone dialect}}
  %y = dist.all_reduce sum %x over ["tp"] : tensor<8xf32>
  %l = hone.reduce sum %y dims [0] : tensor<8xf32> -> tensor<f32>
  return %l : tensor<f32>
}
