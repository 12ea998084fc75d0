// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-verify-groups))' --split-input-file --verify-diagnostics

// expected-error @+1 {{has no body of one block}}
func.func private @external()

// -----

// expected-error @+1 {{has no body of one block}}
func.func @branches() {
  cf.br ^end
^end:
  return
}
