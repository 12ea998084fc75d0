//===- BatchesTest.cpp - Token files, arrays, batches ---------------------===//

#include "io/data/Batches.h"
#include "comm/host/SingleProcess.h"
#include "io/data/Npy.h"
#include "support/Describe.h"
#include "support/Run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <set>

using namespace honert;

namespace {

const ThreadPool &pool() {
  static ThreadPool pool(2);
  return pool;
}

ProcessGroup *alone() {
  static std::unique_ptr<ProcessGroup> world = makeSingleProcess();
  return world.get();
}

std::string llmc(uint32_t magic, uint32_t version, uint32_t count,
                 const std::string &tokens) {
  std::vector<uint32_t> header(256);
  header[0] = magic, header[1] = version, header[2] = count;
  return test::bytesOf(header) + tokens;
}

std::vector<int64_t> idsOf(const TokenFile &file) {
  std::vector<int64_t> ids(static_cast<size_t>(file.size()));
  file.read(0, file.size(), ids.data());
  return ids;
}

//===----------------------------------------------------------------------===//
// Token files
//===----------------------------------------------------------------------===//

struct GoodFile {
  const char *name;
  std::string bytes;
};

class GoodTokenFiles : public testing::TestWithParam<GoodFile> {};

TEST_P(GoodTokenFiles, hold_the_ids) {
  test::Folder folder;
  test::writeFile(folder / "tokens", GetParam().bytes);
  TokenFile file;
  Status status = file.open(folder / "tokens");
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(idsOf(file), (std::vector<int64_t>{5, 0, 700, 31}));
  EXPECT_TRUE(file.checkIds(701, pool()).ok());
  EXPECT_TRUE(file.checkIds(0, pool()).ok());
}

template <typename T> std::string sample() {
  return test::bytesOf(std::vector<T>{5, 0, 700, 31});
}

INSTANTIATE_TEST_SUITE_P(
    Formats, GoodTokenFiles,
    testing::Values(
        GoodFile{"nanogpt", sample<uint16_t>()},
        GoodFile{"llmc16", llmc(20240520, 1, 4, sample<uint16_t>())},
        GoodFile{"llmc32", llmc(20240801, 7, 4, sample<uint32_t>())},
        GoodFile{"npy_u2", test::npy("<u2", "(4,)", sample<uint16_t>())},
        GoodFile{"npy_u4", test::npy("<u4", "(4,)", sample<uint32_t>())},
        GoodFile{"npy_i4", test::npy("<i4", "(4,)", sample<int32_t>())},
        GoodFile{"npy_i8", test::npy("<i8", "(4,)", sample<int64_t>())}),
    [](const auto &info) { return info.param.name; });

struct BadFile {
  const char *name;
  std::string bytes;
  const char *message;
};

class BadTokenFiles : public testing::TestWithParam<BadFile> {};

TEST_P(BadTokenFiles, are_refused_with_a_reason) {
  test::Folder folder;
  std::string path = folder / "tokens";
  test::writeFile(path, GetParam().bytes);
  TokenFile file;
  Status status = file.open(path);
  if (status.ok())
    status = file.checkIds(512, pool());
  EXPECT_EQ(status.exitCode(), 1);
  EXPECT_EQ(status.message().rfind(path + ": ", 0), 0u) << status.message();
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos)
      << status.message();
}

/// A .npy file whose header text is as given.
std::string npyHeader(const std::string &header, char version = 1) {
  std::string file = std::string("\x93NUMPY") + version + '\0';
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file + header + std::string(8, '\0');
}

