//===- Mesh.cpp - How the ranks of a program are arranged -----------------===//

#include "program/Mesh.h"

using namespace honert;

int64_t Mesh::ranks() const {
  int64_t count = 1;
  for (const MeshAxis &axis : axes)
    count *= axis.size;
  return count;
}

int64_t Mesh::groupSize(const Axes &along) const {
  int64_t count = 1;
  for (int64_t axis : along)
    count *= axes[axis].size;
  return count;
}

int64_t Mesh::coordinate(int64_t rank, int64_t axis) const {
  int64_t stride = 1;
  for (size_t faster = axis + 1; faster < axes.size(); ++faster)
    stride *= axes[faster].size;
  return rank / stride % axes[axis].size;
}

int64_t Mesh::numberInGroup(int64_t rank, const Axes &along) const {
  int64_t number = 0;
  for (int64_t axis : along)
    number = number * axes[axis].size + coordinate(rank, axis);
  return number;
}

std::vector<int64_t> Mesh::groupOf(int64_t rank, const Axes &along) const {
  std::vector<int64_t> group(groupSize(along));
  for (size_t number = 0; number != group.size(); ++number) {
    // Replaces the coordinates along `along` by those of `number`.
    int64_t member = rank, left = number;
    for (size_t i = along.size(); i-- > 0;) {
      int64_t size = axes[along[i]].size, stride = 1;
      for (size_t faster = along[i] + 1; faster < axes.size(); ++faster)
        stride *= axes[faster].size;
      member += (left % size - coordinate(rank, along[i])) * stride;
      left /= size;
    }
    group[number] = member;
  }
  return group;
}

Axes Mesh::stageAxes() const {
  for (size_t axis = 0; axis != axes.size(); ++axis)
    if (axes[axis].name == "pp")
      return {static_cast<int64_t>(axis)};
  return {};
}

std::string Mesh::text() const {
  std::string text;
  for (const MeshAxis &axis : axes)
    text +=
        (text.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.size);
  return text;
}

std::string Mesh::text(const Axes &along) const {
  std::string text;
  for (int64_t axis : along)
    text += (text.empty() ? "" : ",") + axes[axis].name;
  return text;
}
