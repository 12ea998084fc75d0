// RUN: hone-opt %s --pass-pipeline='builtin.module(gpu.module(hone-approximate-device-math))' --split-input-file | FileCheck %s

gpu.module @device {
  // The product with log2 e in two parts, and one instruction.
  // CHECK-LABEL: @exp
  // CHECK: arith.minimumf
  // CHECK: arith.maximumf
  // CHECK: %[[HIGH:.*]] = arith.mulf
  // CHECK-COUNT-2: math.fma
  // CHECK: %[[POWER:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"(%[[HIGH]]) : (f32) -> f32
  // CHECK: %[[FACTOR:.*]] = math.fma
  // CHECK: arith.mulf %[[POWER]], %[[FACTOR]]
  // CHECK-NOT: math.exp
  gpu.func @exp(%x: f32) -> f32 {
    %r = math.exp %x : f32
    gpu.return %r : f32
  }
}

// -----

gpu.module @device {
  // Arithmetic on whole vectors, an instruction per element.
  // CHECK-LABEL: @exp_of_a_vector
  // CHECK: arith.mulf {{.*}} : vector<2xf32>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"
  // CHECK: vector.insert
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"
  // CHECK: vector.insert
  // CHECK-NOT: llvm.call_intrinsic
  // CHECK: gpu.return
  gpu.func @exp_of_a_vector(%x: vector<2xf32>) -> vector<2xf32> {
    %r = math.exp %x : vector<2xf32>
    gpu.return %r : vector<2xf32>
  }
}

// -----

gpu.module @device {
  // CHECK-LABEL: @instructions
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"
  // CHECK: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"
  // CHECK: math.sqrt
  gpu.func @instructions(%x: f32) -> f32 {
    %a = math.exp2 %x : f32
    %b = math.rsqrt %a : f32
    %c = math.sqrt %b : f32
    gpu.return %c : f32
  }
}

// -----

gpu.module @device {
  // CHECK-LABEL: @quotients
  // CHECK: %[[RECIPROCAL:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
  // CHECK-NEXT: %[[HALF:.*]] = arith.divf {{.*}}, %[[RECIPROCAL]] fastmath<afn>
  // CHECK-NEXT: arith.divf {{.*}}, %[[HALF]] : f32
  gpu.func @quotients(%x: f32) -> f32 {
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %a = arith.divf %one, %x fastmath<afn> : f32
    %b = arith.divf %half, %a fastmath<afn> : f32
    %c = arith.divf %one, %b : f32
    gpu.return %c : f32
  }
}

// -----

gpu.module @device {
  // Two polynomials, an instruction, and a choice between two results.
  // CHECK-LABEL: @erf
  // CHECK-COUNT-6: math.fma
  // CHECK: arith.minimumf
  // CHECK-COUNT-6: math.fma
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"
  // CHECK: arith.select
  // CHECK-NOT: arith.select
  // CHECK: gpu.return
  gpu.func @erf(%x: f32) -> f32 {
    %r = math.erf %x : f32
    gpu.return %r : f32
  }
}

// -----

gpu.module @device {
  // As on the CPU.
  // CHECK-LABEL: @polynomials
  // CHECK-NOT: math.{{log|tanh|sin|cos}}
  // CHECK: gpu.return
  gpu.func @polynomials(%x: f32) -> f32 {
    %a = math.log %x : f32
    %b = math.tanh %a : f32
    %d = math.sin %b : f32
    %e = math.cos %d : f32
    gpu.return %e : f32
  }
}

// -----

gpu.module @device {
  // f64 has neither.
  // CHECK-LABEL: @doubles
  // CHECK: math.exp
  gpu.func @doubles(%x: f64) -> f64 {
    %a = math.exp %x : f64
    gpu.return %a : f64
  }
}
