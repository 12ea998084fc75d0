// RUN: split-file %s %t
// RUN: hone-opt %t/many.mlir --dist-propagate --dist-partition=report --dist-verify 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: hone-opt %t/many.mlir --dist-propagate --dist-partition="report max-splits=8192" --dist-verify 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: hone-opt %t/few.mlir --dist-propagate --dist-partition --dist-verify -o %t/best.mlir
// RUN: hone-opt %t/few.mlir --dist-propagate --dist-partition="report max-splits=1" --dist-verify -o %t/byaxis.mlir 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: diff %t/best.mlir %t/byaxis.mlir
// RUN: hone-opt %t/few.mlir --dist-propagate --dist-partition=report -o %t/again.mlir 2>&1 | count 0
// RUN: not hone-opt %t/few.mlir --dist-propagate --dist-partition="max-splits=-1" -o /dev/null 2>&1 | FileCheck %s --check-prefix=BELOW --implicit-check-not=error

// The ways to divide an op are exponential in the axes of the mesh: of more than 4096, one axis is decided after the other, and
// the report says so.

// BELOW: error: max-splits: expected 0 or more, got -1
// MANY: remark: search stopped at its bound: @many: 1 op has more than 4096 ways to be divided along the mesh (max-splits of dist-partition), the most 8192: their axes are decided one by one
// MANY: hone.neg %{{.+}} : tensor<1x2xf32>
// ALL-NOT: remark
// ALL: hone.neg %{{.+}} : tensor<1x2xf32>
// FEW: remark: search stopped at its bound: @few: 2 ops have more than 1 ways

//--- many.mlir
dist.mesh @mesh [<"a0" = 2>, <"a1" = 2>, <"a2" = 2>, <"a3" = 2>, <"a4" = 2>, <"a5" = 2>, <"a6" = 2>, <"a7" = 2>, <"a8" = 2>, <"a9" = 2>, <"a10" = 2>, <"a11" = 2>, <"a12" = 2>]
func.func @many(%x: tensor<8192x2xf32> {dist.sharding = #dist.sharding<{"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12"}, {}>}) -> tensor<8192x2xf32> {
  %y = hone.neg %x : tensor<8192x2xf32>
  return %y : tensor<8192x2xf32>
}

//--- few.mlir
dist.mesh @mesh [<"dp" = 2>, <"tp" = 2>]
func.func @few(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<{"dp"}, {"tp"}>},
               %w: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>})
    -> (tensor<8x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>}) {
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  %z = hone.neg %y : tensor<8x6xf32>
  return %z : tensor<8x6xf32>
}
