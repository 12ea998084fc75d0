// RUN: hone-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{hone.exact is no unit attribute, expected a unit attribute on a module}}
module attributes {hone.exact = false} {}

// -----

// expected-error@+1 {{hone.exact is on no module, expected a unit attribute on a module}}
func.func @f() attributes {hone.exact} {
  return
}
