// RUN: hone-opt %s --split-input-file | FileCheck %s
// RUN: hone-opt %s --split-input-file --mlir-print-op-generic | hone-opt --split-input-file | FileCheck %s

// CHECK: dist.mesh @mesh [<"dp" = 2 over "net">, <"tp" = 4 over "nvlink">]
dist.mesh @mesh [<"dp" = 2 over "net">, <"tp" = 4 over "nvlink">]

// CHECK-LABEL: @constrain
// CHECK-SAME: %{{.+}}: tensor<8x1024x768xf32> {dist.sharding = #dist.sharding<{"dp"}, {}, {"tp" cuts [256]}>}
func.func @constrain(%x: tensor<8x1024x768xf32> {dist.sharding = #dist.sharding<{"dp"}, {}, {"tp" cuts [256]}>}) {
  // CHECK: dist.constrain %{{.+}} to <{"dp"}, {"tp"} p2, {}> : tensor<8x1024x768xf32>
  %y = dist.constrain %x to <{"dp"}, {"tp"} p2, {}> : tensor<8x1024x768xf32>
  // CHECK: <{"dp"}, {"tp", ? cuts [512] snake} p2, {}>
  %w = dist.constrain %x to <{"dp"}, {"tp", ? cuts [512] snake} p2, {}> : tensor<8x1024x768xf32>
  // CHECK: <{?}, {"dp", ?}, {"tp", ? cuts [64, 128]} p1>
  %z = dist.constrain %x to <{?}, {"dp", ?}, {"tp", ? cuts [64, 128]} p1> : tensor<8x1024x768xf32>
  return
}

// CHECK-LABEL: @shardings
func.func @shardings(%x: tensor<8x4xf32>, %s: tensor<f32> {dist.sharding = #dist.sharding<>}) {
  // CHECK: {dist.shardings = [#dist.sharding<{"dp"}, {} partial sum ["tp"]>]}
  %y = hone.neg %x {dist.shardings = [#dist.sharding<{"dp"}, {} partial sum ["tp"]>]} : tensor<8x4xf32>
  // CHECK: {dist.shardings = [#dist.sharding<partial max ["tp"]>]}
  %z = hone.neg %s {dist.shardings = [#dist.sharding<partial max ["tp"]>]} : tensor<f32>
  return
}

// -----

dist.mesh @mesh [<"dp" = 2>, <"fs" = 8>, <"tp" = 4>, <"cp" = 4>]

// CHECK-LABEL: @coordinate
func.func @coordinate() {
  // CHECK: dist.coordinate ["fs", "tp"] : tensor<i64>
  %i = dist.coordinate ["fs", "tp"] : tensor<i64>
  return
}

// CHECK-LABEL: @all_reduce
func.func @all_reduce(%x: tensor<768x768xf32>) {
  // CHECK: dist.all_reduce sum %{{.+}} over ["dp"] : tensor<768x768xf32>
  %y = dist.all_reduce sum %x over ["dp"] : tensor<768x768xf32>
  return
}

// CHECK-LABEL: @all_gather
func.func @all_gather(%part: tensor<96x768xbf16>) {
  // CHECK: dist.all_gather %{{.+}} dim 0 over ["fs"] : tensor<96x768xbf16> -> tensor<768x768xbf16>
  %w = dist.all_gather %part dim 0 over ["fs"] : tensor<96x768xbf16> -> tensor<768x768xbf16>
  // CHECK: dist.all_gather %{{.+}} dim 0 over ["fs"] cuts [384] snake again : tensor<96x768xbf16> -> tensor<768x768xbf16>
  %s = dist.all_gather %part dim 0 over ["fs"] cuts [384] snake again : tensor<96x768xbf16> -> tensor<768x768xbf16>
  // CHECK: dist.all_gather %{{.+}} dim 0 over ["fs"] cuts [256, 512] : tensor<96x768xbf16> -> tensor<768x768xbf16>
  %v = dist.all_gather %part dim 0 over ["fs"] cuts [256, 512] : tensor<96x768xbf16> -> tensor<768x768xbf16>
  return
}

// CHECK-LABEL: @reduce_scatter
func.func @reduce_scatter(%dw: tensor<768x768xf32>) {
  // CHECK: dist.reduce_scatter sum %{{.+}} dim 0 over ["fs"] : tensor<768x768xf32> -> tensor<96x768xf32>
  %g = dist.reduce_scatter sum %dw dim 0 over ["fs"] : tensor<768x768xf32> -> tensor<96x768xf32>
  return
}

// CHECK-LABEL: @all_to_all
func.func @all_to_all(%x: tensor<2x256x16x64xbf16>) {
  // CHECK: dist.all_to_all %{{.+}} from 1 to 2 over ["cp"] : tensor<2x256x16x64xbf16> -> tensor<2x1024x4x64xbf16>
  %y = dist.all_to_all %x from 1 to 2 over ["cp"] : tensor<2x256x16x64xbf16> -> tensor<2x1024x4x64xbf16>
  // CHECK: from 1 cuts [512] snake to 2 over ["cp"]
  %w = dist.all_to_all %x from 1 cuts [512] snake to 2 over ["cp"] : tensor<2x256x16x64xbf16> -> tensor<2x1024x4x64xbf16>
  // CHECK: from 1 cuts [512] to 2 cuts [8] over ["cp"]
  %z = dist.all_to_all %x from 1 cuts [512] to 2 cuts [8] over ["cp"] : tensor<2x256x16x64xbf16> -> tensor<2x1024x4x64xbf16>
  return
}

// CHECK-LABEL: @shard
func.func @shard(%whole: tensor<8x1024xf32>) {
  // CHECK: dist.shard %{{.+}} dim 1 over ["tp"] : tensor<8x1024xf32> -> tensor<8x256xf32>
  %x = dist.shard %whole dim 1 over ["tp"] : tensor<8x1024xf32> -> tensor<8x256xf32>
  return
}

// CHECK-LABEL: @again
func.func @again(%part: tensor<96x768xbf16>) {
  // CHECK: dist.all_gather %{{.+}} dim 0 over ["fs"] again : tensor<96x768xbf16> -> tensor<768x768xbf16>
  %w = dist.all_gather %part dim 0 over ["fs"] again : tensor<96x768xbf16> -> tensor<768x768xbf16>
  return
}

// CHECK-LABEL: @shift
func.func @shift(%own: tensor<2x256x64xbf16>) {
  // CHECK: dist.shift %{{.+}} by 1 over ["cp"] : tensor<2x256x64xbf16>
  %k = dist.shift %own by 1 over ["cp"] : tensor<2x256x64xbf16>
  return
}

// CHECK-LABEL: @wait
func.func @wait(%x: tensor<768x768xf32>, %part: tensor<96x768xf32>) {
  // CHECK: %[[A:.+]] = dist.all_reduce sum %{{.+}} over ["dp"] async : tensor<768x768xf32>
  %a = dist.all_reduce sum %x over ["dp"] async : tensor<768x768xf32>
  // CHECK: dist.wait %[[A]] : tensor<768x768xf32>
  %y = dist.wait %a : tensor<768x768xf32>
  // CHECK: %[[G:.+]] = dist.all_gather %{{.+}} dim 0 over ["fs"] again async
  %g = dist.all_gather %part dim 0 over ["fs"] again async : tensor<96x768xf32> -> tensor<768x768xf32>
  // CHECK: %[[R:.+]] = dist.reduce_scatter sum %{{.+}} dim 0 over ["fs"] async
  %r = dist.reduce_scatter sum %x dim 0 over ["fs"] async : tensor<768x768xf32> -> tensor<96x768xf32>
  // CHECK: %[[T:.+]] = dist.all_to_all %{{.+}} from 0 to 1 over ["fs"] async
  %t = dist.all_to_all %part from 0 to 1 over ["fs"] async : tensor<96x768xf32> -> tensor<768x96xf32>
  // CHECK: %[[S:.+]] = dist.shift %{{.+}} by 3 over ["cp"] async
  %s = dist.shift %x by 3 over ["cp"] async : tensor<768x768xf32>
  // CHECK: dist.wait %[[G]]
  %1 = dist.wait %g : tensor<768x768xf32>
  // CHECK: dist.wait %[[R]]
  %2 = dist.wait %r : tensor<96x768xf32>
  // CHECK: dist.wait %[[T]]
  %3 = dist.wait %t : tensor<768x96xf32>
  // CHECK: dist.wait %[[S]]
  %4 = dist.wait %s : tensor<768x768xf32>
  return
}

// CHECK-LABEL: @source
// CHECK-SAME: #dist.sharding<{"fs"} p3 from "argument 'w'", {?}>
func.func @source(%x: tensor<8x4xf32> {dist.regather, dist.sharding = #dist.sharding<{"fs"} p3 from "argument 'w'", {?}>}) {
  return
}

// -----

// CHECK-LABEL: @stages
func.func @stages(%h: tensor<4x256x768xf32>, %squares: tensor<2xf32>, %w: tensor<768x768xf32>) {
  // CHECK: dist.boundary %{{.+}} from 0 to 1 : tensor<4x256x768xf32>
  %h1 = dist.boundary %h from 0 to 1 : tensor<4x256x768xf32>
  // CHECK: dist.boundary %{{.+}} of "wte.weight" from 0 to 3 : tensor<768x768xf32>
  %w3 = dist.boundary %w of "wte.weight" from 0 to 3 : tensor<768x768xf32>
  // CHECK: dist.turn %{{.+}} to 1 : tensor<4x256x768xf32>
  %g = dist.turn %h to 1 : tensor<4x256x768xf32>
  // CHECK: dist.stage_sum %{{.+}} : tensor<2xf32>
  %s = dist.stage_sum %squares : tensor<2xf32>
  return
}
