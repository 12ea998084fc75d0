//===- CollectivesTest.cpp - Collectives by messages ----------------------===//
//
// Every kind on random elements, among threads, against its sentence in
// abi.def computed from what all ranks put in. Sums are those of f64 in the
// order of the ranks, rounded once: no tolerance.
//
//===----------------------------------------------------------------------===//

#include "comm/host/SingleProcess.h"
#include "program/Transport.h"
#include "support/Describe.h"
#include "support/ThreadRanks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

using namespace honert;

namespace {

struct Case {
  CollectiveKind kind;
  DType dtype;
  int64_t count; ///< a multiple of the group's ranks where it is cut
  Axes axes;
  ReduceKind reduce = ReduceKind::sum;
  int64_t amount = 0;
  bool inPlace = false;
};

Mesh meshOf(std::vector<int64_t> sizes) {
  Mesh mesh;
  for (size_t i = 0; i != sizes.size(); ++i)
    mesh.axes.push_back({std::string(1, char('a' + i)), sizes[i], ""});
  return mesh;
}

/// What rank `rank` puts in.
std::vector<double> inputOf(const Case &each, int64_t rank) {
  std::mt19937_64 random(uint64_t(rank) * 77 + uint64_t(each.count));
  std::vector<double> values;
  std::string stored(8, '\0');
  for (int64_t i = 0; i != each.count; ++i) {
    double value = isFloat(each.dtype)
                       ? std::ldexp(double(random() >> 11), -52) - 1
                       : double(random() % 2);
    if (isFloat(each.dtype) && each.reduce != ReduceKind::sum && i % 97 == 5)
      value = rank % 2 ? NAN : value;
    storeElement(each.dtype, stored.data(), value); // as it is represented
    values.push_back(loadElement(each.dtype, stored.data()));
  }
  return values;
}

double combined(ReduceKind kind, double a, double b) {
  if (kind == ReduceKind::sum)
    return a + b;
  if (std::isnan(a) || std::isnan(b))
    return NAN;
  return kind == ReduceKind::max ? std::max(a, b) : std::min(a, b);
}

/// What abi.def says that `rank` gets.
std::vector<double> wantedOf(const Case &each, const Mesh &mesh, int64_t rank) {
  std::vector<int64_t> group = mesh.groupOf(rank, each.axes);
  int64_t ranks = int64_t(group.size());
  int64_t own = mesh.numberInGroup(rank, each.axes);
  std::vector<double> all, sums = inputOf(each, group[0]);
  for (int64_t i = 0; i != ranks; ++i) {
    std::vector<double> terms = inputOf(each, group[i]);
    all.insert(all.end(), terms.begin(), terms.end());
    for (int64_t j = 0; i > 0 && j != each.count; ++j)
      sums[j] = combined(each.reduce, sums[j], terms[j]);
  }
  int64_t block = each.count / ranks;
  std::vector<double> expected;
  switch (each.kind) {
  case CollectiveKind::allReduce:
    return sums;
  case CollectiveKind::allGather:
    return all;
  case CollectiveKind::reduceScatter:
    return {sums.begin() + own * block, sums.begin() + (own + 1) * block};
  case CollectiveKind::allToAll:
    for (int64_t i = 0; i != ranks; ++i)
      for (int64_t j = 0; j != block; ++j)
        expected.push_back(all[i * each.count + own * block + j]);
    return expected;
  case CollectiveKind::shift:
    return inputOf(each, group[(own + ranks - each.amount) % ranks]);
  }
  return {};
}

std::string bytesFor(const Case &each, const std::vector<double> &values) {
  int64_t width = byteWidth(each.dtype);
  std::string bytes(values.size() * width, '\0');
  for (size_t i = 0; i != values.size(); ++i)
    storeElement(each.dtype, bytes.data() + i * width, values[i]);
  return bytes;
}

/// Runs the case on all ranks of the mesh, twice at once where it has tokens.
void check(const Mesh &mesh, const Case &each, bool hasToken = false) {
  SCOPED_TRACE(std::string(name(each.kind)) + " of " +
               std::to_string(each.count) + " " + name(each.dtype) + " on " +
               mesh.text() + " along " + mesh.text(each.axes));
  int64_t ranks = mesh.groupSize(each.axes);
  CollectiveLaunch launch{each.kind,  each.reduce, each.amount,
                          each.dtype, each.count,  each.axes,
                          0,          0,           -1};
  int64_t outAt = test::alignUp(launch.inBytes());
  launch.out = each.inPlace ? 0 : outAt;
  CollectiveLaunch second = launch;
  int64_t half = outAt + test::alignUp(launch.outBytes(ranks));
  second.in += half, second.out += half;
  launch.token = hasToken ? 3 : -1;
  second.token = hasToken ? 8 : -1;
  std::vector<std::string> results(mesh.ranks());
  test::onRanks(mesh.ranks(), [&](MessageProcessGroup &world) {
    std::unique_ptr<Transport> transport = world.makeTransport(mesh);
    Launch launches[] = {{"x", "", launch}, {"y", "", second}};
    std::string memory(2 * half, '\7');
    std::string input = bytesFor(each, inputOf(each, world.rank()));
    for (Launch &one : launches) {
      memory.replace(std::get<CollectiveLaunch>(one.action).in, input.size(),
                     input);
      ASSERT_TRUE(transport->prepare(one).ok());
    }
    for (int repeat = 0; repeat != (each.inPlace ? 1 : 2); ++repeat) {
      for (Launch &one : launches)
        ASSERT_TRUE(transport->run(one, memory.data()).ok());
      for (int64_t token : {8, 3})
        ASSERT_EQ(transport->wait(token).ok(), hasToken);
    }
    ASSERT_FALSE(transport->wait(3).ok()); // nothing is under way
    results[world.rank()] = memory.substr(launch.out, launch.outBytes(ranks)) +
                            memory.substr(second.out, second.outBytes(ranks));
  });
  for (int64_t rank = 0; rank != mesh.ranks(); ++rank) {
    std::string expected = bytesFor(each, wantedOf(each, mesh, rank));
    EXPECT_EQ(results[rank], expected + expected) << "rank " << rank;
  }
}

constexpr CollectiveKind kinds[] = {
    CollectiveKind::allReduce, CollectiveKind::allGather,
    CollectiveKind::reduceScatter, CollectiveKind::allToAll,
    CollectiveKind::shift};
constexpr DType combinedTypes[] = {DType::f32, DType::f64, DType::bf16,
                                   DType::f16, DType::i64, DType::i32};

TEST(CommCollectives, of_every_type) {
  Mesh mesh = meshOf({3, 2});
  for (CollectiveKind kind : kinds)
    for (int64_t type = 0; type != countOf<DType>; ++type) {
      auto dtype = static_cast<DType>(type);
      bool reduces = kind == CollectiveKind::allReduce ||
                     kind == CollectiveKind::reduceScatter;
      if (reduces && byteWidth(dtype) == 1)
        continue;
      check(mesh, {kind, dtype, 30, {0}});
    }
}

TEST(CommCollectives, among_every_group) {
  for (const std::vector<int64_t> &sizes :
       {std::vector<int64_t>{1}, {2}, {4}, {2, 2}, {2, 3}, {2, 1, 3}}) {
    Mesh mesh = meshOf(sizes);
    std::vector<Axes> groups = {{}, {0}};
    if (sizes.size() > 1)
      groups.insert(groups.end(), {{1}, {0, 1}, {1, 0}});
    if (sizes.size() > 2)
      groups.insert(groups.end(), {{0, 2}, {2, 1, 0}});
    for (const Axes &axes : groups)
      for (CollectiveKind kind : kinds)
        check(mesh, {kind, DType::f32, 12 * mesh.groupSize(axes), axes});
  }
}

TEST(CommCollectives, maxima_and_minima_see_what_is_no_number) {
  for (ReduceKind reduce : {ReduceKind::max, ReduceKind::min})
    for (DType dtype : combinedTypes)
      for (CollectiveKind kind :
           {CollectiveKind::allReduce, CollectiveKind::reduceScatter})
        check(meshOf({3}), {kind, dtype, 600, {0}, reduce});
}

TEST(CommCollectives, shifts_go_around) {
  for (int64_t amount = 0; amount != 4; ++amount)
    check(meshOf({4, 2}),
          {CollectiveKind::shift, DType::i8, 7, {0}, ReduceKind::sum, amount});
}

TEST(CommCollectives, sums_may_lie_where_their_terms_lay) {
  for (int64_t count : {1, 5, 70000})
    check(meshOf({2, 2}), {CollectiveKind::allReduce,
                           DType::f32,
                           count,
                           {0, 1},
                           ReduceKind::sum,
                           0,
                           /*inPlace=*/true});
}

// A slice is 4 MiB: 1048576 elements; the counts end inside, at and just after
// its border.
TEST(CommCollectives, sums_of_several_slices) {
  for (int64_t count : {1048577, 2097152})
    check(meshOf({3}), {CollectiveKind::allReduce, DType::f32, count, {0}});
  for (int64_t count : {1048572, 2097156})
    check(meshOf({4}), {CollectiveKind::reduceScatter, DType::f32, count, {0}});
}

TEST(CommCollectives, of_nothing) {
  for (CollectiveKind kind : kinds)
    check(meshOf({2}), {kind, DType::f32, 0, {0}});
}

TEST(CommCollectives, several_are_under_way_at_once) {
  for (CollectiveKind kind : kinds)
    for (int64_t count : {12, 12000, 120000})
      check(meshOf({2, 2}), {kind, DType::f32, count, {1, 0}}, true);
}

TEST(CommCollectives, several_of_several_slices) {
  check(meshOf({2}), {CollectiveKind::allReduce, DType::bf16, 2100000, {0}},
        true);
  check(meshOf({2}), {CollectiveKind::reduceScatter, DType::bf16, 2100000, {0}},
        true);
}

/// Notes what it is to send and receive, and moves nothing.
class NotingPointToPoint final : public PointToPoint {
public:
  int64_t rank() const override { return 0; }
  int64_t size() const override { return 2; }
  Status send(int64_t, int64_t, const void *data, int64_t bytes,
              Message &) override {
    messages.emplace_back(static_cast<const char *>(data) - memory, bytes);
    return Status();
  }
  Status receive(int64_t, int64_t, void *data, int64_t bytes,
                 Message &message) override {
    return send(0, 0, data, bytes, message);
  }
  Status test(Message &, bool &isDone) override {
    isDone = true;
    ++tests;
    return failure;
  }

