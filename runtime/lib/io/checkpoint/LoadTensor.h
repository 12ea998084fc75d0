//===- LoadTensor.h - Tensors of files into arguments -----------*- C++ -*-===//

#ifndef HONERT_IO_CHECKPOINT_LOADTENSOR_H
#define HONERT_IO_CHECKPOINT_LOADTENSOR_H

#include "base/Arena.h"
#include "io/SafeTensors.h"
#include "program/Program.h"

namespace honert {

/// A part of an argument and the tensor of a file that is its value.
struct LoadedTensor {
  const Argument *argument;
  const Part *part;
  const TensorView *tensor;
};

/// The tensor of `file` that `part` answers to, or null. Tied tensors may be
/// there under several names if they are equal.
Status findTensor(const SafeTensors &file, const Argument &argument,
                  const Part &part, const TensorView *&found);

/// Shape and element type are those of `part`. Unless `exact`, floats of other
/// types are converted.
Status checkTensor(const SafeTensors &file, const Argument &argument,
                   const Part &part, const TensorView &tensor, bool exact);

/// The elements of `part` that this rank of `world` has.
PartLayout layoutOf(const Program &program, const Argument &argument,
                    const Part &part, const ProcessGroup &world);

/// What a value of `argument`, one of program.whole(), is written to: the
/// argument, and its working copy where this rank has other elements of that.
/// A stage may have either, both or neither.
std::vector<Argument> targetsOf(const Program &program,
                                const Argument &argument);

/// Copies what this rank has of a tensor of `file` to its targets.
void copyToTargets(const SafeTensors &file, const LoadedTensor &loaded,
                   const Program &program, const ProcessGroup &world,
                   Arena &arena);

/// Zeroes the storage of arguments that their parts do not cover, and of
/// working copies.
void clearPadding(const Program &program, Arena &arena);

} // namespace honert

#endif // HONERT_IO_CHECKPOINT_LOADTENSOR_H
