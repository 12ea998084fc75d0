// RUN: hone-opt %s --verify-diagnostics --split-input-file

// expected-error@+1 {{dialect version is 3 : i64, expected 2: export the model again with this version}}
module attributes {hone.version = 3 : i64} {
}

// -----

// expected-error@+1 {{dialect version is "1", expected 2: export the model again with this version}}
module attributes {hone.version = "1"} {
}