  Status failure; ///< of test()
  int tests = 0;
  char memory[1]; ///< where all messages begin
  std::vector<std::pair<int64_t, int64_t>> messages; ///< offset and bytes
};

// Libraries count a message's bytes in an int.
TEST(PendingMessagesTest, large_messages_are_several) {
  constexpr int64_t most = PointToPoint::largestMessage;
  NotingPointToPoint peers;
  CollectiveLog log;
  PendingMessages pending(peers, log);
  std::vector<std::pair<int64_t, int64_t>> expected = {
      {0, most}, {most, most}, {2 * most, 5}};
  ASSERT_TRUE(pending.send(1, 0, peers.memory, 2 * most + 5).ok());
  EXPECT_EQ(peers.messages, expected);
  peers.messages.clear();
  ASSERT_TRUE(pending.receive(1, 0, peers.memory, 2 * most + 5).ok());
  EXPECT_EQ(peers.messages, expected);
  peers.messages.clear();
  ASSERT_TRUE(pending.send(1, 0, peers.memory, 0).ok());
  EXPECT_TRUE(peers.messages.empty());
  ASSERT_TRUE(pending.finish(log.begin("x")).ok());
}

TEST(PendingMessagesTest, an_error_is_that_of_every_later_call) {
  NotingPointToPoint peers;
  CollectiveLog log;
  PendingMessages pending(peers, log);
  ASSERT_TRUE(pending.receive(1, 0, peers.memory, 1).ok());
  peers.failure = Status::error("lost");
  EXPECT_EQ(pending.finish(log.begin("x")).message(), "lost");
  peers.failure = Status();
  EXPECT_EQ(pending.send(1, 0, peers.memory, 1).message(), "lost");
  EXPECT_EQ(pending.receive(1, 0, peers.memory, 1).message(), "lost");
  EXPECT_EQ(pending.finish(log.begin("y")).message(), "lost");
  EXPECT_EQ(peers.tests, 1); // the message is not asked for again
}

TEST(CommWorld, tells_all_what_one_says) {
  for (int64_t root = 0; root != 3; ++root)
    test::onRanks(3, [&](MessageProcessGroup &world) {
      int64_t value = world.rank() + 10;
      ASSERT_TRUE(world.broadcast(&value, sizeof value, root).ok());
      EXPECT_EQ(value, root + 10);
      int64_t all[3];
      value = world.rank();
      ASSERT_TRUE(world.allGather(&value, sizeof value, all).ok());
      EXPECT_EQ(std::vector<int64_t>(all, all + 3),
                (std::vector<int64_t>{0, 1, 2}));
    });
}

TEST(CommWorld, a_failure_of_one_is_one_of_all) {
  test::onRanks(3, [](MessageProcessGroup &world) {
    Status status =
        world.agree(world.rank() == 1 ? Status::error("no disk") : Status());
    EXPECT_EQ(status.message(),
              world.rank() == 1 ? "no disk" : "rank 1 has failed");
    EXPECT_TRUE(world.agree(Status()).ok());
  });
}

TEST(CommWorld, alone) {
  std::unique_ptr<ProcessGroup> world = makeSingleProcess();
  int64_t value = 7, all = 0;
  EXPECT_TRUE(world->broadcast(&value, sizeof value, 0).ok());
  EXPECT_TRUE(world->allGather(&value, sizeof value, &all).ok());
  EXPECT_EQ(all, 7);
  EXPECT_EQ(world->agree(Status::error("x")).message(), "x");
}

} // namespace
