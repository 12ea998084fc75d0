// RUN: hone-opt %s --split-input-file --verify-diagnostics --dist-verify

dist.mesh @mesh [<"dp" = 2>]
// A gradient that was not summed.
// expected-error@+1 {{result 0 differs between ranks along axis "dp", which does not divide it: expected a sum or a gather over that axis}}
func.func @dropped(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<{}>}) {
  // expected-note@+1 {{ranks begin to differ here}}
  %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  return %g : tensor<6xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>, <"tp" = 2>]
// expected-error@+1 {{result 0 differs between ranks along axis "dp"}}
func.func @wrong_axis(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<{"dp"}, {}>})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<{}>}) {
  // expected-note@+1 {{ranks begin to differ here}}
  %g = hone.reduce sum %x dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  %s = dist.all_reduce sum %g over ["tp"] : tensor<6xf32>
  return %s : tensor<6xf32>
}

// -----

dist.mesh @mesh [<"tp" = 2>]
// expected-error@+1 {{result 0 differs between ranks along axis "tp"}}
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
// expected-error@+1 {{result 0 differs between ranks along axis "dp"}}
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
  // expected-error@+1 {{takes terms of a sum over axis "dp" as if they were the sum: expected a sum over that axis before}}
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
  // expected-error@+1 {{takes terms of a sum over axis "dp" as if they were the sum}}
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
// expected-error@+1 {{result 0 is the same on ranks along axis "dp", expected terms of a sum}}
func.func @copies(%x: tensor<6xf32>)
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<{} partial sum ["dp"]>, hone.kind = "grad"}) {
  return %x : tensor<6xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// expected-error@+2 {{result 0 differs between ranks along axis "dp" as terms of a sum, expected parts}}
// expected-note@+1 {{ranks begin to differ here}}
func.func @unscattered(%g: tensor<3xf32> {dist.sharding = #dist.sharding<{} partial sum ["dp"]>, hone.kind = "grad"})
    -> (tensor<3xf32> {dist.sharding = #dist.sharding<{"dp"}>, hone.kind = "grad"}) {
  return %g : tensor<3xf32>
}

// -----

dist.mesh @mesh [<"dp" = 2>]
// expected-error@+2 {{result 0 differs between ranks along axis "dp" as parts, expected terms of a sum}}
// expected-note@+1 {{ranks begin to differ here}}
func.func @parts(%g: tensor<3xf32> {dist.sharding = #dist.sharding<{"dp"}>, hone.kind = "grad"})
    -> (tensor<3xf32> {dist.sharding = #dist.sharding<{} partial sum ["dp"]>, hone.kind = "grad"}) {
  return %g : tensor<3xf32>
}
