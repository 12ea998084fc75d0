// RUN: hone-opt %s --split-input-file --verify-diagnostics --dist-verify

// Sums over ranks have the order and the roundings of the mesh; those of whole numbers, and the largest of floats, do not.
module attributes {hone.mesh_invariant} {
  dist.mesh @mesh [<"dp" = 2>]
  func.func @counts(%x: tensor<4x6xi64> {dist.sharding = #dist.sharding<{"dp"}, {}>}, %y: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
      -> (tensor<6xi64> {dist.sharding = #dist.sharding<{}>}, tensor<6xf32> {dist.sharding = #dist.sharding<{}>}) {
    %g = hone.reduce sum %x dims [0] : tensor<4x6xi64> -> tensor<6xi64>
    %s = dist.all_reduce sum %g over ["dp"] : tensor<6xi64>
    %h = hone.reduce max %y dims [0] : tensor<4x6xf32> -> tensor<6xf32>
    %m = dist.all_reduce max %h over ["dp"] : tensor<6xf32>
    return %s, %m : tensor<6xi64>, tensor<6xf32>
  }
  func.func @sum(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
      -> (tensor<6xf32> {dist.sharding = #dist.sharding<{}>}) {
    %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
    // expected-error@+1 {{sums over ranks, expected none in a mesh-invariant module}}
    %s = dist.all_reduce sum %g over ["dp"] : tensor<6xf32>
    return %s : tensor<6xf32>
  }
}

// -----

module attributes {hone.mesh_invariant} {
  dist.mesh @mesh [<"dp" = 2>]
  func.func @scattered(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
      -> (tensor<3xf32> {dist.sharding = #dist.sharding<{"dp"}>}) {
    %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
    // expected-error@+1 {{sums over ranks, expected none in a mesh-invariant module}}
    %s = dist.reduce_scatter sum %g dim 0 over ["dp"] : tensor<6xf32> -> tensor<3xf32>
    return %s : tensor<3xf32>
  }
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// A gradient that was not summed.
// expected-error@+1 {{result 0 holds partial sums along axis "dp", expected replicas: a sum or a gather over that axis}}
func.func @dropped(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<{}>}) {
  // expected-note@+1 {{ranks begin to differ here}}
  %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  return %g : tensor<6xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>, <"tp" = 2>]
func.func @wrong_axis(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<{}>}) {
  %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  // expected-error@+1 {{takes replicas along axis "tp", expected partial sums, as along axis "dp"}}
  %s = dist.all_reduce sum %g over ["tp"] : tensor<6xf32>
  return %s : tensor<6xf32>
}

// -----

dist.mesh @mesh [<"tp" = 2>]
// expected-error@+1 {{result 0 holds shards of dimension 0 along axis "tp"}}
func.func @part(%x: tensor<4xf32>) -> tensor<2xf32> {
  // expected-note@+1 {{ranks begin to differ here}}
  %p = dist.shard %x dim 0 over ["tp"] : tensor<4xf32> -> tensor<2xf32>
  return %p : tensor<2xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
func.func @summed(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<{}>}) {
  %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  %s = dist.all_reduce sum %g over ["dp"] : tensor<6xf32>
  return %s : tensor<6xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// A part, though of the sum.
// expected-error@+1 {{result 0 holds shards of dimension 0 along axis "dp"}}
func.func @scattered(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<3xf32> {dist.sharding = #dist.sharding<{}>}) {
  // expected-note@+1 {{ranks begin to differ here}}
  %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  %s = dist.reduce_scatter sum %g dim 0 over ["dp"] : tensor<6xf32> -> tensor<3xf32>
  return %s : tensor<3xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// Terms that go on as if they were the sum.
func.func @root(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<{}>}) {
  // expected-note@+1 {{ranks begin to differ here}}
  %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  // expected-error@+1 {{takes partial sums over axis "dp" as if they were the sum: expected a sum over that axis before}}
  %r = hone.sqrt %g : tensor<6xf32>
  %s = dist.all_reduce sum %r over ["dp"] : tensor<6xf32>
  return %s : tensor<6xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// What all ranks have would be added once by each.
func.func @added(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>}, %b: tensor<6xf32>)
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<{}>}) {
  // expected-note@+1 {{ranks begin to differ here}}
  %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  // expected-error@+1 {{takes partial sums over axis "dp" as if they were the sum}}
  %r = hone.add %g, %b : tensor<6xf32>
  %s = dist.all_reduce sum %r over ["dp"] : tensor<6xf32>
  return %s : tensor<6xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// Terms are added up before their sum, and what repeats one number may be such.
func.func @terms(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>}, %m: tensor<6xi1>,
                 %g: tensor<6xf32> {dist.sharding = #dist.sharding<{} partial sum ["dp"]>, hone.kind = "grad"})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<{} partial sum ["dp"]>, hone.kind = "grad"}) {
  %t = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  %zero = hone.constant dense<0.0> : tensor<6xf32>
  %own = hone.select %m, %t, %zero : tensor<6xi1>, tensor<6xf32>
  %s = hone.add %own, %g : tensor<6xf32>
  return %s : tensor<6xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// expected-error@+1 {{result 0 holds replicas along axis "dp", expected partial sums}}
func.func @copies(%x: tensor<6xf32>)
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<{} partial sum ["dp"]>, hone.kind = "grad"}) {
  return %x : tensor<6xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// expected-error@+2 {{result 0 holds partial sums along axis "dp", expected shards of dimension 0}}
// expected-note@+1 {{ranks begin to differ here}}
func.func @unscattered(%g: tensor<3xf32> {dist.sharding = #dist.sharding<{} partial sum ["dp"]>, hone.kind = "grad"})
    -> (tensor<3xf32> {dist.sharding = #dist.sharding<{"dp"}>, hone.kind = "grad"}) {
  return %g : tensor<3xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// expected-error@+2 {{result 0 holds shards of dimension 0 along axis "dp", expected partial sums}}
// expected-note@+1 {{ranks begin to differ here}}
func.func @parts(%g: tensor<3xf32> {dist.sharding = #dist.sharding<{"dp"}>, hone.kind = "grad"})
    -> (tensor<3xf32> {dist.sharding = #dist.sharding<{} partial sum ["dp"]>, hone.kind = "grad"}) {
  return %g : tensor<3xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// A part of terms is no part of their sum.
func.func @shard_of_terms(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<3xf32> {dist.sharding = #dist.sharding<{"dp"}>}) {
  // expected-note@+1 {{ranks begin to differ here}}
  %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  // expected-error@+1 {{takes partial sums along axis "dp", expected replicas}}
  %s = dist.shard %g dim 0 over ["dp"] : tensor<6xf32> -> tensor<3xf32>
  return %s : tensor<3xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// Nor are terms parts.
func.func @gather_of_terms(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<12xf32> {dist.sharding = #dist.sharding<{}>}) {
  // expected-note@+1 {{ranks begin to differ here}}
  %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  // expected-error@+1 {{takes partial sums along axis "dp", expected shards of dimension 0}}
  %s = dist.all_gather %g dim 0 over ["dp"] : tensor<6xf32> -> tensor<12xf32>
  return %s : tensor<12xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// The largest term says nothing of the sum.
func.func @max_of_terms(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<{}>}) {
  // expected-note@+1 {{ranks begin to differ here}}
  %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  // expected-error@+1 {{takes partial sums along axis "dp", expected partial maxima}}
  %s = dist.all_reduce max %g over ["dp"] : tensor<6xf32>
  return %s : tensor<6xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// A sum that is taken twice counts each term as often as there are ranks.
func.func @twice(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<{}>}) {
  %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  %s = dist.all_reduce sum %g over ["dp"] : tensor<6xf32>
  // expected-error@+1 {{takes replicas along axis "dp", expected partial sums}}
  %t = dist.all_reduce sum %s over ["dp"] : tensor<6xf32>
  return %t : tensor<6xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// Rows of one rank are added to those of another.
// expected-note@+1 {{ranks begin to differ here}}
func.func @sum_of_parts(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<4x6xf32>) {
  // expected-error@+1 {{takes shards of dimension 0 along axis "dp", expected partial sums}}
  %s = dist.all_reduce sum %x over ["dp"] : tensor<4x6xf32>
  return %s : tensor<4x6xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// Parts side by side in a dimension that was whole.
// expected-note@+1 {{ranks begin to differ here}}
func.func @gather_of_other_dim(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<4x12xf32>) {
  // expected-error@+1 {{takes shards of dimension 0 along axis "dp", expected shards of dimension 1}}
  %s = dist.all_gather %x dim 1 over ["dp"] : tensor<4x6xf32> -> tensor<4x12xf32>
  return %s : tensor<4x12xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// Parts of columns are made of whole rows.
// expected-note@+1 {{ranks begin to differ here}}
func.func @all_to_all_of_other_dim(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<2x12xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>}) {
  // expected-error@+1 {{takes shards of dimension 0 along axis "dp", expected shards of dimension 1}}
  %s = dist.all_to_all %x from 1 to 0 over ["dp"] : tensor<4x6xf32> -> tensor<2x12xf32>
  return %s : tensor<2x12xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// expected-error@+2 {{result 0 holds shards of dimension 0 along axis "dp", expected shards of dimension 1}}
// expected-note@+1 {{ranks begin to differ here}}
func.func @other_dim(%x: tensor<6x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<6x6xf32> {dist.sharding = #dist.sharding<{}, {"dp"}>}) {
  return %x : tensor<6x6xf32>
}

// -----

dist.mesh @mesh [<"a" = 2>, <"b" = 2>]
// What is reduced of repeated numbers are terms along each axis, until they are summed over it.
func.func @repeated(%x: tensor<6xf32>) -> (tensor<3xf32> {dist.sharding = #dist.sharding<{"a"}>}) {
  %rows = hone.broadcast %x dims [1] : tensor<6xf32> -> tensor<4x6xf32>
  %same = hone.reduce sum %rows dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  %s = dist.reduce_scatter sum %same dim 0 over ["a"] : tensor<6xf32> -> tensor<3xf32>
  %t = dist.all_reduce sum %s over ["b"] : tensor<3xf32>
  return %t : tensor<3xf32>
}

// -----

dist.mesh @mesh [<"a" = 2>, <"b" = 2>]
func.func @repeated_twice(%x: tensor<6xf32>) -> tensor<6xf32> {
  %rows = hone.broadcast %x dims [1] : tensor<6xf32> -> tensor<4x6xf32>
  %same = hone.reduce sum %rows dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  %s = dist.all_reduce sum %same over ["a"] : tensor<6xf32>
  // expected-error@+1 {{takes replicas along axis "a", expected partial sums}}
  %t = dist.all_reduce sum %s over ["b", "a"] : tensor<6xf32>
  return %t : tensor<6xf32>
}

// -----

dist.mesh @mesh [<"a" = 2>]
// Numbers are no terms because they repeat.
func.func @repeated_numbers(%x: tensor<f32>) -> tensor<6xf32> {
  %same = hone.broadcast %x dims [] : tensor<f32> -> tensor<6xf32>
  // expected-error@+1 {{takes replicas along axis "a", expected partial sums}}
  %s = dist.all_reduce sum %same over ["a"] : tensor<6xf32>
  return %s : tensor<6xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// What was divided, into parts of one, is in one of the dimensions beside it behind a reshape, and in no other.
func.func @hidden(%x: tensor<1x6x5xf32> {dist.sharding = #dist.sharding<{"dp"}, {}, {}>})
    -> (tensor<6x5xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>}) {
  %y = hone.reshape %x : tensor<1x6x5xf32> -> tensor<6x5xf32>
  return %y : tensor<6x5xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// expected-error@+2 {{result 0 holds shards of dimension 0 along axis "dp", expected shards of dimension 1}}
// expected-note@+1 {{ranks begin to differ here}}
func.func @reshaped(%x: tensor<1x6x5xf32> {dist.sharding = #dist.sharding<{"dp"}, {}, {}>})
    -> (tensor<6x5xf32> {dist.sharding = #dist.sharding<{}, {"dp"}>}) {
  %y = hone.reshape %x : tensor<1x6x5xf32> -> tensor<6x5xf32>
  return %y : tensor<6x5xf32>
}

// -----

// A table by rows: rows of a rank are terms, and are missing without the mask, or in a maximum.
dist.mesh @mesh [<"tp" = 2>]
func.func @own_rows(%table: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>}, %ids: tensor<5xi64>) -> tensor<5x6xf32> {
  %c = dist.coordinate ["tp"] : tensor<i64>
  %four = hone.constant dense<4> : tensor<i64>
  %first = hone.mul %c, %four : tensor<i64>
  %firsts = hone.broadcast %first dims [] : tensor<i64> -> tensor<5xi64>
  %own = hone.sub %ids, %firsts : tensor<5xi64>
  %zero = hone.constant dense<0> : tensor<5xi64>
  %is = hone.cmp ge, %own, %zero : tensor<5xi64> -> tensor<5xi1>
  %safe = hone.select %is, %own, %zero : tensor<5xi1>, tensor<5xi64>
  %rows = hone.embedding %table, %safe : tensor<4x6xf32>, tensor<5xi64> -> tensor<5x6xf32>
  %mask = hone.broadcast %is dims [0] : tensor<5xi1> -> tensor<5x6xi1>
  %zeros = hone.constant dense<0.0> : tensor<5x6xf32>
  // expected-note@+1 {{ranks begin to differ here}}
  %terms = hone.select %mask, %rows, %zeros : tensor<5x6xi1>, tensor<5x6xf32>
  %s = dist.all_reduce sum %terms over ["tp"] : tensor<5x6xf32>
  // expected-error@+1 {{takes partial sums along axis "tp", expected partial maxima}}
  %m = dist.all_reduce max %terms over ["tp"] : tensor<5x6xf32>
  %r = hone.add %s, %m : tensor<5x6xf32>
  return %r : tensor<5x6xf32>
}

// -----

dist.mesh @mesh [<"tp" = 2>]
// Rows of another rank are asked for.
// expected-note@+1 {{ranks begin to differ here}}
func.func @all_rows(%table: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>}, %ids: tensor<5xi64>) -> tensor<5x6xf32> {
  %rows = hone.embedding %table, %ids : tensor<4x6xf32>, tensor<5xi64> -> tensor<5x6xf32>
  // expected-error@+1 {{takes neither shards nor partial sums along axis "tp", expected partial sums}}
  %s = dist.all_reduce sum %rows over ["tp"] : tensor<5x6xf32>
  return %s : tensor<5x6xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>, <"tp" = 2>]
// Both are parts, of the same dimension along one axis each.
// expected-note@+1 {{ranks begin to differ here}}
func.func @unlike(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>}, %y: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"tp"}, {}>}) -> tensor<8x6xf32> {
  %z = hone.mul %x, %y : tensor<4x6xf32>
  // expected-error@+1 {{takes neither shards nor partial sums along axis "dp", expected shards of dimension 0}}
  %s = dist.all_gather %z dim 0 over ["dp"] : tensor<4x6xf32> -> tensor<8x6xf32>
  return %s : tensor<8x6xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// expected-error@+1 {{result 0 holds replicas along axis "dp", expected shards of dimension 0}}
func.func @whole(%x: tensor<6xf32>) -> (tensor<6xf32> {dist.sharding = #dist.sharding<{"dp"}>}) {
  return %x : tensor<6xf32>
}

// -----

// Of a bucket each piece is what it was: the first is parts along tp, the second is not.
dist.mesh @mesh [<"dp" = 2>, <"tp" = 2>]
func.func @bucket(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {"tp"}>},
                  %y: tensor<4x5xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<{"tp"}>}, tensor<5xf32> {dist.sharding = #dist.sharding<{}>}) {
  %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  %h = hone.reduce sum %y dims [0] : tensor<4x5xf32> -> tensor<5xf32>
  %0 = hone.reshape %g : tensor<6xf32> -> tensor<1x6xf32>
  %1 = hone.reshape %h : tensor<5xf32> -> tensor<1x5xf32>
  %2 = hone.concat %0, %1 dim 1 : (tensor<1x6xf32>, tensor<1x5xf32>) -> tensor<1x11xf32>
  %3 = dist.all_reduce sum %2 over ["dp"] : tensor<1x11xf32>
  %4 = hone.slice %3 [0, 0] to [1, 6] by [1, 1] : tensor<1x11xf32> -> tensor<1x6xf32>
  %5 = hone.slice %3 [0, 6] to [1, 11] by [1, 1] : tensor<1x11xf32> -> tensor<1x5xf32>
  %6 = hone.reshape %4 : tensor<1x6xf32> -> tensor<6xf32>
  %7 = hone.reshape %5 : tensor<1x5xf32> -> tensor<5xf32>
  return %6, %7 : tensor<6xf32>, tensor<5xf32>
}

// -----

// A piece that is no sum's term is in a bucket of sums.
dist.mesh @mesh [<"dp" = 2>]
func.func @no_terms(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>}, %y: tensor<5xf32>)
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<{}>}, tensor<5xf32> {dist.sharding = #dist.sharding<{}>}) {
  // expected-note@+1 {{ranks begin to differ here}}
  %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  %0 = hone.reshape %g : tensor<6xf32> -> tensor<1x6xf32>
  %1 = hone.reshape %y : tensor<5xf32> -> tensor<1x5xf32>
  // expected-error@+1 {{takes partial sums over axis "dp" as if they were the sum}}
  %2 = hone.concat %0, %1 dim 1 : (tensor<1x6xf32>, tensor<1x5xf32>) -> tensor<1x11xf32>
  %3 = dist.all_reduce sum %2 over ["dp"] : tensor<1x11xf32>
  %4 = hone.slice %3 [0, 0] to [1, 6] by [1, 1] : tensor<1x11xf32> -> tensor<1x6xf32>
  %5 = hone.slice %3 [0, 6] to [1, 11] by [1, 1] : tensor<1x11xf32> -> tensor<1x5xf32>
  %6 = hone.reshape %4 : tensor<1x6xf32> -> tensor<6xf32>
  %7 = hone.reshape %5 : tensor<1x5xf32> -> tensor<5xf32>
  return %6, %7 : tensor<6xf32>, tensor<5xf32>
}

// -----

// The piece that tp divides is returned as if it were whole.
dist.mesh @mesh [<"dp" = 2>, <"tp" = 2>]
// expected-error@+1 {{result 0 holds shards of dimension 0 along axis "tp", expected replicas}}
func.func @other_piece(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {"tp"}>},
                       %y: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<{}>}) {
  // expected-note@-3 {{ranks begin to differ here}}
  %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  %h = hone.reduce sum %y dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  %0 = hone.reshape %g : tensor<6xf32> -> tensor<1x6xf32>
  %1 = hone.reshape %h : tensor<6xf32> -> tensor<1x6xf32>
  %2 = hone.concat %0, %1 dim 1 : (tensor<1x6xf32>, tensor<1x6xf32>) -> tensor<1x12xf32>
  %3 = dist.all_reduce sum %2 over ["dp"] : tensor<1x12xf32>
  %4 = hone.slice %3 [0, 0] to [1, 6] by [1, 1] : tensor<1x12xf32> -> tensor<1x6xf32>
  %6 = hone.reshape %4 : tensor<1x6xf32> -> tensor<6xf32>
  return %6 : tensor<6xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>, <"cp" = 2>]
// Attention in a ring along an axis that does not divide positions, and without one that does.
// expected-note@+1 {{ranks begin to differ here}}
func.func @ring(%q: tensor<2x8x4x8xf32> {dist.sharding = #dist.sharding<{"dp"}, {"cp" cuts [8] snake}, {}, {}>})
    -> (tensor<2x8x4x8xf32> {dist.sharding = #dist.sharding<{"dp"}, {"cp" cuts [8] snake}, {}, {}>}) {
  // expected-error@+1 {{'dist.ring_attention' op takes shards of dimension 0 along axis "dp", expected shards of dimension 1, as along axis "cp"}}
  %o, %l = dist.ring_attention %q, %q, %q over ["dp"] scale 1.0
      : (tensor<2x8x4x8xf32>, tensor<2x8x4x8xf32>, tensor<2x8x4x8xf32>) -> (tensor<2x8x4x8xf32>, tensor<2x4x8xf32>)
  return %o : tensor<2x8x4x8xf32>
}

// -----

dist.mesh @mesh [<"sp" = 2>, <"cp" = 2>]
// expected-note@+1 {{ranks begin to differ here}}
func.func @ring_of_some(%q: tensor<2x8x4x8xf32> {dist.sharding = #dist.sharding<{}, {"cp", "sp" cuts [16] snake}, {}, {}>})
    -> (tensor<2x8x4x8xf32> {dist.sharding = #dist.sharding<{}, {"cp", "sp" cuts [16] snake}, {}, {}>}) {
  // expected-error@+1 {{'dist.ring_attention' op takes shards of dimension 1 along axis "sp", expected replicas}}
  %o, %l = dist.ring_attention %q, %q, %q over ["cp"] scale 1.0
      : (tensor<2x8x4x8xf32>, tensor<2x8x4x8xf32>, tensor<2x8x4x8xf32>) -> (tensor<2x8x4x8xf32>, tensor<2x4x8xf32>)
  return %o : tensor<2x8x4x8xf32>
}

// -----

dist.mesh @mesh [<"cp" = 2>]
func.func @ring_of_all(%q: tensor<2x8x4x8xf32> {dist.sharding = #dist.sharding<{}, {}, {}, {}>})
    -> (tensor<2x8x4x8xf32> {dist.sharding = #dist.sharding<{}, {}, {}, {}>}) {
  // expected-error@+1 {{'dist.ring_attention' op takes replicas along axis "cp", expected shards of dimension 1}}
  %o, %l = dist.ring_attention %q, %q, %q over ["cp"] scale 1.0
      : (tensor<2x8x4x8xf32>, tensor<2x8x4x8xf32>, tensor<2x8x4x8xf32>) -> (tensor<2x8x4x8xf32>, tensor<2x4x8xf32>)
  return %o : tensor<2x8x4x8xf32>
}
