// What ranks exchange in groups, also where it is waited for in another one.
// RUN: hone-opt %s --dist-propagate --dist-partition --hone-fuse-groups --hone-overlap-collectives=always -o %t
// RUN: FileCheck %s --check-prefix=GROUPS < %t
// RUN: hone-run --compare %s %t --ranks | FileCheck %s

dist.mesh @mesh [<"tp" = 2>]

// GROUPS: hone.fused collective
// GROUPS-NEXT: dist.all_gather {{.*}} async
// GROUPS: hone.fused collective
// GROUPS-NEXT: dist.wait
// CHECK: @step: equal
func.func @step(%part: tensor<8x4xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>, hone.kind = "input", hone.fqn = "part"},
                %copy: tensor<6x4xf32> {dist.sharding = #dist.sharding<{}, {}>, hone.kind = "input", hone.fqn = "copy"})
    -> (tensor<6x8xf32> {dist.sharding = #dist.sharding<{}, {}>}) {
  %e = hone.exp %copy : tensor<6x4xf32>
  %all = dist.constrain %part to <{}, {}> : tensor<8x4xf32>
  %y = hone.dot_general %e, %all batch [] x [] contract [1] x [1] : tensor<6x4xf32>, tensor<8x4xf32> -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}
