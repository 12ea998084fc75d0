// RUN: hone-opt %s --split-input-file --dist-propagate | FileCheck %s --check-prefix=SPREAD
// RUN: hone-opt %s --split-input-file --dist-propagate --dist-partition --dist-verify | FileCheck %s

dist.mesh @mesh [<"dp" = 2>]
// SPREAD-LABEL: @elementwise
// CHECK-LABEL: @elementwise(%arg0: tensor<4x4xf32>
func.func @elementwise(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>}) -> tensor<8x4xf32> {
  // SPREAD: hone.neg %{{.+}} {dist.shardings = [#dist.sharding<{"dp"} from "argument 0", {}>]} : tensor<8x4xf32>
  // CHECK: hone.neg %{{.+}} : tensor<4x4xf32>
  %y = hone.neg %x : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// A contraction whose summed dimension is divided gives terms.
dist.mesh @mesh [<"tp" = 2>]
// CHECK-LABEL: @contraction
func.func @contraction(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<{}, {"tp"}>},
                       %w: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>})
    -> (tensor<8x6xf32> {dist.sharding = #dist.sharding<{}, {}>}) {
  // CHECK: %[[Y:.+]] = hone.dot_general {{.+}} : tensor<8x2xf32>, tensor<2x6xf32> -> tensor<8x6xf32>
  // CHECK: %[[S:.+]] = dist.all_reduce sum %[[Y]] over ["tp"] : tensor<8x6xf32>
  // CHECK: return %[[S]]
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}

// -----

// Ids of a type without the positions that another rank's part has are shifted in 64 bits.
dist.mesh @mesh [<"tp" = 2>]
// CHECK-LABEL: @narrow_ids
func.func @narrow_ids(%table: tensor<300x4xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>}, %ids: tensor<6xi8>)
    -> (tensor<6x4xf32> {dist.sharding = #dist.sharding<{}, {}>}) {
  // CHECK: %[[IDS:.+]] = hone.cast %{{.+}} : tensor<6xi8> -> tensor<6xi64>
  // CHECK: hone.sub %[[IDS]], %{{.+}} : tensor<6xi64>
  // CHECK: hone.embedding %{{.+}}, %{{.+}} : tensor<150x4xf32>, tensor<6xi64> -> tensor<6x4xf32>
  %y = hone.embedding %table, %ids : tensor<300x4xf32>, tensor<6xi8> -> tensor<6x4xf32>
  return %y : tensor<6x4xf32>
}

// -----

// Queries, keys and values in one projection: cut where the slices cut, each divided by heads.
dist.mesh @mesh [<"tp" = 4>]
// SPREAD-LABEL: @packed
// SPREAD: hone.dot_general {{.+}} {dist.shardings = [#dist.sharding<{}, {"tp" cuts [32, 64]} from "argument 1">]}
// CHECK-LABEL: @packed
func.func @packed(%x: tensor<8x32xf32>, %w: tensor<32x96xf32> {dist.sharding = #dist.sharding<{}, {"tp" cuts [32, 64]}>})
    -> (tensor<8x8x4xf32> {dist.sharding = #dist.sharding<{}, {"tp"}, {}>}) {
  // CHECK: hone.dot_general {{.+}} -> tensor<8x24xf32>
  // CHECK: hone.slice %{{.+}} [0, 8] to [8, 16] by [1, 1] : tensor<8x24xf32> -> tensor<8x8xf32>
  // CHECK: hone.reshape %{{.+}} : tensor<8x8xf32> -> tensor<8x2x4xf32>
  // CHECK-NOT: dist.
  // CHECK: return
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x32xf32>, tensor<32x96xf32> -> tensor<8x96xf32>
  %k = hone.slice %p [0, 32] to [8, 64] by [1, 1] : tensor<8x96xf32> -> tensor<8x32xf32>
  %h = hone.reshape %k : tensor<8x32xf32> -> tensor<8x8x4xf32>
  return %h : tensor<8x8x4xf32>
}

// -----

// The loss of a divided vocabulary: three numbers per row, never the logits.
dist.mesh @mesh [<"tp" = 4>]
// CHECK-LABEL: @vocabulary
// CHECK-DAG: dist.all_reduce max %{{.+}} over ["tp"] : tensor<8xf32>
// CHECK-DAG: dist.all_reduce sum %{{.+}} over ["tp"] : tensor<8xf32>
// CHECK-DAG: dist.all_reduce sum %{{.+}} over ["tp"] : tensor<8xf32>
// CHECK-NOT: dist.all_gather
func.func @vocabulary(%x: tensor<8x64xf32> {dist.sharding = #dist.sharding<{}, {"tp"}>}, %t: tensor<8xi64>)
    -> (tensor<f32> {dist.sharding = #dist.sharding<>}) {
  %l, %s = hone.cross_entropy mean %x, %t ignore_index -100 label_smoothing 0.0
      : tensor<8x64xf32>, tensor<8xi64> -> tensor<f32>, tensor<8xf32>
  return %l : tensor<f32>
}

// -----

// A mean over rows that ranks share counts the targets of all.
dist.mesh @mesh [<"dp" = 4>]
// CHECK-LABEL: @mean
// CHECK: hone.cross_entropy sum
// CHECK: dist.all_reduce sum %{{.+}} over ["dp"] : tensor<f32>
// CHECK: hone.div
// CHECK: dist.all_reduce sum %{{.+}} over ["dp"] : tensor<f32>
func.func @mean(%x: tensor<8x64xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>},
                %t: tensor<8xi64> {dist.sharding = #dist.sharding<{"dp"}>})
    -> (tensor<f32> {dist.sharding = #dist.sharding<>}) {
  %l, %s = hone.cross_entropy mean %x, %t ignore_index -100 label_smoothing 0.0
      : tensor<8x64xf32>, tensor<8xi64> -> tensor<f32>, tensor<8xf32>
  return %l : tensor<f32>
}

// -----

// Tensors that are divided alike have one norm, the others another.
dist.mesh @mesh [<"fs" = 2>, <"tp" = 2>]
// CHECK-LABEL: @norm
// CHECK: hone.global_norm %arg0, %arg2
// CHECK: dist.all_reduce sum %{{.+}} over ["fs"]
// CHECK: hone.global_norm %arg1
// CHECK-NOT: dist.
// CHECK: hone.sqrt
func.func @norm(%a: tensor<8xf32> {dist.sharding = #dist.sharding<{"fs"}>},
                %b: tensor<8xf32> {dist.sharding = #dist.sharding<{}>},
                %c: tensor<4x8xf32> {dist.sharding = #dist.sharding<{}, {"fs"}>})
    -> (tensor<f32> {dist.sharding = #dist.sharding<>}) {
  %n = hone.global_norm %a, %b, %c : (tensor<8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> tensor<f32>
  return %n : tensor<f32>
}

// -----

// A gathered value is gathered once.
dist.mesh @mesh [<"fs" = 2>]
// CHECK-LABEL: @once
// CHECK: dist.all_gather
// CHECK-NOT: dist.all_gather
func.func @once(%w: tensor<8x4xf32> {dist.sharding = #dist.sharding<{"fs"} p1, {}>},
                %x: tensor<6x8xf32> {dist.sharding = #dist.sharding<{"fs"}, {}>})
    -> (tensor<6x4xf32> {dist.sharding = #dist.sharding<{"fs"}, {}>}, tensor<6x4xf32> {dist.sharding = #dist.sharding<{"fs"}, {}>}) {
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
  %t = hone.tanh %x : tensor<6x8xf32>
  %z = hone.dot_general %t, %w batch [] x [] contract [1] x [0] : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
  return %y, %z : tensor<6x4xf32>, tensor<6x4xf32>
}

// -----

// Terms that are added up are summed once.
dist.mesh @mesh [<"tp" = 2>]
// CHECK-LABEL: @added
func.func @added(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<{}, {"tp"}>}, %y: tensor<8x4xf32> {dist.sharding = #dist.sharding<{}, {"tp"}>},
                 %w: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>})
    -> (tensor<48xf32> {dist.sharding = #dist.sharding<{}>}) {
  // CHECK: %[[A:.+]] = hone.dot_general
  // CHECK-NEXT: %[[B:.+]] = hone.dot_general
  // CHECK-NEXT: %[[M:.+]] = hone.neg %[[B]]
  // CHECK-NEXT: %[[S:.+]] = hone.add %[[A]], %[[M]]
  // CHECK-NEXT: %[[R:.+]] = dist.all_reduce sum %[[S]] over ["tp"] : tensor<8x6xf32>
  // CHECK-NEXT: hone.reshape %[[R]]
  // CHECK-NOT: dist.all_reduce
  %a = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  %b = hone.dot_general %y, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  %m = hone.neg %b : tensor<8x6xf32>
  %s = hone.add %a, %m : tensor<8x6xf32>
  %r = hone.reshape %s : tensor<8x6xf32> -> tensor<48xf32>
  return %r : tensor<48xf32>
}

// -----

// What another op reads is summed before, and so is what is added to no terms.
dist.mesh @mesh [<"tp" = 2>]
// CHECK-LABEL: @read
func.func @read(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<{}, {"tp"}>}, %y: tensor<8x6xf32>,
                %w: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>})
    -> (tensor<8x6xf32> {dist.sharding = #dist.sharding<{}, {}>}, tensor<8x6xf32> {dist.sharding = #dist.sharding<{}, {}>}) {
  // CHECK: %[[A:.+]] = hone.dot_general
  // CHECK-NEXT: %[[S:.+]] = dist.all_reduce sum %[[A]]
  // CHECK-NEXT: hone.add %[[S]]
  // CHECK-NEXT: hone.tanh %[[S]]
  %a = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  %s = hone.add %a, %y : tensor<8x6xf32>
  %t = hone.tanh %a : tensor<8x6xf32>
  return %s, %t : tensor<8x6xf32>, tensor<8x6xf32>
}

// -----

// So are both of two that are added where one has another reader.
dist.mesh @mesh [<"tp" = 2>]
// CHECK-LABEL: @read_twice
func.func @read_twice(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<{}, {"tp"}>}, %y: tensor<8x4xf32> {dist.sharding = #dist.sharding<{}, {"tp"}>},
                      %w: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>})
    -> (tensor<8x6xf32> {dist.sharding = #dist.sharding<{}, {}>}, tensor<8x6xf32> {dist.sharding = #dist.sharding<{}, {}>}) {
  // CHECK: %[[A:.+]] = hone.dot_general
  // CHECK-NEXT: %[[SA:.+]] = dist.all_reduce sum %[[A]]
  // CHECK-NEXT: %[[B:.+]] = hone.dot_general
  // CHECK-NEXT: %[[SB:.+]] = dist.all_reduce sum %[[B]]
  // CHECK-NEXT: hone.add %[[SB]], %[[SA]]
  // CHECK-NEXT: hone.tanh %[[SA]]
  %a = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  %b = hone.dot_general %y, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  %s = hone.add %b, %a : tensor<8x6xf32>
  %t = hone.tanh %a : tensor<8x6xf32>
  return %s, %t : tensor<8x6xf32>, tensor<8x6xf32>
}

// -----

// A gradient across micro-batches: scattered along fs each time, along rep in the update alone.
dist.mesh @mesh [<"rep" = 2>, <"fs" = 2>]
// CHECK-LABEL: @micro_batch
// CHECK-SAME: -> (tensor<2x6xf32> {dist.sharding = #dist.sharding<{"fs"}, {} partial sum ["rep"]>
func.func @micro_batch(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<{"rep", "fs"}, {}>},
                       %dy: tensor<8x6xf32> {dist.sharding = #dist.sharding<{"rep", "fs"}, {}>},
                       %g: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"fs"}, {} partial sum ["rep"]>, hone.kind = "grad"})
    -> (tensor<4x6xf32> {dist.sharding = #dist.sharding<{"fs"}, {} partial sum ["rep"]>, hone.kind = "grad"}) {
  // CHECK: %[[D:.+]] = hone.dot_general
  // CHECK-NEXT: %[[S:.+]] = dist.reduce_scatter sum %[[D]] dim 0 over ["fs"] : tensor<4x6xf32> -> tensor<2x6xf32>
  // CHECK-NEXT: %[[G:.+]] = hone.add %[[S]], %arg2
  // CHECK-NEXT: return %[[G]]
  %d = hone.dot_general %x, %dy batch [] x [] contract [0] x [0] : tensor<8x4xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %s = hone.add %d, %g : tensor<4x6xf32>
  return %s : tensor<4x6xf32>
}

// -----

// Wanted as terms, what no rank has as terms is the first rank's.
dist.mesh @mesh [<"dp" = 2>]
// CHECK-LABEL: @first
func.func @first(%g: tensor<4xf32>) -> (tensor<4xf32> {dist.sharding = #dist.sharding<{} partial sum ["dp"]>, hone.kind = "grad"}) {
  // CHECK-DAG: %[[N:.+]] = hone.neg
  // CHECK-DAG: %[[I:.+]] = dist.coordinate ["dp"]
  // CHECK-DAG: %[[F:.+]] = hone.cmp eq, %[[I]]
  // CHECK: %[[B:.+]] = hone.broadcast %[[F]]
  // CHECK: hone.select %[[B]], %[[N]]
  %n = hone.neg %g : tensor<4xf32>
  return %n : tensor<4xf32>
}

// -----

// What is added to terms that stay terms is added by the first rank.
dist.mesh @mesh [<"dp" = 2>]
// CHECK-LABEL: @accumulated
func.func @accumulated(%x: tensor<4xf32>, %g: tensor<4xf32> {dist.sharding = #dist.sharding<{} partial sum ["dp"]>, hone.kind = "grad"})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<{} partial sum ["dp"]>, hone.kind = "grad"}) {
  // CHECK: %[[T:.+]] = hone.select %{{.+}}, %arg0
  // CHECK: %[[S:.+]] = hone.add %arg1, %[[T]]
  // CHECK-NEXT: return %[[S]]
  %s = hone.add %g, %x : tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

// Ranks along "tp.r" share a key head: its gradient is a partial sum there.
dist.mesh @mesh [<"tp" = 2>, <"tp.r" = 2>]
// SPREAD-LABEL: @key_heads
// SPREAD-SAME: %{{[a-z0-9]+}}: tensor<2x6x2x8xf32> {dist.sharding = #dist.sharding<{}, {}, {"tp"} from {{.+}}, {}>}
// CHECK-LABEL: @key_heads
// CHECK-SAME: %[[K:.+]]: tensor<2x6x1x8xf32> {{.*}}, %[[LSE:.+]]: tensor<2x1x6xf32>
// CHECK: %{{.+}}, %[[DK:.+]], %[[DV:.+]] = hone.attention_bwd
// CHECK-DAG: dist.all_reduce sum %[[DK]] over ["tp.r"] : tensor<2x6x1x8xf32>
// CHECK-DAG: dist.all_reduce sum %[[DV]] over ["tp.r"] : tensor<2x6x1x8xf32>
// CHECK-NOT: dist.
// CHECK: return
func.func @key_heads(%q: tensor<2x6x4x8xf32> {dist.sharding = #dist.sharding<{}, {}, {"tp", "tp.r"}, {}>},
                     %k: tensor<2x6x2x8xf32>, %lse: tensor<2x4x6xf32>)
    -> (tensor<2x6x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>) {
  %dq, %dk, %dv = hone.attention_bwd %q, %q, %k, %k, %q, %lse causal scale 0.5
      : (tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x4x8xf32>, tensor<2x4x6xf32>)
      -> (tensor<2x6x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>)
  return %dq, %dk, %dv : tensor<2x6x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>
}

// -----

// Segments go with the batch, and are the same on all ranks that divide heads.
dist.mesh @mesh [<"dp" = 2>, <"tp" = 2>]
// CHECK-LABEL: @segments(
// CHECK-NEXT: hone.attention {{.+}} mask %{{.+}} causal scale 5.000000e-01 : (tensor<2x6x2x8xf32>, {{.+}}, tensor<2x6xi32>)
// CHECK-NOT: dist.
// CHECK: return
func.func @segments(%q: tensor<4x6x4x8xf32> {dist.sharding = #dist.sharding<{"dp"}, {}, {"tp"}, {}>},
                    %ids: tensor<4x6xi32> {dist.sharding = #dist.sharding<{"dp"}, {}>}) -> tensor<4x6x4x8xf32> {
  %o, %lse = hone.attention %q, %q, %q mask %ids causal scale 0.5
      : (tensor<4x6x4x8xf32>, tensor<4x6x4x8xf32>, tensor<4x6x4x8xf32>, tensor<4x6xi32>)
      -> (tensor<4x6x4x8xf32>, tensor<4x4x6xf32>)
  return %o : tensor<4x6x4x8xf32>
}

// -----

// Queries that are divided are told where they begin, causal or not. Keys and ids of all positions are gathered: a query
// may see any key.
dist.mesh @mesh [<"tp" = 2>]
// CHECK-LABEL: @divided_segments(
// CHECK: dist.all_gather {{.+}} : tensor<4x3x4x8xf32> -> tensor<4x6x4x8xf32>
// CHECK: dist.all_gather {{.+}} : tensor<4x3xi32> -> tensor<4x6xi32>
// CHECK: %[[RANK:.+]] = dist.coordinate ["tp"]
// CHECK: %[[FIRST:.+]] = hone.add %{{.+}}, %{{.+}} : tensor<1xi64>
// CHECK: hone.attention {{.+}} mask %{{.+}}, %[[FIRST]] scale {{.+}} : (tensor<4x3x4x8xf32>, tensor<4x6x4x8xf32>, tensor<4x6x4x8xf32>, tensor<4x6xi32>, tensor<1xi64>)
func.func @divided_segments(%q: tensor<4x6x4x8xf32> {dist.sharding = #dist.sharding<{}, {"tp"}, {}, {}>},
                            %ids: tensor<4x6xi32> {dist.sharding = #dist.sharding<{}, {"tp"}>}) -> tensor<4x6x4x8xf32> {
  %o, %lse = hone.attention %q, %q, %q mask %ids scale 0.5
      : (tensor<4x6x4x8xf32>, tensor<4x6x4x8xf32>, tensor<4x6x4x8xf32>, tensor<4x6xi32>)
      -> (tensor<4x6x4x8xf32>, tensor<4x4x6xf32>)
  return %o : tensor<4x6x4x8xf32>
}

// -----

// Of two partial sums that are added, one is so along fewer axes: their sum is reduced once, along all.
dist.mesh @mesh [<"a" = 2>, <"b" = 2>]
// CHECK-LABEL: @sum_along_more
// CHECK: %[[P:.+]] = hone.dot_general {{.+}} : tensor<8x1xf32>, tensor<1x6xf32>
// CHECK: %[[Q:.+]] = hone.dot_general {{.+}} : tensor<8x2xf32>, tensor<2x6xf32>
// CHECK: dist.coordinate ["b"]
// CHECK: %[[ONE:.+]] = hone.select %{{.+}}, %[[Q]], %{{.+}}
// CHECK: %[[S:.+]] = hone.add %[[P]], %[[ONE]]
// CHECK: %[[R:.+]] = dist.all_reduce sum %[[S]] over ["a", "b"]
// CHECK: return %[[R]]
func.func @sum_along_more(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<{}, {"a", "b"}>},
                          %w: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"a", "b"}, {}>},
                          %y: tensor<8x4xf32> {dist.sharding = #dist.sharding<{}, {"a"}>},
                          %v: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"a"}, {}>})
    -> (tensor<8x6xf32> {dist.sharding = #dist.sharding<{}, {}>}) {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  %q = hone.dot_general %y, %v batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  %s = hone.add %p, %q : tensor<8x6xf32>
  return %s : tensor<8x6xf32>
}
