//===- DivisionTest.cpp - Which elements a rank has -----------------------===//
//
// Everything is compared with a definition that goes position by position.
//
//===----------------------------------------------------------------------===//

#include "program/Division.h"
#include "program/Initialize.h"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace honert;

namespace {

/// Where `rank` has position `position` of a dimension; nothing where it has
/// not.
std::optional<int64_t> placeOf(const DimDivision &division, int64_t size,
                               const Mesh &mesh, int64_t rank,
                               int64_t position) {
  // The coordinate along the axes, the first of them slowest.
  int64_t ranks = 1, number = 0;
  for (int64_t axis : division.axes) {
    int64_t stride = 1;
    for (size_t i = size_t(axis) + 1; i != mesh.axes.size(); ++i)
      stride *= mesh.axes[i].size;
    number = number * mesh.axes[size_t(axis)].size +
             rank / stride % mesh.axes[size_t(axis)].size;
    ranks *= mesh.axes[size_t(axis)].size;
  }
  std::vector<int64_t> bounds = {0};
  bounds.insert(bounds.end(), division.cuts.begin(), division.cuts.end());
  bounds.push_back(size);
  int64_t before = 0; // what the rank has of segments before
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    int64_t share = (bounds[i + 1] - bounds[i]) / ranks;
    bool isTurned = division.isSnake && i % 2 == 1;
    int64_t begin =
        bounds[i] + (isTurned ? ranks - 1 - number : number) * share;
    if (position >= begin && position < begin + share)
      return before + position - begin;
    before += share;
  }
  return std::nullopt;
}

struct Case {
  Mesh mesh;
  Argument argument;
};

/// A mesh of 1 to 3 axes, a tensor of rank 0 to 3, and each axis on one of its
/// dimensions or on none, in any order; up to 2 cuts, in turns or not.
Case randomCase(std::mt19937 &random) {
  auto below = [&](int64_t bound) { return int64_t(random() % bound); };
  Case made;
  for (int64_t i = 0, count = 1 + below(3); i < count; ++i)
    made.mesh.axes.push_back({std::string(1, char('a' + i)), 1 + below(3), ""});
  Argument &argument = made.argument;
  argument.kind = Kind::param;
  argument.fqn = "w";
  argument.dtype = DType::f32;
  argument.init = InitKind::normal;
  argument.b = 1;
  auto rank = size_t(below(4));
  argument.divisions.resize(rank);
  std::vector<int64_t> order;
  for (size_t i = 0; i != made.mesh.axes.size(); ++i)
    order.push_back(int64_t(i));
  std::shuffle(order.begin(), order.end(), random);
  for (int64_t axis : order)
    if (auto dim = size_t(below(int64_t(rank) + 1)); dim != rank)
      argument.divisions[dim].axes.push_back(axis);
  for (size_t dim = 0; dim != rank; ++dim) {
    DimDivision &division = argument.divisions[dim];
    int64_t ranks = made.mesh.groupSize(division.axes), size = 0, local = 0;
    for (int64_t segment = 0, count = 1 + below(3); segment < count;
         ++segment) {
      int64_t share = 1 + below(4);
      if (segment > 0)
        division.cuts.push_back(size);
      size += share * ranks;
      local += share;
    }
    division.isSnake = below(2) != 0;
    argument.whole.push_back(size);
    argument.dims.push_back(local);
  }
  argument.bytes = *byteCount(argument.dtype, argument.dims);
  argument.parts = {{"w", Shape(rank), argument.whole}};
  return made;
}

/// A random box of the whole, as a part.
Part randomPart(const Argument &argument, std::mt19937 &random) {
  Part part = {"w", {}, {}};
  for (int64_t size : argument.whole) {
    int64_t begin = int64_t(random() % size_t(size));
    part.offset.push_back(begin);
    part.shape.push_back(int64_t(random() % size_t(size - begin + 1)));
  }
  return part;
}

