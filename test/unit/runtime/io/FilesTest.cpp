//===- FilesTest.cpp - safetensors, checksums, atomic files ---------------===//

#include "base/Files.h"
#include "base/Printable.h"
#include "comm/host/SingleProcess.h"
#include "io/SafeTensors.h"
#include "support/Run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

using namespace honert;

namespace {

ProcessGroup *alone() {
  static std::unique_ptr<ProcessGroup> world = makeSingleProcess();
  return world.get();
}

//===----------------------------------------------------------------------===//
// safetensors
//===----------------------------------------------------------------------===//

TEST(SafeTensors, what_is_written_is_read) {
  test::Folder folder;
  std::vector<float> a = {1, 2, 3, 4, 5, 6};
  std::vector<int64_t> b = {-1};
  std::vector<TensorSource> tensors = {
      {"a \"quoted\"",
       DType::f32,
       DType::f32,
       {2, 3},
       reinterpret_cast<const char *>(a.data())},
      {"empty", DType::i8, DType::i8, {0, 4}, nullptr},
      {"b",
       DType::i64,
       DType::i64,
       {},
       reinterpret_cast<const char *>(b.data())}};
  FileChecksum checksum;
  ASSERT_TRUE(writeSafeTensors(folder / "f", tensors, {{"format", "pt"}},
                               *alone(), &checksum)
                  .ok());
  SafeTensors file;
  Status status = file.open(folder / "f");
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(file.tensors().size(), 3u);
  const TensorView *view = file.find("a \"quoted\"");
  ASSERT_TRUE(view);
  EXPECT_EQ(view->shape, (Shape{2, 3}));
  EXPECT_EQ(std::string(view->data, 24), test::bytesOf(a));
  EXPECT_EQ(file.find("empty")->bytes, 0);
  EXPECT_EQ(file.find("b")->shape, Shape());
  EXPECT_FALSE(file.find("c"));
  FileChecksum again;
  std::string bytes = test::readFile(folder / "f");
  again.add(bytes.data(), static_cast<int64_t>(bytes.size()));
  EXPECT_EQ(again.value(), checksum.value());
}

/// A box that is gathered and converted, more of it than one piece.
TEST(SafeTensors, large_parts_are_written_by_pieces) {
  test::Folder folder;
  constexpr int64_t rows = 600, columns = 650, width = 700;
  static_assert(rows * columns * 8 > 2 * pieceBytes);
  std::vector<double> storage(static_cast<size_t>(width * width));
  for (size_t i = 0; i < storage.size(); ++i)
    storage[i] = double(i);
  TensorSource source = {
      "a",
      DType::f64,
      DType::f32,
      {rows, columns},
      reinterpret_cast<const char *>(storage.data()),
      PartLayout({width, width}, {"", {1, 2}, {rows, columns}})};
  ASSERT_TRUE(writeSafeTensors(folder / "f", {source}, {}, *alone()).ok());
  SafeTensors file;
  ASSERT_TRUE(file.open(folder / "f").ok());
  const TensorView *view = file.find("a");
  ASSERT_TRUE(view);
  ASSERT_EQ(view->bytes, rows * columns * 4);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      ASSERT_EQ(
          loadElement(DType::f32, view->data + (row * columns + column) * 4),
          double((row + 1) * width + column + 2));
}

TEST(SafeTensors, fp64_is_stored_as_fp32_on_request) {
  test::Folder folder;
  std::vector<double> a = {0.1, -2};
  ASSERT_TRUE(writeSafeTensors(folder / "f",
                               {{"a",
                                 DType::f64,
                                 DType::f32,
                                 {2},
                                 reinterpret_cast<const char *>(a.data())}},
                               {}, *alone())
                  .ok());
  SafeTensors file;
  ASSERT_TRUE(file.open(folder / "f").ok());
  EXPECT_EQ(std::string(file.find("a")->data, 8),
            test::bytesOf(std::vector<float>{0.1f, -2}));
}

struct BadHeader {
  const char *name;
  std::string bytes;
  const char *message;
};

class BadSafeTensors : public testing::TestWithParam<BadHeader> {};

TEST_P(BadSafeTensors, are_refused_with_a_reason) {
  test::Folder folder;
  std::string path = folder / "f";
  test::writeFile(path, GetParam().bytes);
  SafeTensors file;
  Status status = file.open(path);
  EXPECT_EQ(status.exitCode(), 1);
  EXPECT_EQ(status.message().rfind(path + ": ", 0), 0u);
  EXPECT_EQ(status.message().find('\n'), std::string::npos);
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos)
      << status.message();
}

