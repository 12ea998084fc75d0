//===- Mesh.h - How the ranks of a program are arranged -------------------===//
//
// Ranks have a coordinate on each axis of a mesh; the last axis is the fastest.
// Plain arithmetic: nothing here communicates.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_PROGRAM_MESH_H
#define HONERT_PROGRAM_MESH_H

#include <cstdint>
#include <string>
#include <vector>

namespace honert {

/// Numbers of axes of a mesh, the slowest first.
using Axes = std::vector<int64_t>;

struct MeshAxis {
  std::string name;
  int64_t size;
  std::string link; ///< what joins ranks along it, or empty
};

/// Without axes: one rank.
struct Mesh {
  std::vector<MeshAxis> axes;

  int64_t ranks() const;
  /// How many ranks differ from one only along `along`, itself among them.
  int64_t groupSize(const Axes &along) const;
  /// The number of `rank` in that group: its coordinates along `along`, the
  /// first slowest.
  int64_t numberInGroup(int64_t rank, const Axes &along) const;
  /// The ranks of the group of `rank`, by their number in it.
  std::vector<int64_t> groupOf(int64_t rank, const Axes &along) const;
  /// The axis "pp", along which ranks have different stages, if there is one.
  Axes stageAxes() const;
  /// "dp=2,tp=4"; of some axes "dp,tp".
  std::string text() const;
  std::string text(const Axes &along) const;

private:
  int64_t coordinate(int64_t rank, int64_t axis) const;
};

} // namespace honert

#endif // HONERT_PROGRAM_MESH_H
