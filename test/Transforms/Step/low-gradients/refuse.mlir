// RUN: hone-opt %s --split-input-file --hone-low-gradients --verify-diagnostics
// RUN: not hone-opt %s --hone-low-gradients=type=f16 2>&1 | FileCheck %s
// CHECK: error: type of gradients is 'f16', expected f32 or bf16

// expected-error@+1 {{type of gradients is bf16, and hone.precision is 'fp32', whose products write f32; expected --precision=bf16, fp16, bf16-sr or one of fp8 with it}}
module {
}

// -----

// expected-error@+1 {{type of gradients is bf16, whose sums round as often as there are ranks; expected --gradients=f32 with --exact}}
module attributes {hone.mesh_invariant, hone.precision = "bf16"} {
}
