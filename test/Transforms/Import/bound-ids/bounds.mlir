// RUN: hone-opt %s --split-input-file --hone-bound-ids | FileCheck %s

// An input is bounded where ids in [0, bound) stay inside a table and every other id leaves it.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %{{.+}}: tensor<4xi64> {hone.fqn = "turned", hone.kind = "input", hone.vocab = 61 : i64}
// CHECK-SAME: %{{.+}}: tensor<4xi32> {hone.fqn = "wide", hone.kind = "input", hone.vocab = 61 : i64}
// CHECK-SAME: %{{.+}}: tensor<4xi64> {hone.fqn = "lowered", hone.kind = "input", hone.vocab = 61 : i64}
// CHECK-SAME: %{{.+}}: tensor<4xi64> {hone.fqn = "kept", hone.kind = "input", hone.vocab = 7 : i64}
// CHECK-SAME: %{{.+}}: tensor<4xi64> {hone.fqn = "limited", hone.kind = "input", hone.vocab = 61 : i64}
func.func @forward(
    %w: tensor<61x4xf32> {hone.kind = "param", hone.fqn = "w"},
    %turned: tensor<4xi64> {hone.kind = "input", hone.fqn = "turned"},
    %wide: tensor<4xi32> {hone.kind = "input", hone.fqn = "wide"},
    %lowered: tensor<4xi64> {hone.kind = "input", hone.fqn = "lowered", hone.vocab = 4611686018427387904 : i64},
    %kept: tensor<4xi64> {hone.kind = "input", hone.fqn = "kept", hone.vocab = 7 : i64},
    %limited: tensor<4xi64> {hone.kind = "input", hone.fqn = "limited"}) {
  %square = hone.reshape %turned : tensor<4xi64> -> tensor<2x2xi64>
  %other = hone.transpose %square [1, 0] : tensor<2x2xi64> -> tensor<2x2xi64>
  %cast = hone.cast %wide : tensor<4xi32> -> tensor<4xi64>
  %hundred = hone.constant dense<100> : tensor<4xi64>
  %below = hone.min %limited, %hundred : tensor<4xi64>
  %a = hone.embedding %w, %other : tensor<61x4xf32>, tensor<2x2xi64> -> tensor<2x2x4xf32>
  %b = hone.embedding %w, %cast : tensor<61x4xf32>, tensor<4xi64> -> tensor<4x4xf32>
  %c = hone.embedding %w, %lowered : tensor<61x4xf32>, tensor<4xi64> -> tensor<4x4xf32>
  %d = hone.embedding %w, %kept : tensor<61x4xf32>, tensor<4xi64> -> tensor<4x4xf32>
  %e = hone.embedding %w, %below : tensor<61x4xf32>, tensor<4xi64> -> tensor<4x4xf32>
  return
}

// -----

// No bound of these is exact: -1 + 1 is a row; so are 2^30 * 4 (in 32 bits) and -6 / 7; a slice leaves elements out; a
// neighbour may hide an id; a cast cuts 2^32 to 0.

