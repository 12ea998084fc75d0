// The update's state lies in the second arena: four parts, while each of which the next one's state is copied up and that
// of the one before is copied down.
// RUN: hone-opt %s --hone-fuse-groups --hone-offload-state="what=state chunk=300 report" 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t.remarks
// RUN: hone-opt %s --hone-fuse-groups --hone-offload-state="what=state chunk=300" --hone-plan-memory --hone-verify-plan | FileCheck %s --check-prefix=PLAN
// RUN: hone-opt %s --hone-fuse-groups --hone-offload-state="what=state" --hone-plan-memory --hone-verify-plan | FileCheck %s --check-prefix=ONE
// RUN: hone-opt %s --hone-fuse-groups --hone-offload-state="what=off" | FileCheck %s --check-prefix=OFF
// RUN: hone-opt %s --hone-fuse-groups --hone-offload-state="what=auto budget=3008 chunk=300" --hone-plan-memory | FileCheck %s --check-prefix=AUTO
// RUN: hone-opt %s --hone-fuse-groups --hone-offload-state="what=auto budget=3264" | FileCheck %s --check-prefix=OFF
// RUN: not hone-opt %s --hone-fuse-groups --hone-offload-state="what=values" 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not hone-opt %s --hone-fuse-groups --hone-offload-state="what=auto" 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: not hone-opt %s --hone-fuse-groups --hone-offload-state="what=state chunk=-1" 2>&1 | FileCheck %s --check-prefix=CHUNK
// RUN: not hone-opt %s --hone-fuse-groups --hone-offload-state="what=state host-memory=700" 2>&1 | FileCheck %s --check-prefix=HOST

// WORD: option 'offload' is 'values', expected auto, state, weights, activations or off
// BUDGET: option 'offload' is 'auto', which moves what a budget needs, expected memory-budget=SIZE or offload=state
// CHUNK: option 'offload' moves -1 bytes at a time (offload-chunk), expected at least 1
// HOST: the second arena needs {{.*}} (1024 bytes), expected at most host-memory of {{.*}}700
// REPORT: the second arena holds 4 of 4 tensors of state that the update alone reads, {{.*}}
// OFF-LABEL: func.func @update
// OFF-NOT: plan.host

// CHECK-LABEL: func.func @update(
// CHECK-SAME: hone.fqn = "momentum.a", hone.kind = "opt", plan.host}
// CHECK-SAME: hone.fqn = "momentum.d", hone.kind = "opt", plan.host}
// CHECK: hone.fused multi_tensor
// CHECK: hone.sgd
// CHECK-NEXT: hone.yield
// CHECK-COUNT-3: hone.fused multi_tensor
// CHECK-NOT: hone.fused
// CHECK: return

// PLAN: plan.program @program arena 3008 host 1024
// PLAN-DAG: plan.argument "momentum.a" kind "opt" host at 0 : tensor<64xf32>
// PLAN-DAG: plan.argument "momentum.d" kind "opt" host at 768 : tensor<64xf32>
// PLAN: plan.copy up %{{.+}} at 0 token 0 : memref<64xf32>
// PLAN: plan.copy up %{{.+}} at 256 token 2 : memref<64xf32>
// PLAN-NEXT: plan.wait 0
// PLAN: plan.launch multi_tensor
// PLAN: plan.copy down %{{.+}} at 0 token 1 : memref<64xf32>
// PLAN: plan.copy up %{{.+}} at 512 token 4 : memref<64xf32>
// PLAN-NEXT: plan.wait 2
// PLAN: plan.launch multi_tensor
// PLAN: plan.copy down %{{.+}} at 256 token 3 : memref<64xf32>
// PLAN: plan.wait 1
// PLAN: plan.copy up %{{.+}} at 768 token 6 : memref<64xf32>
// PLAN-NEXT: plan.wait 4
// PLAN: plan.launch multi_tensor
// PLAN: plan.copy down %{{.+}} at 512 token 5 : memref<64xf32>
// PLAN: plan.wait 3
// PLAN-NEXT: plan.wait 6
// PLAN: plan.launch multi_tensor
// PLAN: plan.copy down %{{.+}} at 768 token 7 : memref<64xf32>
// PLAN-NEXT: plan.wait 5
// PLAN-NEXT: plan.wait 7

// ONE: plan.wait 0
// ONE: plan.launch multi_tensor
// ONE-NOT: plan.launch
// ONE: plan.wait 1

// Only with all four are there fewer bytes: three parts have memory at a time.
// AUTO: plan.program @program arena 3008 host 1024

func.func @update(%a: tensor<64xf32> {hone.kind = "param", hone.fqn = "a"},
                  %b: tensor<64xf32> {hone.kind = "param", hone.fqn = "b"},
                  %c: tensor<64xf32> {hone.kind = "param", hone.fqn = "c"},
                  %d: tensor<64xf32> {hone.kind = "param", hone.fqn = "d"},
                  %ma: tensor<64xf32> {hone.kind = "opt", hone.fqn = "momentum.a"},
                  %mb: tensor<64xf32> {hone.kind = "opt", hone.fqn = "momentum.b"},
                  %mc: tensor<64xf32> {hone.kind = "opt", hone.fqn = "momentum.c"},
                  %md: tensor<64xf32> {hone.kind = "opt", hone.fqn = "momentum.d"},
                  %ga: tensor<64xf32> {hone.kind = "grad", hone.fqn = "a"},
                  %gb: tensor<64xf32> {hone.kind = "grad", hone.fqn = "b"},
                  %gc: tensor<64xf32> {hone.kind = "grad", hone.fqn = "c"},
                  %gd: tensor<64xf32> {hone.kind = "grad", hone.fqn = "d"},
                  %lr: tensor<f32> {hone.kind = "scalar", hone.fqn = "lr"},
                  %wd: tensor<f32> {hone.kind = "scalar", hone.fqn = "weight_decay"},
                  %s: tensor<f32> {hone.kind = "scalar", hone.fqn = "clip"}) ->
    (tensor<64xf32> {hone.kind = "param", hone.fqn = "a", hone.donates = 0 : i64},
     tensor<64xf32> {hone.kind = "param", hone.fqn = "b", hone.donates = 1 : i64},
     tensor<64xf32> {hone.kind = "param", hone.fqn = "c", hone.donates = 2 : i64},
     tensor<64xf32> {hone.kind = "param", hone.fqn = "d", hone.donates = 3 : i64},
     tensor<64xf32> {hone.kind = "opt", hone.fqn = "momentum.a", hone.donates = 4 : i64},
     tensor<64xf32> {hone.kind = "opt", hone.fqn = "momentum.b", hone.donates = 5 : i64},
     tensor<64xf32> {hone.kind = "opt", hone.fqn = "momentum.c", hone.donates = 6 : i64},
     tensor<64xf32> {hone.kind = "opt", hone.fqn = "momentum.d", hone.donates = 7 : i64}) {
  %pa, %ba = hone.sgd %a, %ga lr %lr weight_decay %wd grad_scale %s buffer %ma {momentum = 0.9}
      : (tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  %pb, %bb = hone.sgd %b, %gb lr %lr weight_decay %wd grad_scale %s buffer %mb {momentum = 0.9}
      : (tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  %pc, %bc = hone.sgd %c, %gc lr %lr weight_decay %wd grad_scale %s buffer %mc {momentum = 0.9}
      : (tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  %pd, %bd = hone.sgd %d, %gd lr %lr weight_decay %wd grad_scale %s buffer %md {momentum = 0.9}
      : (tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  return %pa, %pb, %pc, %pd, %ba, %bb, %bc, %bd
      : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