/// Element of the part to element of the storage, by the definition.
std::map<int64_t, int64_t> placesOf(const Case &made, const Part &part,
                                    int64_t rank) {
  std::map<int64_t, int64_t> places;
  for (int64_t element = 0, all = *elementCount(part.shape); element < all;
       ++element) {
    int64_t left = element, place = 0, stride = 1;
    bool isHere = true;
    for (size_t dim = part.shape.size(); dim-- > 0 && isHere;) {
      int64_t position = part.offset[dim] + left % part.shape[dim];
      left /= part.shape[dim];
      std::optional<int64_t> local =
          placeOf(made.argument.divisions[dim], made.argument.whole[dim],
                  made.mesh, rank, position);
      isHere = local.has_value();
      place += local.value_or(0) * stride;
      stride *= made.argument.dims[dim];
    }
    if (isHere)
      places[element] = place;
  }
  return places;
}

TEST(Division, is_the_definition_position_by_position) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    Case made = randomCase(random);
    for (size_t dim = 0; dim != made.argument.whole.size(); ++dim)
      for (int64_t rank = 0; rank != made.mesh.ranks(); ++rank) {
        const DimDivision &division = made.argument.divisions[dim];
        int64_t size = made.argument.whole[dim];
        std::map<int64_t, int64_t> seen, expected;
        for (const DimRun &run : runsOf(division, size, made.mesh, rank))
          for (int64_t j = 0; j < run.length; ++j)
            seen[run.whole + j] = run.local + j;
        for (int64_t position = 0; position != size; ++position)
          if (auto place = placeOf(division, size, made.mesh, rank, position))
            expected[position] = *place;
        ASSERT_EQ(seen, expected);
      }
  }
}

TEST(Division, parts_lie_where_the_definition_says) {
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    Case made = randomCase(random);
    Part part = randomPart(made.argument, random);
    for (int64_t rank = 0; rank != made.mesh.ranks(); ++rank) {
      PartLayout layout(made.argument, part, made.mesh, rank);
      std::map<int64_t, int64_t> expected = placesOf(made, part, rank);
      ASSERT_EQ(layout.size(), int64_t(expected.size()));
      // In order, in two pieces that may cut a run.
      int64_t middle = layout.size() / 3, last = -1;
      std::map<int64_t, int64_t> seen;
      for (auto [lo, hi] : {std::make_pair(int64_t(0), middle),
                            std::make_pair(middle, layout.size())})
        layout.forEachRun(lo, hi,
                          [&](int64_t element, int64_t place, int64_t length) {
                            ASSERT_GT(element, last);
                            for (int64_t j = 0; j < length; ++j)
                              seen[element + j] = place + j;
                            last = element + length - 1;
                          });
      ASSERT_EQ(seen, expected);
    }
  }
}

TEST(Division, one_rank_answers_for_each_element) {
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) {
    Case made = randomCase(random);
    const Part &part = made.argument.parts.front();
    std::vector<int> owners(size_t(*elementCount(made.argument.whole)));
    for (int64_t rank = 0; rank != made.mesh.ranks(); ++rank) {
      int64_t first = firstReplica(made.argument, made.mesh, rank);
      EXPECT_EQ(placesOf(made, part, rank), placesOf(made, part, first));
      for (auto [element, place] : placesOf(made, part, rank))
        owners[size_t(element)] += rank == first;
    }
    EXPECT_EQ(std::set<int>(owners.begin(), owners.end()), std::set<int>{1});
  }
}

/// A rank's part of a fresh tensor has the bits of that part on one rank.
TEST(Division, initial_values_do_not_depend_on_the_mesh) {
  std::mt19937 random(4);
  for (int i = 0; i < 500; ++i) {
    Case made = randomCase(random);
    Part part = randomPart(made.argument, random);
    std::vector<float> whole(size_t(*elementCount(part.shape)));
    initialize(made.argument, part, PartLayout::ofTensor(part.shape), 9,
               whole.data(), ThreadPool(1));
    for (int64_t rank = 0; rank != made.mesh.ranks(); ++rank) {
      constexpr float untouched = 1e30f;
      std::vector<float> local(size_t(*elementCount(made.argument.dims)),
                               untouched);
      initialize(made.argument, part,
                 PartLayout(made.argument, part, made.mesh, rank), 9,
                 local.data(), ThreadPool(2));
      std::vector<float> expected(local.size(), untouched);
      for (auto [element, place] : placesOf(made, part, rank))
        expected[size_t(place)] = whole[size_t(element)];
      ASSERT_EQ(local, expected);
    }
  }
}

} // namespace
