//===- Division.cpp - What a rank has of a divided tensor -----------------===//

#include "program/Division.h"

#include <algorithm>

using namespace honert;

std::vector<DimRun> honert::runsOf(const DimDivision &division, int64_t size,
                                   const Mesh &mesh, int64_t rank) {
  int64_t ranks = mesh.groupSize(division.axes);
  if (ranks == 1)
    return {{0, 0, size}};
  int64_t number = mesh.numberInGroup(rank, division.axes);
  std::vector<DimRun> runs;
  int64_t local = 0;
  for (size_t i = 0; i <= division.cuts.size(); ++i) {
    int64_t begin = i == 0 ? 0 : division.cuts[i - 1];
    int64_t end = i == division.cuts.size() ? size : division.cuts[i];
    int64_t length = (end - begin) / ranks;
    int64_t run = division.isSnake && i % 2 == 1 ? ranks - 1 - number : number;
    runs.push_back({begin + run * length, local, length});
    local += length;
  }
  return runs;
}

bool honert::areDividedAlike(const Argument &one, const Argument &other) {
  auto areAlike = [](const DimDivision &x, const DimDivision &y) {
    return x.axes == y.axes &&
           (x.axes.empty() || (x.cuts == y.cuts && x.isSnake == y.isSnake));
  };
  return one.whole == other.whole &&
         std::equal(one.divisions.begin(), one.divisions.end(),
                    other.divisions.begin(), other.divisions.end(), areAlike);
}

int64_t honert::firstReplica(const Argument &argument, const Mesh &mesh,
                             int64_t rank) {
  Axes others, stages = mesh.stageAxes();
  for (int64_t axis = 0; axis != int64_t(mesh.axes.size()); ++axis) {
    bool divides = std::any_of(
        argument.divisions.begin(), argument.divisions.end(),
        [&](const DimDivision &dim) {
          return std::count(dim.axes.begin(), dim.axes.end(), axis) != 0;
        });
    if (!divides && stages != Axes{axis})
      others.push_back(axis);
  }
  return mesh.groupOf(rank, others).front();
}
