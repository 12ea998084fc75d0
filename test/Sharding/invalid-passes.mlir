// RUN: hone-opt %s --split-input-file --verify-diagnostics --dist-propagate --dist-partition --dist-verify

// expected-error@-3 {{has no dist.mesh, expected one}}
func.func @no_mesh(%x: tensor<8xf32>) {
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
// expected-error@+1 {{argument 'head.bias' dimension 0 of size 9 cannot be divided into 4 equal parts along "tp"}}
func.func @uneven(%x: tensor<9xf32> {dist.sharding = #dist.sharding<{"tp"}>, hone.fqn = "head.bias"}) {
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
// expected-error@+1 {{argument 0 names axis "dp", expected one of the mesh}}
func.func @unknown_axis(%x: tensor<8xf32> {dist.sharding = #dist.sharding<{"dp"}>}) {
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
// expected-error@+1 {{argument 0 of kind 'param' is annotated with a partial sharding, expected one of a gradient, and a sum}}
func.func @partial(%x: tensor<8xf32> {dist.sharding = #dist.sharding<{} partial sum ["tp"]>, hone.kind = "param"}) {
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @no_rule(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{has no sharding rule, expected an op that answers HoneOpInterface}}
  %y = func.call @no_rule(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

dist.mesh @mesh [<"a" = 2>, <"b" = 2>]
// expected-error@+1 {{result 0 annotates dimension 0 of a value that has another annotation, expected the same}}
func.func @two(%x: tensor<8xf32>) -> (tensor<8xf32> {dist.sharding = #dist.sharding<{"a"}>}) {
  %y = dist.constrain %x to <{"b"}> : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

dist.mesh @mesh [<"tp" = 4>]
// expected-error@+1 {{result 0 of kind 'grad' is annotated with a partial sharding, expected one of a gradient, and a sum}}
func.func @largest(%x: tensor<8xf32>)
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<{} partial max ["tp"]>, hone.kind = "grad"}) {
  return %x : tensor<8xf32>
}