// CHECK-LABEL: func.func @forward(
// CHECK-NOT: hone.vocab
// CHECK: return
func.func @forward(
    %w: tensor<61x4xf32> {hone.kind = "param", hone.fqn = "w"},
    %moved: tensor<4xi64> {hone.kind = "input", hone.fqn = "moved"},
    %scaled: tensor<4xi32> {hone.kind = "input", hone.fqn = "scaled"},
    %divided: tensor<4xi64> {hone.kind = "input", hone.fqn = "divided"},
    %cut: tensor<4xi64> {hone.kind = "input", hone.fqn = "cut"},
    %hidden: tensor<2x2xi64> {hone.kind = "input", hone.fqn = "hidden"},
    %narrow: tensor<4xi64> {hone.kind = "input", hone.fqn = "narrow"}) {
  %one = hone.constant dense<1> : tensor<4xi64>
  %four = hone.constant dense<4> : tensor<4xi32>
  %seven = hone.constant dense<7> : tensor<4xi64>
  %m = hone.add %moved, %one : tensor<4xi64>
  %s = hone.mul %scaled, %four : tensor<4xi32>
  %q = hone.div %divided, %seven : tensor<4xi64>
  %part = hone.slice %cut [1] to [4] by [1] : tensor<4xi64> -> tensor<3xi64>
  %turned = hone.transpose %hidden [1, 0] : tensor<2x2xi64> -> tensor<2x2xi64>
  %zero = hone.constant dense<0> : tensor<2x2xi64>
  %is = hone.cmp eq, %turned, %zero : tensor<2x2xi64> -> tensor<2x2xi1>
  %chosen = hone.select %is, %zero, %hidden : tensor<2x2xi1>, tensor<2x2xi64>
  %cast = hone.cast %narrow : tensor<4xi64> -> tensor<4xi32>
  %a = hone.embedding %w, %m : tensor<61x4xf32>, tensor<4xi64> -> tensor<4x4xf32>
  %b = hone.embedding %w, %s : tensor<61x4xf32>, tensor<4xi32> -> tensor<4x4xf32>
  %c = hone.embedding %w, %q : tensor<61x4xf32>, tensor<4xi64> -> tensor<4x4xf32>
  %d = hone.embedding %w, %part : tensor<61x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  %e = hone.embedding %w, %chosen : tensor<61x4xf32>, tensor<2x2xi64> -> tensor<2x2x4xf32>
  %f = hone.embedding %w, %cast : tensor<61x4xf32>, tensor<4xi32> -> tensor<4x4xf32>
  return
}

// -----

// A bound that the package gives stays, and so does what a loss ignores of a part.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: hone.fqn = "labels", hone.ignore = -100 : i64, hone.kind = "input", hone.vocab = 61 : i64
func.func @forward(
    %x: tensor<3x61xf32> {hone.kind = "input", hone.fqn = "x"},
    %labels: tensor<4xi64> {hone.kind = "input", hone.fqn = "labels", hone.vocab = 61 : i64}) {
  %part = hone.slice %labels [1] to [4] by [1] : tensor<4xi64> -> tensor<3xi64>
  %0:2 = hone.cross_entropy mean %x, %part ignore_index -100 label_smoothing 0.0 : tensor<3x61xf32>, tensor<3xi64> -> tensor<f32>, tensor<3xf32>
  return
}

// -----

// A place that two inputs decide, or one twice, or that is clamped, bounds none: any bound would refuse good files.

// CHECK-LABEL: func.func @forward(
// CHECK-NOT: hone.vocab
// CHECK: return
func.func @forward(
    %w: tensor<61x4xf32> {hone.kind = "param", hone.fqn = "w"},
    %t: tensor<4xi64> {hone.kind = "input", hone.fqn = "t"},
    %u: tensor<4xi64> {hone.kind = "input", hone.fqn = "u"},
    %v: tensor<4xi64> {hone.kind = "input", hone.fqn = "v"},
    %x: tensor<4xi64> {hone.kind = "input", hone.fqn = "x"}) {
  %sum = hone.add %t, %u : tensor<4xi64>
  %n = hone.constant dense<61> : tensor<4xi64>
  %q = hone.div %v, %n : tensor<4xi64>
  %p = hone.mul %q, %n : tensor<4xi64>
  %rest = hone.sub %v, %p : tensor<4xi64>
  %zero = hone.constant dense<0> : tensor<4xi64>
  %most = hone.constant dense<60> : tensor<4xi64>
  %above = hone.max %x, %zero : tensor<4xi64>
  %clamped = hone.min %above, %most : tensor<4xi64>
  %a = hone.embedding %w, %sum : tensor<61x4xf32>, tensor<4xi64> -> tensor<4x4xf32>
  %b = hone.embedding %w, %rest : tensor<61x4xf32>, tensor<4xi64> -> tensor<4x4xf32>
  %c = hone.embedding %w, %clamped : tensor<61x4xf32>, tensor<4xi64> -> tensor<4x4xf32>
  return
}

// -----