std::string length(uint64_t bytes) {
  return test::bytesOf(std::vector<uint64_t>{bytes});
}

/// A file of one tensor "a" with this description and 8 bytes of data.
std::string one(const std::string &description) {
  return test::safetensors("{\"a\":" + description + "}", std::string(8, '\0'));
}

#define ENTRY(dtype, shape, begin, end)                                        \
  "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" begin      \
  "," end "]}"

INSTANTIATE_TEST_SUITE_P(
    Files, BadSafeTensors,
    testing::Values(
        BadHeader{"empty", "", "has 0 bytes"},
        BadHeader{"seven_bytes", "1234567", "has 7 bytes"},
        BadHeader{"length_zero", length(0), "expected '{'"},
        BadHeader{"length_beyond_file", length(100) + "{}", "truncated"},
        BadHeader{"length_beyond_cap", length(100000001) + "{}", "at most"},
        BadHeader{"length_2_63", length(uint64_t{1} << 63) + "{}", "at most"},
        BadHeader{"length_max", length(~uint64_t{0}) + "{}", "at most"},
        BadHeader{"not_json", test::safetensors("hello", ""), "expected '{'"},
        BadHeader{"array", test::safetensors("[]", ""), "expected '{'"},
        BadHeader{"cut", test::safetensors("{\"a\":", ""), "byte 13"},
        BadHeader{"more", test::safetensors("{} {}", ""), "continues"},
        BadHeader{"trailing_byte", test::safetensors("{}", "x"),
                  "1 bytes after the last tensor"},
        BadHeader{"duplicate",
                  test::safetensors(
                      "{\"a\":" ENTRY("F32", "[1]", "0", "4") ",\"a\":" ENTRY(
                          "F32", "[1]", "4", "8") "}",
                      std::string(8, '\0')),
                  "'a' appears twice"},
        BadHeader{"metadata_number",
                  test::safetensors("{\"__metadata__\":{\"a\":1}}", ""),
                  "expected a string"},
        BadHeader{"unknown_dtype", one(ENTRY("F8_E8M0", "[8]", "0", "8")),
                  "tensor 'a' has dtype F8_E8M0, expected F32"},
        BadHeader{"unknown_key",
                  one("{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],"
                      "\"x\":1}"),
                  "unknown key 'x'"},
        BadHeader{"no_shape", one("{\"dtype\":\"F32\",\"data_offsets\":[0,8]}"),
                  "expected dtype, shape"},
        BadHeader{"no_offsets", one("{\"dtype\":\"F32\",\"shape\":[2]}"),
                  "two data_offsets"},
        BadHeader{"three_offsets",
                  one("{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4,"
                      "8]}"),
                  "two data_offsets"},
        BadHeader{"negative", one(ENTRY("F32", "[-2]", "0", "8")),
                  "whole number >= 0"},
        BadHeader{"fraction", one(ENTRY("F32", "[2.0]", "0", "8")),
                  "whole number"},
        BadHeader{"reversed", one(ENTRY("F32", "[2]", "8", "0")),
                  "bytes 8 to 0"},
        BadHeader{"beyond", one(ENTRY("F32", "[2]", "4", "12")),
                  "expected a range within 8"},
        BadHeader{"offset_max",
                  one(ENTRY("F32", "[2]", "0", "18446744073709551615")),
                  "expected a range within 8"},
        BadHeader{"wrong_size", one(ENTRY("F32", "[3]", "0", "8")),
                  "has 8 bytes, expected those of F32 of shape [3]"},
        BadHeader{"product",
                  one(ENTRY("F32", "[4294967296,4294967296]", "0", "8")),
                  "expected those of F32"},
        BadHeader{"size_2_63",
                  one(ENTRY("F32", "[9223372036854775808]", "0", "8")),
                  "exceeds 63 bits"},
        BadHeader{"hole", one(ENTRY("F32", "[1]", "4", "8")),
                  "starts at byte 4 of the data, expected 0"},
        BadHeader{"short", one(ENTRY("F32", "[1]", "0", "4")),
                  "4 bytes after the last tensor"},
        BadHeader{"overlap",
                  test::safetensors(
                      "{\"a\":" ENTRY("F32", "[2]", "0", "8") ",\"b\":" ENTRY(
                          "F32", "[1]", "4", "8") "}",
                      std::string(8, '\0')),
                  "no overlaps"},
        BadHeader{"nesting",
                  test::safetensors("{\"a\":" + std::string(100000, '['), ""),
                  "header, byte"}),
    [](const auto &info) { return info.param.name; });

