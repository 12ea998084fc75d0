// RUN: hone-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{hone.mesh_invariant is no unit attribute, expected a unit attribute on a module}}
module attributes {hone.mesh_invariant = false} {}

// -----

// expected-error@+1 {{hone.mesh_invariant is on no module, expected a unit attribute on a module}}
func.func @f() attributes {hone.mesh_invariant} {
  return
}