// The id that a loss ignores may stand in files, unless an embedding would read it, or another loss.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: hone.fqn = "labels", hone.ignore = -100 : i64, hone.kind = "input", hone.vocab = 61 : i64
// CHECK-SAME: {hone.fqn = "both", hone.kind = "input", hone.vocab = 61 : i64}
// CHECK-SAME: {hone.fqn = "two", hone.kind = "input", hone.vocab = 61 : i64}
// CHECK-SAME: hone.fqn = "shifted", hone.ignore = -100 : i64, hone.kind = "input", hone.vocab = 61 : i64
// CHECK-SAME: hone.fqn = "zero", hone.kind = "input", hone.vocab = 61 : i64
func.func @forward(
    %w: tensor<61x4xf32> {hone.kind = "param", hone.fqn = "w"},
    %x: tensor<4x61xf32> {hone.kind = "input", hone.fqn = "x"},
    %labels: tensor<4xi64> {hone.kind = "input", hone.fqn = "labels"},
    %both: tensor<4xi64> {hone.kind = "input", hone.fqn = "both"},
    %two: tensor<4xi64> {hone.kind = "input", hone.fqn = "two"},
    %shifted: tensor<4xi64> {hone.kind = "input", hone.fqn = "shifted"},
    %zero: tensor<4xi64> {hone.kind = "input", hone.fqn = "zero"}) {
  %0:2 = hone.cross_entropy mean %x, %labels ignore_index -100 label_smoothing 0.0 : tensor<4x61xf32>, tensor<4xi64> -> tensor<f32>, tensor<4xf32>
  %1:2 = hone.cross_entropy mean %x, %both ignore_index -100 label_smoothing 0.0 : tensor<4x61xf32>, tensor<4xi64> -> tensor<f32>, tensor<4xf32>
  %2 = hone.embedding %w, %both : tensor<61x4xf32>, tensor<4xi64> -> tensor<4x4xf32>
  %3:2 = hone.cross_entropy mean %x, %two ignore_index -100 label_smoothing 0.0 : tensor<4x61xf32>, tensor<4xi64> -> tensor<f32>, tensor<4xf32>
  %4:2 = hone.cross_entropy mean %x, %two ignore_index -1 label_smoothing 0.0 : tensor<4x61xf32>, tensor<4xi64> -> tensor<f32>, tensor<4xf32>
  %5:2 = hone.cross_entropy mean %x, %shifted ignore_index -100 label_smoothing 0.0 : tensor<4x61xf32>, tensor<4xi64> -> tensor<f32>, tensor<4xf32>
  %ignored = hone.constant dense<-100> : tensor<4xi64>
  %pad = hone.constant dense<1> : tensor<4xi64>
  %is = hone.cmp eq, %shifted, %ignored : tensor<4xi64> -> tensor<4xi1>
  %filled = hone.select %is, %pad, %shifted : tensor<4xi1>, tensor<4xi64>
  %6 = hone.embedding %w, %filled : tensor<61x4xf32>, tensor<4xi64> -> tensor<4x4xf32>
  %7:2 = hone.cross_entropy mean %x, %zero ignore_index 0 label_smoothing 0.0 : tensor<4x61xf32>, tensor<4xi64> -> tensor<f32>, tensor<4xf32>
  return
}

// -----