/// Every file that differs from a good one in a single byte or is cut
/// somewhere is read or refused, never a crash.
TEST(SafeTensors, any_damage_is_survived) {
  test::Folder folder;
  std::string good = one(ENTRY("F32", "[2]", "0", "8"));
  test::writeFile(folder / "f", good);
  ASSERT_TRUE(SafeTensors().open(folder / "f").ok());
  for (size_t i = 0; i < good.size(); ++i) {
    for (int flip : {0x01, 0x80, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      test::writeFile(folder / "f", bad);
      (void)SafeTensors().open(folder / "f").ok();
    }
    test::writeFile(folder / "f", good.substr(0, i));
    ASSERT_FALSE(SafeTensors().open(folder / "f").ok()) << i;
  }
}

//===----------------------------------------------------------------------===//
// Checksum
//===----------------------------------------------------------------------===//

uint64_t checksumOf(const std::string &text) {
  Checksum checksum;
  checksum.add(text.data(), static_cast<int64_t>(text.size()));
  return checksum.value();
}

TEST(Checksum, does_not_depend_on_how_bytes_arrive) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += static_cast<char>(i * 7);
  for (size_t cut : {0, 1, 31, 32, 33, 500, 999}) {
    Checksum parts;
    parts.add(text.data(), static_cast<int64_t>(cut));
    parts.add(text.data() + cut, static_cast<int64_t>(text.size() - cut));
    EXPECT_EQ(parts.value(), checksumOf(text)) << cut;
  }
}

TEST(Checksum, sees_every_bit_and_every_length) {
  std::string text(200, '\0');
  std::set<uint64_t> seen = {checksumOf(text)};
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(1 << bit % 8);
    EXPECT_TRUE(seen.insert(checksumOf(flipped)).second) << bit;
  }
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_TRUE(seen.insert(checksumOf(text.substr(0, length))).second);
}

//===----------------------------------------------------------------------===//
// Mapped files
//===----------------------------------------------------------------------===//

/// Bytes of files that are resident in this process.
int64_t residentFileBytes() {
  std::string text = test::readFile("/proc/self/status");
  return std::stoll(text.substr(text.find("RssFile:") + 8)) * 1024;
}

TEST(MappedFile, what_is_released_is_not_resident_and_can_be_read_again) {
  test::Folder folder;
  std::string text(16 << 20, 'x');
  for (size_t i = 0; i < text.size(); i += 1000)
    text[i] = char('a' + i / 1000 % 26);
  test::writeFile(folder / "f", text);
  MappedFile file;
  ASSERT_TRUE(file.open(folder / "f").ok());
  int64_t before = residentFileBytes();
  EXPECT_TRUE(file.view() == text);
  EXPECT_GE(residentFileBytes(), before + (14 << 20));
  file.release(file.data() + 100, file.size() - 100);
  EXPECT_LE(residentFileBytes(), before + (2 << 20));
  EXPECT_TRUE(file.view() == text);
}

//===----------------------------------------------------------------------===//
// Atomic files
//===----------------------------------------------------------------------===//

