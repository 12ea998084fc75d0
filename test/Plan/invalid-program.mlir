// RUN: hone-opt %s --verify-diagnostics --split-input-file

// expected-error@+1 {{'plan.program' op arena is 100, expected a non-negative multiple of 64}}
plan.program @program_c1 arena 100 {
}

// -----

// expected-error@+1 {{'plan.program' op arena is -64, expected a non-negative multiple of 64}}
plan.program @program_c1_negative arena -64 {
}

// -----

// expected-error@+1 {{'plan.program' op is of stage -1, expected a number from 0}}
plan.program @program_c2 arena 64 stage -1 {
}

// -----

// expected-error@+1 {{'plan.program' op has a second arena of 100 bytes, expected a positive multiple of 64}}
plan.program @program_c3 arena 64 host 100 {
}

// -----

// expected-error@+1 {{'plan.program' op has a second arena of 0 bytes, expected a positive multiple of 64}}
plan.program @program_c3_none arena 64 host 0 {
}