// So may one that is replaced before each table. Of two there is no place for the other: then nothing is bounded, or as
// much as the package says. What it lets in stays.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: hone.fqn = "filled", hone.ignore = -1 : i64, hone.kind = "input", hone.vocab = 61 : i64
// CHECK-SAME: hone.fqn = "void", hone.ignore = 255 : i64, hone.kind = "input", hone.vocab = 61 : i64
// CHECK-SAME: hone.fqn = "promised", hone.ignore = -1 : i64, hone.kind = "input", hone.vocab = 61 : i64
// CHECK-SAME: {hone.fqn = "two", hone.kind = "input"}
// CHECK-SAME: {hone.fqn = "masked", hone.kind = "input", hone.vocab = 61 : i64}
// CHECK-SAME: hone.fqn = "wide", hone.ignore = -1 : i64, hone.kind = "input", hone.vocab = 256 : i64
// CHECK-SAME: hone.fqn = "apart", hone.ignore = -1 : i64, hone.kind = "input", hone.vocab = 100 : i64
func.func @forward(
    %w: tensor<61x4xf32> {hone.kind = "param", hone.fqn = "w"},
    %filled: tensor<4xi64> {hone.kind = "input", hone.fqn = "filled"},
    %void: tensor<4xi64> {hone.kind = "input", hone.fqn = "void"},
    %promised: tensor<4xi64> {hone.kind = "input", hone.fqn = "promised", hone.vocab = 61 : i64},
    %two: tensor<4xi64> {hone.kind = "input", hone.fqn = "two"},
    %masked: tensor<4xi64> {hone.kind = "input", hone.fqn = "masked"},
    %wide: tensor<4xi64> {hone.kind = "input", hone.fqn = "wide", hone.vocab = 256 : i64},
    %apart: tensor<4xi64> {hone.kind = "input", hone.fqn = "apart", hone.vocab = 100 : i64}) -> tensor<4xi1> {
  %zero = hone.constant dense<0> : tensor<4xi64>
  %none = hone.constant dense<-1> : tensor<4xi64>
  %beyond = hone.constant dense<255> : tensor<4xi64>
  %is = hone.cmp eq, %filled, %none : tensor<4xi64> -> tensor<4xi1>
  %a = hone.select %is, %zero, %filled : tensor<4xi1>, tensor<4xi64>
  %isnot = hone.cmp ne, %beyond, %void : tensor<4xi64> -> tensor<4xi1>
  %b = hone.select %isnot, %void, %zero : tensor<4xi1>, tensor<4xi64>
  %first = hone.cmp eq, %promised, %none : tensor<4xi64> -> tensor<4xi1>
  %c = hone.select %first, %zero, %promised : tensor<4xi1>, tensor<4xi64>
  %either = hone.cmp eq, %two, %none : tensor<4xi64> -> tensor<4xi1>
  %once = hone.select %either, %zero, %two : tensor<4xi1>, tensor<4xi64>
  %or = hone.cmp eq, %once, %beyond : tensor<4xi64> -> tensor<4xi1>
  %d = hone.select %or, %zero, %once : tensor<4xi1>, tensor<4xi64>
  %either_wide = hone.cmp eq, %wide, %none : tensor<4xi64> -> tensor<4xi1>
  %once_wide = hone.select %either_wide, %zero, %wide : tensor<4xi1>, tensor<4xi64>
  %or_wide = hone.cmp eq, %once_wide, %beyond : tensor<4xi64> -> tensor<4xi1>
  %e = hone.select %or_wide, %zero, %once_wide : tensor<4xi1>, tensor<4xi64>
  %either_apart = hone.cmp eq, %apart, %none : tensor<4xi64> -> tensor<4xi1>
  %once_apart = hone.select %either_apart, %zero, %apart : tensor<4xi1>, tensor<4xi64>
  %or_apart = hone.cmp eq, %once_apart, %beyond : tensor<4xi64> -> tensor<4xi1>
  %f = hone.select %or_apart, %zero, %once_apart : tensor<4xi1>, tensor<4xi64>
  %mask = hone.cmp eq, %masked, %none : tensor<4xi64> -> tensor<4xi1>
  %0 = hone.embedding %w, %a : tensor<61x4xf32>, tensor<4xi64> -> tensor<4x4xf32>
  %1 = hone.embedding %w, %b : tensor<61x4xf32>, tensor<4xi64> -> tensor<4x4xf32>
  %2 = hone.embedding %w, %c : tensor<61x4xf32>, tensor<4xi64> -> tensor<4x4xf32>
  %3 = hone.embedding %w, %d : tensor<61x4xf32>, tensor<4xi64> -> tensor<4x4xf32>
  %4 = hone.embedding %w, %masked : tensor<61x4xf32>, tensor<4xi64> -> tensor<4x4xf32>
  %5 = hone.embedding %w, %e : tensor<61x4xf32>, tensor<4xi64> -> tensor<4x4xf32>
  %6 = hone.embedding %w, %f : tensor<61x4xf32>, tensor<4xi64> -> tensor<4x4xf32>
  return %mask : tensor<4xi1>
}
