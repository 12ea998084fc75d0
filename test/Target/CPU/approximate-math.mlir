// RUN: hone-opt %s --hone-approximate-math --split-input-file | FileCheck %s

// CHECK-LABEL: @exp_of_a_vector
// CHECK-NOT: math.exp
// CHECK: math.fma {{.*}} : vector<16xf32>
func.func @exp_of_a_vector(%x: vector<16xf32>) -> vector<16xf32> {
  %r = math.exp %x : vector<16xf32>
  return %r : vector<16xf32>
}

// -----

// CHECK-LABEL: @log_tanh_erf
// CHECK-NOT: math.{{log|tanh|erf}}
// CHECK: return
func.func @log_tanh_erf(%x: vector<16xf32>) -> vector<16xf32> {
  %a = math.log %x : vector<16xf32>
  %b = math.tanh %a : vector<16xf32>
  %c = math.erf %b : vector<16xf32>
  return %c : vector<16xf32>
}

// -----

// Scalars too: rows end in one logarithm each.
// CHECK-LABEL: @log_of_a_scalar
// CHECK-NOT: math.log
// CHECK: return
func.func @log_of_a_scalar(%x: f32) -> f32 {
  %r = math.log %x : f32
  return %r : f32
}

// -----

// Machine instructions stay.
// CHECK-LABEL: @square_root
// CHECK: math.sqrt
func.func @square_root(%x: vector<16xf32>) -> vector<16xf32> {
  %r = math.sqrt %x : vector<16xf32>
  return %r : vector<16xf32>
}

// -----

// The estimate instructions of AVX2 differ between CPUs.
// CHECK-LABEL: @reciprocal_square_root
// CHECK-NOT: x86vector
// CHECK: math.rsqrt
func.func @reciprocal_square_root(%x: vector<16xf32>) -> vector<16xf32> {
  %r = math.rsqrt %x : vector<16xf32>
  return %r : vector<16xf32>
}