INSTANTIATE_TEST_SUITE_P(
    Formats, BadTokenFiles,
    testing::Values(
        BadFile{"empty", "", "holds no tokens"},
        BadFile{"odd", "abc", "expected an even number"},
        BadFile{"llmc_header_cut", llmc(20240520, 1, 4, "").substr(0, 600),
                "expected a header"},
        BadFile{"llmc_version", llmc(20240520, 2, 4, sample<uint16_t>()),
                "version 2 of magic 20240520, expected 1"},
        BadFile{"llmc32_version", llmc(20240801, 1, 4, sample<uint32_t>()),
                "expected 7"},
        BadFile{"llmc_short", llmc(20240520, 1, 5, sample<uint16_t>()),
                "its header says 5 tokens"},
        BadFile{"llmc_long", llmc(20240520, 1, 3, sample<uint16_t>()),
                "its header says 3 tokens"},
        BadFile{"llmc_count", llmc(20240801, 7, ~0u, sample<uint32_t>()),
                "its header says 4294967295 tokens"},
        BadFile{"llmc_zero", llmc(20240520, 1, 0, ""), "holds no tokens"},
        BadFile{"id_too_large",
                test::bytesOf(std::vector<uint16_t>{1, 511, 512, 3}),
                "token 512 at position 2, expected 0 to 511"},
        BadFile{"id_negative",
                test::npy("<i4", "(2,)",
                          test::bytesOf(std::vector<int32_t>{1, -1})),
                "token -1 at position 1"},
        BadFile{"npy_float", test::npy("<f4", "(2,)", std::string(8, '\0')),
                "expected uint16, uint32, int32 or int64"},
        BadFile{"npy_rank", test::npy("<u2", "(2, 2)", std::string(8, '\0')),
                "expected one dimension"},
        BadFile{"npy_big_endian",
                test::npy(">u2", "(4,)", std::string(8, '\0')),
                "element type '>u2'"},
        BadFile{"npy_object", test::npy("|O", "(4,)", std::string(8, '\0')),
                "element type '|O'"},
        BadFile{"npy_short", test::npy("<u2", "(5,)", std::string(8, '\0')),
                "but 8 bytes of elements"},
        BadFile{"npy_huge", test::npy("<u2", "(18446744073709551616,)", ""),
                "malformed"},
        BadFile{"npy_product", test::npy("<i8", "(4611686018427387904,)", ""),
                "bytes of elements"},
        BadFile{"npy_negative", test::npy("<u2", "(-4,)", ""), "malformed"},
        BadFile{"npy_version", npyHeader("{}", 4), "version 4.0"},
        BadFile{"npy_cut", std::string("\x93NUMPY\1\0\xff", 9), ".npy"},
        BadFile{"npy_header_cut", std::string("\x93NUMPY\1\0\x10\x01{", 11),
                "truncated"},
        BadFile{"npy_header_large",
                std::string("\x93NUMPY\2\0\xff\xff\xff\x7f{", 13),
                "header of 2147483647 bytes"},
        BadFile{"npy_not_a_dict", npyHeader("[1, 2]"), "malformed"},
        BadFile{"npy_missing_key", npyHeader("{'descr': '<u2'}"), "malformed"},
        BadFile{"npy_code",
                npyHeader("{'descr': '<u2', 'fortran_order': False, 'shape': "
                          "(4,), 'x': exit()}"),
                "malformed"}),
    [](const auto &info) { return info.param.name; });

TEST(TokenFile, what_is_no_file_is_refused) {
  TokenFile file;
  EXPECT_NE(file.open("/does/not/exist").message().find("cannot be read"),
            std::string::npos);
  EXPECT_NE(TokenFile().open("/").message().find("not a regular file"),
            std::string::npos);
}

TEST(TokenFile, a_bad_id_is_found_anywhere) {
  test::Folder folder;
  std::vector<uint16_t> ids(300000, 3);
  for (int64_t position : {0, 65535, 65536, 131071, 299999}) {
    std::vector<uint16_t> bad = ids;
    bad[static_cast<size_t>(position)] = 99;
    bad.back() = 99;
    test::writeFile(folder / "tokens", test::bytesOf(bad));
    TokenFile file;
    ASSERT_TRUE(file.open(folder / "tokens").ok());
    EXPECT_TRUE(file.checkIds(100, pool()).ok());
    EXPECT_NE(file.checkIds(99, pool())
                  .message()
                  .find(format("token 99 at position %lld,",
                               static_cast<long long>(position))),
              std::string::npos);
  }
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

TEST(BatchOrder, follows_the_stream_and_starts_over) {
  BatchOrder order(/*tokens=*/60, /*rows=*/2, /*columns=*/8, false, 0);
  EXPECT_EQ(order.batchesPerEpoch(), 3); // floor(59 / 16)
  EXPECT_EQ(order.windowBegin(0, 0), 0);
  EXPECT_EQ(order.windowBegin(0, 1), 8);
  EXPECT_EQ(order.windowBegin(2, 1), 40);
  EXPECT_EQ(order.windowBegin(3, 0), 0);
  EXPECT_EQ(order.windowBegin(3 * 1000 + 1, 1), 24);
}

TEST(BatchOrder, the_last_target_must_exist) {
  EXPECT_EQ(BatchOrder(32, 2, 8, false, 0).batchesPerEpoch(), 1);
  EXPECT_EQ(BatchOrder(33, 2, 8, false, 0).batchesPerEpoch(), 2);
}

TEST(BatchOrder, shuffling_visits_every_window_of_an_epoch_once) {
  constexpr int64_t tokens = 1000, rows = 3, columns = 7;
  constexpr int64_t windows = (tokens - 1) / columns; // 142: no multiple of 3
  BatchOrder order(tokens, rows, columns, true, 11);
  std::vector<int64_t> begins;
  for (int64_t i = 0; static_cast<int64_t>(begins.size()) < 3 * windows; ++i)
    for (int64_t row = 0; row < rows; ++row)
      begins.push_back(order.windowBegin(i, row));
  std::set<std::vector<int64_t>> epochs;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<int64_t> of(begins.begin() + epoch * windows,
                            begins.begin() + (epoch + 1) * windows);
    epochs.insert(of);
    std::sort(of.begin(), of.end());
    for (int64_t w = 0; w < windows; ++w)
      ASSERT_EQ(of[static_cast<size_t>(w)], w * columns);
  }
  EXPECT_EQ(epochs.size(), 3u); // each in its own order
}

