// RUN: hone-opt %s --dist-annotate="mesh=rep=2@net,fs=4@nvlink" | FileCheck %s --check-prefixes=CHECK,ZERO3
// RUN: hone-opt %s --dist-annotate="mesh=rep=2@net,fs=4@nvlink fsdp=zero2" | FileCheck %s --check-prefixes=CHECK,ZERO2
// RUN: hone-opt %s --dist-annotate="mesh=rep=2@net,fs=4@nvlink fsdp=zero1" | FileCheck %s --check-prefixes=CHECK,ZERO1
// RUN: hone-opt %s --dist-annotate=mesh=dp=8 | FileCheck %s --check-prefix=DDP
// RUN: hone-opt %s --dist-annotate="mesh=rep=2@net,fs=4@nvlink fsdp=zero3-keep" | FileCheck %s --check-prefix=KEEP
// RUN: not hone-opt %s --dist-annotate=mesh=dp=3 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not hone-opt %s --dist-annotate=mesh=xp=2 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not hone-opt %s --dist-annotate="mesh=fs=2 fsdp=zero4" 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: not hone-opt %s --dist-annotate="mesh=fs=2@foo" 2>&1 | FileCheck %s --check-prefix=LINK
// RUN: not hone-opt %s --dist-annotate="mesh=pp=2,dp=2" 2>&1 | FileCheck %s --check-prefix=STAGES

// CHECK: dist.mesh @mesh [<"rep" = 2 over "net">, <"fs" = 4 over "nvlink">]
// CHECK-LABEL: @accumulate
// ZERO3-SAME: tensor<64x256xf32> {dist.regather, dist.sharding = #dist.sharding<{"fs"} p3, {}>, hone.fqn = "w"
// ZERO2-SAME: tensor<64x256xf32> {dist.sharding = #dist.sharding<{}, {}>, hone.fqn = "w"
// ZERO1-SAME: tensor<64x256xf32> {dist.sharding = #dist.sharding<{}, {}>, hone.fqn = "w"
// The outermost dimension that 4 divides; none.
// ZERO3-SAME: tensor<6x8xf32> {dist.regather, dist.sharding = #dist.sharding<{}, {"fs"} p3>
// CHECK-SAME: tensor<3xf32> {dist.sharding = #dist.sharding<{}>
// ZERO3-SAME: tensor<64x256xf32> {dist.sharding = #dist.sharding<{"fs"} p3, {} partial sum ["rep"]>, hone.fqn = "w", hone.kind = "grad"
// ZERO2-SAME: tensor<64x256xf32> {dist.sharding = #dist.sharding<{"fs"} p3, {} partial sum ["rep"]>, hone.fqn = "w", hone.kind = "grad"
// ZERO1-SAME: tensor<64x256xf32> {dist.sharding = #dist.sharding<{}, {} partial sum ["rep", "fs"]>, hone.fqn = "w", hone.kind = "grad"
// CHECK-SAME: tensor<64x256xf32> {dist.sharding = #dist.sharding<{"fs"} p3, {}>, hone.fqn = "w.m", hone.kind = "opt"
// CHECK-SAME: tensor<8x16xi64> {dist.sharding = #dist.sharding<{"rep", "fs"}, {}>, hone.fqn = "tokens"
// CHECK-SAME: tensor<f32> {dist.sharding = #dist.sharding<>, hone.fqn = "lr"
// CHECK-SAME: -> (tensor<64x256xf32> {dist.sharding = #dist.sharding<{"fs"} p3, {}>, hone.donates = 4 : i64
// KEEP-NOT: dist.regather
// DDP: dist.mesh @mesh [<"dp" = 8>]
// DDP: tensor<64x256xf32> {dist.sharding = #dist.sharding<{}, {}>, hone.fqn = "w.m"
// BATCH: error: input 'tokens' has 8 rows, expected a multiple of 3, the ranks that share the batch; the exported batch is that of all ranks together
// AXIS: error: mesh has axis 'xp=2': expected an axis pp, rep, dp, fs, ep, cp or tp with its size, as fs=4 or fs=4@nvlink
// STAGES: error: mesh has axis pp of 2 ranks, expected a module that dist-assign-stages has cut, before hone-autodiff
// LINK: error: 'dist.mesh' op has axis 'fs' over 'foo', expected host, net, nvlink or pcie
// LINK-NOT: error:
// LEVEL: error: fsdp is 'zero4', expected zero1, zero2, zero3, zero3-keep
func.func @accumulate(%w: tensor<64x256xf32> {hone.fqn = "w", hone.kind = "param"},
                      %s: tensor<6x8xf32> {hone.fqn = "s", hone.kind = "param"},
                      %b: tensor<3xf32> {hone.fqn = "b", hone.kind = "param"},
                      %g: tensor<64x256xf32> {hone.fqn = "w", hone.kind = "grad"},
                      %m: tensor<64x256xf32> {hone.fqn = "w.m", hone.kind = "opt"},
                      %t: tensor<8x16xi64> {hone.fqn = "tokens", hone.kind = "input"},
                      %lr: tensor<f32> {hone.fqn = "lr", hone.kind = "scalar"})
    -> (tensor<64x256xf32> {hone.donates = 4 : i64, hone.fqn = "w.m", hone.kind = "opt"}) {
  %n = hone.neg %m : tensor<64x256xf32>
  return %n : tensor<64x256xf32>
}
