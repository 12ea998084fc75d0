//===- EventFile.cpp - Curves for TensorBoard -----------------------------===//

#include "train/EventFile.h"
#include "base/Files.h"

#include <array>
#include <chrono>
#include <cstring>
#include <string_view>
#include <unistd.h>
#include <utility>

using namespace honert;

// TensorBoard takes every file whose name contains "tfevents"; the end tells
// ours, which may be cut.
static constexpr std::string_view prefix = "events.out.tfevents.";
static constexpr std::string_view suffix = ".hone";

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

/// CRC-32C (Castagnoli), bit-reversed as usual, by bytes.
static uint32_t crc32c(std::string_view data) {
  static const auto table = [] {
    std::array<uint32_t, 256> entries;
    for (uint32_t i = 0; i != 256; ++i) {
      uint32_t entry = i;
      for (int bit = 0; bit != 8; ++bit)
        entry = entry >> 1 ^ (entry & 1 ? 0x82F63B78 : 0);
      entries[i] = entry;
    }
    return entries;
  }();
  uint32_t crc = ~0U;
  for (char c : data)
    crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ crc >> 8;
  return ~crc;
}

/// The bytes of a number as they lie in memory: the lowest first, as the format
/// has them, on every machine that this runs on.
template <typename T> static std::string bytesOf(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

/// The format masks checksums, so that a checksum of data that contain
/// checksums is none of them.
static std::string maskedCrc(std::string_view data) {
  uint32_t crc = crc32c(data);
  return bytesOf((crc >> 15 | crc << 17) + 0xA282EAD8);
}

/// The data of the record at `at`, and where the next one begins; false at the
/// end of the file and where it is damaged.
static bool readRecord(std::string_view file, size_t &at,
                       std::string_view &data) {
  constexpr size_t head = sizeof(uint64_t), check = sizeof(uint32_t);
  size_t left = file.size() - at;
  uint64_t length;
  if (left < head + 2 * check)
    return false;
  std::memcpy(&length, file.data() + at, head);
  if (file.substr(at + head, check) != maskedCrc(file.substr(at, head)) ||
      length > left - head - 2 * check)
    return false;
  data = file.substr(at + head + check, length);
  at += head + check + length + check;
  return file.substr(at - check, check) == maskedCrc(data);
}

//===----------------------------------------------------------------------===//
// Protocol buffers
//===----------------------------------------------------------------------===//

namespace {
enum WireType : unsigned { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
} // namespace

static std::string varintText(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7)
    text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}

static std::string field(unsigned number, WireType type,
                         const std::string &content) {
  std::string text = varintText(number << 3 | type);
  if (type == bytes)
    text += varintText(content.size());
  return text + content;
}

static std::string eventText(double time, int64_t step,
                             const std::string &more) {
  return field(1, fixed64, bytesOf(time)) +
         field(2, varint, varintText(static_cast<uint64_t>(step))) + more;
}

/// The step of an event as eventText() writes it; -1: another event.
static int64_t stepOf(std::string_view event) {
  constexpr size_t place = 10; // after the field wall_time
  if (event.size() <= place || event[0] != (1 << 3 | fixed64) ||
      event[place - 1] != (2 << 3 | varint))
    return -1;
  uint64_t step = 0;
  int shift = 0;
  for (size_t at = place; at < event.size() && shift < 63; ++at, shift += 7) {
    auto byte = static_cast<unsigned char>(event[at]);
    step |= uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80)
      return static_cast<int64_t>(step);
  }
  return -1;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Paths of the files of earlier processes.
static Status findOurs(const std::string &folder,
                       std::vector<std::string> &paths) {
  std::vector<std::string> names;
  HONERT_TRY(listFolder(folder, names));
  for (const std::string &name : names)
    if (name.size() > prefix.size() + suffix.size() &&
        name.compare(0, prefix.size(), prefix) == 0 &&
        name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0)
      paths.push_back(folder + "/" + name);
  return Status();
}

/// Cuts off the events of steps that will be done again, and half a record.
static Status trim(const std::string &path, int64_t doneSteps) {
  MappedFile old;
  HONERT_TRY(old.open(path));
  size_t keep = 0, at = 0;
  for (std::string_view event; readRecord(old.view(), at, event); keep = at)
    if (int64_t step = stepOf(event); step < 0 || step > doneSteps)
      break;
  if (truncate(path.c_str(), static_cast<off_t>(keep)) != 0)
    return systemError(path, "cannot be shortened");
  return Status();
}

EventFile::~EventFile() {
  if (file)
    std::fclose(file);
}

Status EventFile::prepare(const std::string &folder, bool resume) {
  HONERT_TRY(makeFolder(folder));
  std::vector<std::string> found;
  HONERT_TRY(findOurs(folder, found));
  if (!resume && !found.empty())
    return Status::usage(
        "--tensorboard: " + folder + " holds curves of an earlier run (" +
        baseName(found.front()) +
        "), expected a folder without: name another one, remove this one, or "
        "go on with that run (--resume)");
  return Status();
}

Status EventFile::open(const std::string &folder, int64_t doneSteps) {
  std::vector<std::string> found;
  HONERT_TRY(findOurs(folder, found));
  for (const std::string &old : found)
    HONERT_TRY(trim(old, doneSteps));
  char host[256] = "";
  (void)gethostname(host, sizeof host - 1);
  // TensorBoard reads the files of a folder in the order of their names.
  auto now = std::chrono::system_clock::now().time_since_epoch();
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  path = folder + "/" + std::string(prefix) +
         format("%010lld.%s.%ld", static_cast<long long>(seconds), host,
                static_cast<long>(getpid())) +
         std::string(suffix);
  file = std::fopen(path.c_str(), "we");
  if (!file)
    return systemError(path, "cannot be written");
  return writeEvent(field(3, bytes, "brain.Event:2"), 0);
}

Status EventFile::writeEvent(const std::string &members, int64_t step) {
  std::chrono::duration<double> now =
      std::chrono::system_clock::now().time_since_epoch();
  std::string event = eventText(now.count(), step, members);
  std::string length = bytesOf(uint64_t{event.size()});
  std::string record = length + maskedCrc(length) + event + maskedCrc(event);
  std::fwrite(record.data(), 1, record.size(), file);
  if (std::fflush(file) == 0 && !std::ferror(file))
    return Status();
  Status failed = systemError(path, "cannot be written");
  std::fclose(std::exchange(file, nullptr));
  return failed;
}

Status EventFile::write(int64_t step, const std::vector<Scalar> &scalars) {
  std::string summary;
  for (auto [name, value] : scalars)
    summary += field(1, bytes,
                     field(1, bytes, name) +
                         field(2, fixed32, bytesOf(static_cast<float>(value))));
  return writeEvent(field(5, bytes, summary), step);
}