TEST(BatchOrder, shuffling_depends_on_the_seed) {
  int same = 0;
  BatchOrder one(10000, 1, 7, true, 1), two(10000, 1, 7, true, 2);
  for (int64_t i = 0; i < 1000; ++i)
    same += one.windowBegin(i, 0) == two.windowBegin(i, 0);
  EXPECT_LT(same, 20);
}

TEST(Permutation, is_one_for_every_size) {
  for (int64_t size : {1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000}) {
    Permutation permutation(size, 42);
    std::vector<int64_t> values;
    for (int64_t i = 0; i < size; ++i)
      values.push_back(permutation(i));
    std::sort(values.begin(), values.end());
    for (int64_t i = 0; i < size; ++i)
      ASSERT_EQ(values[static_cast<size_t>(i)], i);
  }
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

/// A program with inputs of the given element type only.
test::ProgramPtr inputsOnly(DType dtype, int64_t rows, int64_t columns) {
  test::ProgramPtr program = test::makeProgram();
  test::Layout layout;
  int64_t dims[] = {rows, columns};
  auto add = [&](const char *fqn, int64_t role) {
    honert_argument(program.get(), 4, fqn, static_cast<int64_t>(dtype), 2, dims,
                    layout.take(rows * columns * byteWidth(dtype)));
    honert_argument_role(program.get(), role, 1000);
  };
  add("x", 1);
  add("y", 2);
  add("labels", 1);
  honert_arena(program.get(), layout.bytes());
  return program;
}

class BatchTypes : public testing::TestWithParam<DType> {};

TEST_P(BatchTypes, tokens_feed_all_inputs_and_targets_are_one_later) {
  test::Folder folder;
  std::vector<uint16_t> ids(200);
  std::iota(ids.begin(), ids.end(), uint16_t{100});
  test::writeFile(folder / "tokens", test::bytesOf(ids));
  test::ProgramPtr program = inputsOnly(GetParam(), 3, 8);
  for (bool ahead : {false, true}) {
    Batches batches;
    ASSERT_TRUE(batches
                    .open(test::oneSource(folder / "tokens"), *program,
                          *alone(), false, 0, pool())
                    .ok());
    if (ahead)
      batches.prefetchFrom(5);
    std::vector<char> arena(static_cast<size_t>(program->arenaBytes));
    for (int64_t i = 5; i < 20; ++i) {
      ASSERT_TRUE(batches.load(i, arena.data()).ok());
      for (int64_t j = 0; j < 24; ++j) {
        double first = 100 + static_cast<double>(i % 8 * 24 + j);
        int64_t at = j * byteWidth(GetParam());
        for (const Argument &input : program->arguments)
          ASSERT_EQ(loadElement(GetParam(), &arena[input.offset + at]),
                    input.role == Role::targets ? first + 1 : first)
              << input.fqn;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, BatchTypes,
                         testing::Values(DType::i64, DType::i32),
                         [](const auto &info) { return name(info.param); });

TEST(Batches, one_token_more_than_a_batch_is_needed) {
  test::Folder folder;
  test::ProgramPtr program = inputsOnly(DType::i64, 2, 8);
  test::writeTokens(folder / "tokens", 16);
  Batches tooFew, enough;
  EXPECT_NE(tooFew
                .open(test::oneSource(folder / "tokens"), *program, *alone(),
                      false, 0, pool())
                .message()
                .find("holds 16 tokens, expected at least 17"),
            std::string::npos);
  test::writeTokens(folder / "tokens", 17);
  EXPECT_TRUE(enough
                  .open(test::oneSource(folder / "tokens"), *program, *alone(),
                        false, 0, pool())
                  .ok());
}

TEST(Batches, ids_that_no_i32_holds_are_refused) {
  test::Folder folder;
  std::vector<int64_t> ids(20, 7);
  ids[3] = int64_t{1} << 32;
  test::writeFile(folder / "tokens.npy",
                  test::npy("<i8", "(20,)", test::bytesOf(ids)));
  test::ProgramPtr program = inputsOnly(DType::i32, 2, 8);
  for (int64_t vocab : {int64_t{0}, int64_t{1} << 40}) {
    for (Argument &input : program->arguments)
      input.vocab = vocab;
    Batches batches;
    EXPECT_NE(
        batches
            .open(test::oneSource(folder / "tokens.npy"), *program, *alone(),
                  false, 0, pool())
            .message()
            .find("token 4294967296 at position 3, expected 0 to 2147483647"),
        std::string::npos);
  }
}

// Pages of a mapped file are read again long after the check.
TEST(Batches, ids_that_change_after_the_check_end_the_run) {
  test::Folder folder;
  std::string path = folder / "tokens";
  test::ProgramPtr program = inputsOnly(DType::i64, 2, 8);
  for (bool ahead : {false, true}) {
    std::vector<uint16_t> ids(100, 7);
    test::writeFile(path, test::bytesOf(ids));
    Batches batches;
    ASSERT_TRUE(
        batches
            .open(test::oneSource(path), *program, *alone(), false, 0, pool())
            .ok());
    ids[40] = 60000;
    test::writeFile(path, test::bytesOf(ids));
    if (ahead)
      batches.prefetchFrom(0);
    std::vector<char> arena(static_cast<size_t>(program->arenaBytes));
    EXPECT_TRUE(batches.load(0, arena.data()).ok());
    EXPECT_TRUE(batches.load(1, arena.data()).ok());
    EXPECT_EQ(batches.load(2, arena.data()).message(),
              path +
                  ": token 60000 at position 40, expected 0 to 999; the file "
                  "has changed since the run began");
  }
}

/// Two sources of 20 windows each, whose ids tell where they come from.
class MixedBatches : public testing::TestWithParam<bool> {
protected:
  MixedBatches() {
    for (size_t s : {0, 1}) {
      std::vector<uint16_t> ids(161);
      std::iota(ids.begin(), ids.end(), uint16_t(500 * s));
      sources[s].files = {folder / std::to_string(s)};
      sources[s].slots = slots[s];
      test::writeFile(sources[s].files[0], test::bytesOf(ids));
    }
  }

  /// The windows of each source, in the order in which `count` batches of 3
  /// rows read them.
  std::array<std::vector<int64_t>, 2> windowsOf(int64_t count) {
    Batches batches;
    Status status = batches.open(sources, *program, *alone(),
                                 /*shuffle=*/GetParam(), 5, pool());
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(batches.tokens(), 322);
    EXPECT_EQ(batches.batchesPerEpoch(), 0);
    Mixture mixture({slots[0], slots[1]});
    std::array<std::vector<int64_t>, 2> found;
    std::vector<char> arena(static_cast<size_t>(program->arenaBytes));
    for (int64_t i = 0; i < 3 * count; ++i) {
      if (i % 3 == 0)
        EXPECT_TRUE(batches.load(i / 3, arena.data()).ok());
      std::vector<int64_t> row(8);
      std::memcpy(row.data(), &arena[i % 3 * 64], 64);
      size_t source = row[0] >= 500;
      EXPECT_EQ(source, mixture.at(i).source);
      EXPECT_EQ(row[0] % 500 % 8, 0);
      for (int64_t j = 0; j < 8; ++j)
        EXPECT_EQ(row[size_t(j)], row[0] + j);
      found[source].push_back(row[0] % 500 / 8);
    }
    return found;
  }

  test::Folder folder;
  std::vector<int64_t> slots = {3072, 1024};
  std::vector<TokenSource> sources{2};
  test::ProgramPtr program = inputsOnly(DType::i64, 3, 8);
};

TEST_P(MixedBatches, visit_each_window_of_a_source_once_per_epoch) {
  auto found = windowsOf(80); // 9 epochs of one, 3 of the other
  for (const std::vector<int64_t> &windows : found) {
    ASSERT_EQ(windows.size() % 20, 0u);
    for (auto epoch = windows.begin(); epoch != windows.end(); epoch += 20) {
      std::vector<int64_t> seen(epoch, epoch + 20), all(20);
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(seen == all, !GetParam());
      std::sort(seen.begin(), seen.end());
      EXPECT_EQ(seen, all);
    }
  }
  // Each source has an order of its own.
  std::vector<int64_t> first(found[0].begin(), found[0].begin() + 20);
  std::vector<int64_t> other(found[1].begin(), found[1].begin() + 20);
  EXPECT_EQ(first == other, !GetParam());
}

INSTANTIATE_TEST_SUITE_P(Orders, MixedBatches, testing::Bool());

TEST(Batches, a_source_without_a_window_is_refused) {
  test::Folder folder;
  test::writeTokens(folder / "long", 100);
  test::writeTokens(folder / "short", 8);
  std::vector<TokenSource> sources{2};
  sources[0].files = {folder / "long"};
  sources[1].files = {folder / "short"};
  sources[0].slots = sources[1].slots = 2048;
  test::ProgramPtr program = inputsOnly(DType::i64, 3, 8);
  EXPECT_EQ(
      Batches().open(sources, *program, *alone(), false, 0, pool()).message(),
      folder / "short: holds 8 tokens, expected at least 9 (a window of "
               "8 and one more)");
  test::writeTokens(folder / "short", 9);
  EXPECT_TRUE(
      Batches().open(sources, *program, *alone(), false, 0, pool()).ok());
}

TEST(IdBounds, one_id_is_ignored) {
  IdBounds bounds(61, -100);
  const int64_t ids[] = {0, 60, -100, -1, 61, INT64_MIN, INT64_MAX};
  EXPECT_EQ(bounds.findOther(ids, 3), 3);
  for (int64_t id : {ids[3], ids[4], ids[5], ids[6]})
    EXPECT_FALSE(bounds.contains(id)) << id;
  EXPECT_EQ(bounds.expected(61), "expected 0 to 60 or -100");
  EXPECT_EQ(IdBounds(61, 0).expected(-100),
            "expected 0 to 60; -100 marks ignored labels, but this program "
            "ignores or replaces 0");
}

TEST(IdBounds, without_a_vocab_every_id_from_0_on_is_one) {
  IdBounds bounds;
  for (int64_t id : {int64_t{0}, INT64_MAX})
    EXPECT_TRUE(bounds.contains(id)) << id;
  for (int64_t id : {int64_t{-1}, INT64_MIN})
    EXPECT_FALSE(bounds.contains(id)) << id;
  EXPECT_EQ(bounds.expected(-1), "expected 0 to 9223372036854775807");
}

TEST(IdBounds, a_stream_holds_what_all_its_inputs_take) {
  IdBounds both(61, -100);
  both.intersect({50, -100});
  EXPECT_TRUE(both.contains(-100) && both.contains(49) && !both.contains(50));
  both.intersect({61, std::nullopt}); // an embedding reads it
  EXPECT_FALSE(both.contains(-100));
  IdBounds other(61, -1);
  other.intersect({61, -100});
  EXPECT_FALSE(other.contains(-1) || other.contains(-100));
}

TEST(Batches, reading_ahead_ends_with_its_owner) {
  test::Folder folder;
  test::writeTokens(folder / "tokens", 100);
  test::ProgramPtr program = inputsOnly(DType::i64, 2, 8);
  for (int i = 0; i < 50; ++i) {
    Batches batches;
    ASSERT_TRUE(batches
                    .open(test::oneSource(folder / "tokens"), *program,
                          *alone(), true, 0, pool())
                    .ok());
    batches.prefetchFrom(0);
  }
}

} // namespace
