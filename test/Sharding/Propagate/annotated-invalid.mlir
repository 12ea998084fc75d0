// RUN: hone-opt %s --split-input-file --dist-annotate --verify-diagnostics

// expected-error@-3 {{has no dist.mesh, expected one or axes in option mesh}}
func.func @no_mesh(%x: tensor<8xf32> {hone.fqn = "x", hone.kind = "input"}) {
  return
}

// -----

// expected-error@-3 {{has no function with an input, expected one to see what its weights are for}}
dist.mesh @mesh [<"dp" = 2>]
func.func @no_input(%w: tensor<8xf32> {hone.fqn = "w", hone.kind = "param"}) {
  return
}

// -----

dist.mesh @mesh [<"dp" = 3>]
// expected-error@+1 {{argument 'x' dimension 0 of size 8 cannot be divided into 3 equal parts along "dp"}}
func.func @uneven(%x: tensor<8xf32> {dist.sharding = #dist.sharding<{"dp"}>, hone.fqn = "x", hone.kind = "input"}) {
  return
}
