//===- Division.h - What a rank has of a divided tensor -------------------===//
//
// Positions only: which of them a rank has, and where, dimension by dimension
// (honert_argument_division). Elements are put together in Parts.h.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_PROGRAM_DIVISION_H
#define HONERT_PROGRAM_DIVISION_H

#include "program/Program.h"

namespace honert {

/// Neighbours along one dimension: where they begin in the whole tensor and in
/// what a rank has of it.
struct DimRun {
  int64_t whole, local, length;
};

/// What `rank` has of a dimension of `size` positions, ascending in both. Every
/// segment between cuts is a multiple of the group's size (Program::check).
std::vector<DimRun> runsOf(const DimDivision &division, int64_t size,
                           const Mesh &mesh, int64_t rank);

/// Whether every rank has the same elements of both.
bool areDividedAlike(const Argument &one, const Argument &other);

/// Of the ranks of one stage that have the same elements of `argument` as
/// `rank`, the one that answers for them: its coordinates are 0 along the axes
/// that do not divide the argument.
int64_t firstReplica(const Argument &argument, const Mesh &mesh, int64_t rank);

} // namespace honert

#endif // HONERT_PROGRAM_DIVISION_H
