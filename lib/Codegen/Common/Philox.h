//===- Philox.h - Random words inside kernels -------------------*- C++ -*-===//
//
// Philox4x32-10 (Salmon et al., SC'11) on vectors, keyed as `hone.random` and
// `hone.dropout` say: element `i` is word `i mod 4` of the counter
// `(i div 4, salt, step, micro)` under the key `(seed low, seed high)`.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_COMMON_PHILOX_H
#define HONE_LIB_CODEGEN_COMMON_PHILOX_H

#include "hone/Analysis/Layout/RandomPart.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

#include <array>

namespace hone {

/// Loads `key : memref<3xi64>` (seed, step, micro) as `vector<3xi64>`, the
/// form that the functions below take. Do it once, outside of loops.
mlir::Value emitPhiloxKey(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value key);

/// Numbers in the whole of the elements with row-major indices `index` in
/// `part`, an i64 or a vector of them. `origin` is an i64, or null for 0.
mlir::Value emitRandomNumber(mlir::OpBuilder &builder, mlir::Location loc,
                             const RandomPart &part, mlir::Value origin,
                             mlir::Value index);

/// Words of the elements `index : vector<Nxi64>`, as `vector<Nxi32>`. `salt`
/// is an i64, `key` what emitPhiloxKey returns. Each lane computes four words
/// and keeps one: where lanes share counters, the functions below cost a
/// quarter.
mlir::Value emitPhiloxWord(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value index, mlir::Value salt,
                           mlir::Value key);

/// All four words of each of the counters `counter : vector<Nxi64>`; word j
/// belongs to element `4 * counter + j`.
std::array<mlir::Value, 4> emitPhiloxWords(mlir::OpBuilder &builder,
                                           mlir::Location loc,
                                           mlir::Value counter,
                                           mlir::Value salt, mlir::Value key);

/// Words of the `4 * groups` elements from number `first` on, an index that is
/// a multiple of 4, as `vector<4*groups x i32>`: one counter per four elements.
mlir::Value emitPhiloxGroups(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value first, int64_t groups,
                             mlir::Value salt, mlir::Value key);

/// Words of the 64 elements from `first : i64` on, a multiple of 4, in order,
/// as four `vector<16xi32>`; or, with `first : vector<16xi64>`, of 4 elements
/// from each of its numbers on.
std::array<mlir::Value, 4> emitPhiloxRun(mlir::OpBuilder &builder,
                                         mlir::Location loc, mlir::Value first,
                                         mlir::Value salt, mlir::Value key);

/// `value : vector<Nxf32>` after dropout with probability `p`, where `word :
/// vector<Nxi32>` are the words of its elements: `value / (1 - p)`, or 0.
mlir::Value emitDropout(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, mlir::Value word, double p);

} // namespace hone

#endif // HONE_LIB_CODEGEN_COMMON_PHILOX_H
