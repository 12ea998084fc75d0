// RUN: hone-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{has axis "tp" twice, expected distinct names}}
dist.mesh @mesh_c1 [<"tp" = 2>, <"tp" = 4>]

// -----

// expected-error@+1 {{axis "tp" has size 0, expected at least 1}}
dist.mesh @mesh_c1_size [<"tp" = 0>]

// -----

dist.mesh @first [<"tp" = 2>]
// expected-error@+1 {{is the module's second, expected one}}
dist.mesh @mesh_c2 [<"tp" = 2>]

// -----

// expected-error@+1 {{has more ranks than 2^31 - 1, expected fewer}}
dist.mesh @mesh_c3 [<"a" = 65536>, <"b" = 65536>]

// -----

func.func @constrain_c1_mesh(%x: tensor<8xf32>) {
  // expected-error@+1 {{is in a module without dist.mesh, expected one}}
  %y = dist.constrain %x to <{}> : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @constrain_c1(%x: tensor<8xf32>) {
  // expected-error@+1 {{sharding has 2 dimensions, expected 1}}
  %y = dist.constrain %x to <{}, {"tp"}> : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @constrain_c1_partial(%x: tensor<8xf32>) {
  // expected-error@+1 {{has a partial sharding, expected none}}
  %y = dist.constrain %x to <{} partial sum ["tp"]> : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @constrain_c1_axis(%x: tensor<8xf32>) {
  // expected-error@+1 {{names axis "dp", expected one of the mesh}}
  %y = dist.constrain %x to <{"dp"}> : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @constrain_c1_twice(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{names axis "tp" twice, expected once}}
  %y = dist.constrain %x to <{"tp"}, {"tp"}> : tensor<8x8xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @constrain_c2(%x: tensor<9xf32>) {
  // expected-error@+1 {{dimension 0 of size 9 cannot be divided into 4 equal parts along "tp"}}
  %y = dist.constrain %x to <{"tp"}> : tensor<9xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @constrain_c2_cuts(%x: tensor<16xf32>) {
  // expected-error@+1 {{dimension 0 of size 16 has segments that cannot be divided into 4 equal parts along "tp"}}
  %y = dist.constrain %x to <{"tp" cuts [6]}> : tensor<16xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @constrain_cuts_outside(%x: tensor<16xf32>) {
  // expected-error@+1 {{dimension 0 has a cut at 16, expected ascending positions inside [1, 16)}}
  %y = dist.constrain %x to <{"tp" cuts [8, 16]}> : tensor<16xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @coordinate_c1() {
  // expected-error@+1 {{names axis "dp", expected one of the mesh}}
  %i = dist.coordinate ["dp"] : tensor<i64>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @all_reduce_c1(%x: tensor<8xf32>) {
  // expected-error@+1 {{names axis "tp" twice, expected once}}
  %y = dist.all_reduce sum %x over ["tp", "tp"] : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @all_gather_c1(%x: tensor<8xf32>) {
  // expected-error@+1 {{names axis "dp", expected one of the mesh}}
  %y = dist.all_gather %x dim 0 over ["dp"] : tensor<8xf32> -> tensor<32xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @all_gather_c2(%x: tensor<8xf32>) {
  // expected-error@+1 {{has parts of type 'tensor<8xf32>', expected 'tensor<4xf32>'}}
  %y = dist.all_gather %x dim 0 over ["tp"] : tensor<8xf32> -> tensor<16xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @all_gather_c2_dim(%x: tensor<8xf32>) {
  // expected-error@+1 {{has dimension 1, expected one of [0, 1)}}
  %y = dist.all_gather %x dim 1 over ["tp"] : tensor<8xf32> -> tensor<32xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @all_gather_c3(%x: tensor<8xf32>) {
  // expected-error@+1 {{dimension 0 of size 32 has segments that cannot be divided into 4 equal parts}}
  %y = dist.all_gather %x dim 0 over ["tp"] cuts [6] : tensor<8xf32> -> tensor<32xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @reduce_scatter_c1(%x: tensor<8xf32>) {
  // expected-error@+1 {{names axis "dp", expected one of the mesh}}
  %y = dist.reduce_scatter sum %x dim 0 over ["dp"] : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @reduce_scatter_c2(%x: tensor<8xf32>) {
  // expected-error@+1 {{has parts of type 'tensor<4xf32>', expected 'tensor<2xf32>'}}
  %y = dist.reduce_scatter sum %x dim 0 over ["tp"] : tensor<8xf32> -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @reduce_scatter_c3(%x: tensor<8xf32>) {
  // expected-error@+1 {{has a cut at 9, expected ascending positions inside [1, 8)}}
  %y = dist.reduce_scatter sum %x dim 0 over ["tp"] cuts [9] : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @all_to_all_c1(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{names axis "dp", expected one of the mesh}}
  %y = dist.all_to_all %x from 0 to 1 over ["dp"] : tensor<8x8xf32> -> tensor<32x2xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @all_to_all_c2(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{goes from dimension 0 to itself, expected two dimensions}}
  %y = dist.all_to_all %x from 0 to 0 over ["tp"] : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @all_to_all_c2_shape(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{has parts of type 'tensor<32x4xf32>', expected 'tensor<32x2xf32>'}}
  %y = dist.all_to_all %x from 0 to 1 over ["tp"] : tensor<8x8xf32> -> tensor<32x4xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @all_to_all_c3(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{dimension 1 of size 8 has segments that cannot be divided into 4 equal parts}}
  %y = dist.all_to_all %x from 0 to 1 cuts [2] over ["tp"] : tensor<8x8xf32> -> tensor<32x2xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @shard_c1(%x: tensor<8xf32>) {
  // expected-error@+1 {{names axis "dp", expected one of the mesh}}
  %y = dist.shard %x dim 0 over ["dp"] : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @shard_c2(%x: tensor<8x3xf32>) {
  // expected-error@+1 {{has parts of type 'tensor<2x1xf32>', expected 'tensor<2x3xf32>'}}
  %y = dist.shard %x dim 0 over ["tp"] : tensor<8x3xf32> -> tensor<2x1xf32>
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @shard_c3(%x: tensor<9xf32>) {
  // expected-error@+1 {{dimension 0 of size 9 cannot be divided into 4 equal parts}}
  %y = dist.shard %x dim 0 over ["tp"] : tensor<9xf32> -> tensor<2xf32>
  return
}

// -----

// expected-error@+1 {{argument 0 is sharded in a module without dist.mesh, expected one}}
func.func @no_mesh(%x: tensor<8xf32> {dist.sharding = #dist.sharding<{}>}) {
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
// expected-error@+1 {{argument 0 has type 'tensor<8xf32>' and a sharding of 2 dimensions, expected as many}}
func.func @rank(%x: tensor<8xf32> {dist.sharding = #dist.sharding<{}, {}>}) {
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
// expected-error@+1 {{has attribute "dist.sharing" = 1 : i64, expected dist.sharding with a #dist.sharding}}
func.func @unknown(%x: tensor<8xf32> {dist.sharing = 1 : i64}) {
  return
}

// -----

dist.mesh @mesh [<"tp" = 4>]
func.func @count(%x: tensor<8xf32>) {
  // expected-error@+1 {{has 2 shardings, expected one for each of 1 results}}
  %y = hone.neg %x {dist.shardings = [#dist.sharding<{}>, #dist.sharding<{}>]} : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh [<"cp" = 4>]
func.func @shift_c1(%x: tensor<8xf32>) {
  // expected-error@+1 {{'dist.shift' op names axis "dp", expected one of the mesh}}
  %y = dist.shift %x by 1 over ["dp"] : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh [<"cp" = 4>]
func.func @shift_c2(%x: tensor<8xf32>) {
  // expected-error@+1 {{'dist.shift' op shifts by 4, expected a number in [1, 4)}}
  %y = dist.shift %x by 4 over ["cp"] : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh [<"cp" = 4>]
func.func @shift_c3(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'dist.shift' op is async and read by 'hone.neg', expected 'dist.wait'}}
  %y = dist.shift %x by 1 over ["cp"] async : tensor<8xf32>
  %z = hone.neg %y : tensor<8xf32>
  return %z : tensor<8xf32>
}

// -----

dist.mesh @mesh [<"cp" = 4>]
func.func @wait_c1(%x: tensor<8xf32>) {
  %y = dist.shift %x by 1 over ["cp"] : tensor<8xf32>
  // expected-error@+1 {{'dist.wait' op waits for 'dist.shift', expected an async collective}}
  %z = dist.wait %y : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh [<"dp" = 2>]
func.func @all_reduce_c2(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'dist.all_reduce' op is async and read by 'hone.neg', expected 'dist.wait'}}
  %y = dist.all_reduce sum %x over ["dp"] async : tensor<8xf32>
  %z = hone.neg %y : tensor<8xf32>
  return %z : tensor<8xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
func.func @all_gather_c4(%x: tensor<8xf32>) -> tensor<16xf32> {
  // expected-error@+1 {{'dist.all_gather' op is async and read by 'hone.neg', expected 'dist.wait'}}
  %y = dist.all_gather %x dim 0 over ["dp"] async : tensor<8xf32> -> tensor<16xf32>
  %z = hone.neg %y : tensor<16xf32>
  return %z : tensor<16xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
func.func @reduce_scatter_c4(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'dist.reduce_scatter' op is async and read by 'hone.neg', expected 'dist.wait'}}
  %y = dist.reduce_scatter sum %x dim 0 over ["dp"] async : tensor<8xf32> -> tensor<4xf32>
  %z = hone.neg %y : tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
func.func @all_to_all_c4(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  // expected-error@+1 {{'dist.all_to_all' op is async and read by 'hone.neg', expected 'dist.wait'}}
  %y = dist.all_to_all %x from 0 to 1 over ["dp"] async : tensor<4x8xf32> -> tensor<8x4xf32>
  %z = hone.neg %y : tensor<8x4xf32>
  return %z : tensor<8x4xf32>
}

// -----

func.func @boundary_c1(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'dist.boundary' op is from chunk 1 to chunk 1, expected two different chunks, numbered from 0}}
  %y = dist.boundary %x from 1 to 1 : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

dist.mesh @mesh [<"cp" = 4>]
func.func @constrain_snake(%x: tensor<16xf32>) {
  // expected-error@+1 {{'dist.constrain' op dimension 0 is a snake without cuts, expected segments that take turns}}
  %y = dist.constrain %x to <{"cp" snake}> : tensor<16xf32>
  return
}

// -----

dist.mesh @mesh [<"cp" = 4>]
func.func @all_gather_snake(%x: tensor<8xf32>) {
  // expected-error@+1 {{'dist.all_gather' op is a snake without cuts, expected segments that take turns}}
  %y = dist.all_gather %x dim 0 over ["cp"] snake : tensor<8xf32> -> tensor<32xf32>
  return
}