std::vector<std::string> allNames(const std::string &path) {
  std::vector<std::string> names;
  EXPECT_TRUE(listFolder(path, names).ok());
  return names;
}

TEST(AtomicFile, leaves_the_old_file_until_it_is_complete) {
  test::Folder folder;
  test::writeFile(folder / "f", "old");
  {
    AtomicFile file;
    ASSERT_TRUE(file.create(folder / "f").ok());
    ASSERT_TRUE(file.write("new", 3).ok());
    EXPECT_EQ(test::readFile(folder / "f"), "old");
  } // given up
  EXPECT_EQ(test::readFile(folder / "f"), "old");
  EXPECT_EQ(allNames(folder.path), std::vector<std::string>{"f"});
  AtomicFile file;
  ASSERT_TRUE(file.create(folder / "f").ok());
  ASSERT_TRUE(file.write("new", 3).ok());
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(test::readFile(folder / "f"), "new");
  EXPECT_EQ(allNames(folder.path), std::vector<std::string>{"f"});
}

TEST(AtomicFile, a_folder_that_is_missing_is_named) {
  AtomicFile file;
  Status status = file.create("/does/not/exist/f");
  EXPECT_EQ(status.message(), "/does/not/exist/f: cannot be written: No such "
                              "file or directory");
}

/// Two containers may have the same pid.
TEST(AtomicFile, two_writers_of_one_name_do_not_meet) {
  test::Folder folder;
  AtomicFile one, two;
  ASSERT_TRUE(one.create(folder / "f").ok());
  ASSERT_TRUE(two.create(folder / "f").ok());
  EXPECT_NE(one.temporaryName(), two.temporaryName());
  ASSERT_TRUE(one.write("first", 5).ok());
  ASSERT_TRUE(two.write("second", 6).ok());
  ASSERT_TRUE(checkReplaceable(folder / "f").ok()); // removes leftovers only
  ASSERT_TRUE(one.commit().ok());
  EXPECT_EQ(test::readFile(folder / "f"), "first");
  ASSERT_TRUE(two.commit().ok());
  EXPECT_EQ(test::readFile(folder / "f"), "second");
  EXPECT_EQ(allNames(folder.path), std::vector<std::string>{"f"});
}

TEST(AtomicFile, leftovers_are_removed_by_the_next_writer) {
  test::Folder folder;
  test::writeFile(folder / ".f.tmp-0123456789abcdef", "half");
  test::writeFile(folder / ".g.tmp-0123456789abcdef", "of another file");
  test::writeFile(folder / ".f.tmp-notes", "the user's");
  ASSERT_TRUE(checkReplaceable(folder / "f").ok());
  EXPECT_EQ(
      allNames(folder.path),
      (std::vector<std::string>{".f.tmp-notes", ".g.tmp-0123456789abcdef"}));
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

TEST(MakeFolder, several_can_make_one_folder_at_once) {
  test::Folder folder;
  std::atomic<int> failures{0};
  for (int round = 0; round != 300; ++round) {
    std::string path = folder / std::to_string(round);
    std::atomic<int> ready{0};
    auto make = [&] {
      for (++ready; ready != 3;) // all begin together
        std::this_thread::yield();
      failures += !makeFolder(path).ok();
    };
    std::thread first(make), second(make), third(make);
    first.join(), second.join(), third.join();
  }
  EXPECT_EQ(failures, 0);
}

TEST(Printable, escapes_what_a_terminal_would_obey) {
  EXPECT_EQ(printable("blocks.0.w \xc3\xa9 \xe6\xbc\xa2"),
            "blocks.0.w \xc3\xa9 \xe6\xbc\xa2");
  EXPECT_EQ(printable("a\x1b[2J\r\n\x7f"), "a\\x1b[2J\\x0d\\x0a\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m"); // C1
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  std::string text = printable(std::string(5 << 20, 'x') + "\nend");
  EXPECT_LE(text.size(), 2000u);
  EXPECT_EQ(text.substr(text.size() - 7), "\\x0aend");
  EXPECT_EQ(printable(text), text);
}

} // namespace
