//===- State.h - A program's tensors from and to files --------------------===//

#ifndef HONERT_IO_CHECKPOINT_STATE_H
#define HONERT_IO_CHECKPOINT_STATE_H

#include "base/Arena.h"
#include "base/Parallel.h"
#include "io/SafeTensors.h"
#include "program/Program.h"

#include <set>

namespace honert {

/// Parts of arguments that have been given their value.
using Filled = std::set<const Part *>;

/// What a file holds of one part of an argument of program.whole(), of which
/// this rank of `world` may have some.
TensorSource sourceOf(const Program &program, const Argument &argument,
                      const Part &part, const Arena &arena,
                      const ProcessGroup &world);

// Files hold whole tensors. Loading reads from them what this rank has, and
// asks no other rank; ranks may find different errors. A low-precision copy of
// which a rank has other elements than of its parameter (ZeRO-1 divides the
// parameter only), or whose parameter is another stage's, gets its value here
// too, rounded to nearest even.

/// Parameters and buffers from a weights file, under their names or aliases
/// (both: they must be equal). fp32, bf16 and fp16 are widened or rounded to
/// the program's type. Errors: a
/// parameter is missing, a tensor is unknown, shape or element type differ.
/// Buffers may be missing, and with `onlyInitFile` parameters of another init.
/// Values that are not finite are named on stderr.
Status loadWeights(const std::string &path, const Program &program,
                   const ProcessGroup &world, Arena &arena, Filled &filled,
                   bool onlyInitFile = false);

/// Whether loadState() would take the file, as far as its header tells.
Status checkState(const std::string &path, const Program &program);

/// Every param, buffer and opt argument from a checkpoint's file, exactly.
Status loadState(const std::string &path, const Program &program,
                 const ProcessGroup &world, Arena &arena);

/// Where the parameters of a run that is not resumed come from.
struct StartOptions {
  std::string init;   ///< file instead of the package's weights, or empty
  bool fresh = false; ///< generated values instead of the package's weights
};

/// The start of a run: the weights of `options.init` or of the package, if
/// there are any, values in the executable, constants of the package, and
/// generated values by `seed`. `origin` says where parameters come from. A
/// package's file holds all parameters, or those of init `file` alone, beside
/// which the others are generated. Optimizer state of nothing but zeros is not
/// written but named in `zeros`: of a GPU, the host need not have it.
Status startState(const StartOptions &options, const Program &program,
                  const ProcessGroup &world, uint64_t seed,
                  const ThreadPool &pool, Arena &arena, std::string &origin,
                  std::vector<const Argument *> &zeros);

// Saving is called by all ranks, which write one file together and agree on the
// result. Its bytes do not depend on the mesh.

/// Parameters and buffers under their names, in fp32 where the program is in
/// fp64, for PyTorch; constants are left out.
Status saveWeights(const std::string &path, const Program &program,
                   ProcessGroup &world, const Arena &arena,
                   std::map<std::string, std::string> metadata);

/// Everything loadState() reads. A rank that is alone adds what it writes to
/// `checksum`, if that is given.
Status saveState(const std::string &path, const Program &program,
                 ProcessGroup &world, const Arena &arena,
                 FileChecksum *checksum);

} // namespace honert

#endif // HONERT_IO_CHECKPOINT_STATE_H
