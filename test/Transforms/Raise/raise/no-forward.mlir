// RUN: hone-opt %s --hone-raise --verify-diagnostics

// expected-error@+1 {{has no function @forward}}
module {
}
