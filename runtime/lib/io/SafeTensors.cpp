//===- SafeTensors.cpp - Tensors by name in a file ------------------------===//

#include "io/SafeTensors.h"
#include "base/Json.h"
#include "io/FileKind.h"
#include "io/SharedFiles.h"

#include <algorithm>
#include <cstring>
#include <functional>

using namespace honert;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Status SafeTensors::open(const std::string &path) {
  MappedFile content;
  HONERT_TRY(content.open(path));
  return open(path, std::move(content));
}

Status SafeTensors::open(const std::string &path, MappedFile content) {
  name = path;
  file = std::move(content);
  Status status = read(path);
  if (status.ok())
    return status;
  std::string kind = recogniseFile(file.view());
  bool isOther = !kind.empty() && kind != safeTensorsKind;
  return isOther ? mistakenFor(kind) : status;
}

/// What people have instead, and how they make the file of it.
Status SafeTensors::mistakenFor(const std::string &kind) const {
  bool isIndex = kind == "JSON" &&
                 file.view().find("\"weight_map\"") != std::string_view::npos;
  if (isIndex)
    return Status::error(
        name + ": is the index of weights in several files, expected one "
               "safetensors file, as model.save_pretrained(DIR, "
               "max_shard_size='1TB') writes");
  return Status::error(name + ": looks like " + kind +
                       ", expected a safetensors file, as "
                       "safetensors.torch.save_file writes");
}

Status SafeTensors::read(const std::string &path) {
  if (file.size() < 8)
    return Status::error(
        format("%s: has %lld bytes, expected a safetensors file "
               "(8 bytes header length first)",
               path.c_str(), static_cast<long long>(file.size())));
  uint64_t headerBytes;
  std::memcpy(&headerBytes, file.data(), 8);
  if (headerBytes > static_cast<uint64_t>(maxHeaderBytes))
    return Status::error(
        format("%s: header of %llu bytes, expected at most %lld (is it a "
               "safetensors file?)",
               path.c_str(), static_cast<unsigned long long>(headerBytes),
               static_cast<long long>(maxHeaderBytes)));
  auto length = static_cast<int64_t>(headerBytes);
  if (length > file.size() - 8)
    return Status::error(format(
        "%s: header of %lld bytes in a file of %lld: truncated", path.c_str(),
        static_cast<long long>(length), static_cast<long long>(file.size())));
  body = file.data() + 8 + length;
  bodyBytes = file.size() - 8 - length;
  HONERT_TRY(readHeader(file.view().substr(8, headerBytes)));
  return checkLayout();
}

namespace {
struct Entry {
  std::string dtype;
  Shape shape;
  std::vector<uint64_t> range;
};
} // namespace

static bool readSizes(JsonReader &json, std::vector<uint64_t> &sizes) {
  return json.readArray([&] {
    uint64_t size;
    if (!json.readUnsigned(size))
      return false;
    sizes.push_back(size);
    return sizes.size() <= 64 || json.fail("more than 64 numbers in a list");
  });
}

static bool readEntry(JsonReader &json, Entry &entry) {
  bool hasShape = false;
  bool read = json.readObject([&](const std::string &key) {
    if (key == "dtype")
      return json.readString(entry.dtype);
    if (key == "data_offsets")
      return readSizes(json, entry.range);
    if (key != "shape")
      return json.fail("unknown key '" + key + "'");
    hasShape = true;
    std::vector<uint64_t> sizes;
    if (!readSizes(json, sizes))
      return false;
    for (uint64_t size : sizes) {
      if (size > INT64_MAX)
        return json.fail("a size exceeds 63 bits");
      entry.shape.push_back(static_cast<int64_t>(size));
    }
    return true;
  });
  if (!read)
    return false;
  if (entry.dtype.empty() || !hasShape || entry.range.size() != 2)
    return json.fail("expected dtype, shape and two data_offsets");
  return true;
}

/// Turns a header entry into a view of the body; empty if it was fine.
static std::string resolve(const Entry &entry, const char *body,
                           int64_t bodyBytes, TensorView &view) {
  std::optional<DType> dtype = dtypeFromSafetensors(entry.dtype);
  if (!dtype)
    return "has dtype " + entry.dtype +
           ", expected F32, F64, BF16, F16, I64, I32, I8 or BOOL";
  uint64_t begin = entry.range[0], end = entry.range[1];
  if (begin > end || end > static_cast<uint64_t>(bodyBytes))
    return format("has bytes %llu to %llu, expected a range within %lld",
                  static_cast<unsigned long long>(begin),
                  static_cast<unsigned long long>(end),
                  static_cast<long long>(bodyBytes));
  std::optional<int64_t> bytes = byteCount(*dtype, entry.shape);
  if (!bytes || *bytes != static_cast<int64_t>(end - begin))
    return format("has %llu bytes, expected those of %s of shape %s",
                  static_cast<unsigned long long>(end - begin),
                  entry.dtype.c_str(), toString(entry.shape).c_str());
  view = {*dtype, entry.shape, body + begin, *bytes};
  return "";
}

Status SafeTensors::readHeader(std::string_view header) {
  JsonReader json(header);
  Status problem;
  bool read = json.readObject([&](const std::string &key) {
    if (key == "__metadata__")
      return json.readObject([&](const std::string &) {
        std::string ignored;
        return json.readString(ignored);
      });
    Entry entry;
    if (!readEntry(json, entry))
      return json.fail("tensor '" + key + "' is described wrongly");
    std::string mistake = resolve(entry, body, bodyBytes, entries[key]);
    if (mistake.empty())
      return true;
    problem = Status::error(name + ": tensor '" + key + "' " + mistake);
    return json.fail(mistake);
  });
  if (!problem.ok())
    return problem;
  if (!read || !json.readEnd())
    return Status::error(format("%s: header, byte %zu: %s", name.c_str(),
                                json.position() + 8, json.mistake().c_str()));
  return Status();
}

Status SafeTensors::checkLayout() const {
  using Named = std::pair<const std::string, TensorView>;
  std::vector<const Named *> order;
  for (const Named &entry : entries)
    order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const Named *x, const Named *y) {
    return std::make_pair(x->second.data, x->second.bytes) <
           std::make_pair(y->second.data, y->second.bytes);
  });
  const char *end = body;
  for (const Named *entry : order) {
    if (entry->second.data != end)
      return Status::error(format(
          "%s: tensor '%s' starts at byte %lld of the data, expected %lld "
          "(no holes, no overlaps)",
          name.c_str(), entry->first.c_str(),
          static_cast<long long>(entry->second.data - body),
          static_cast<long long>(end - body)));
    end += entry->second.bytes;
  }
  if (end != body + bodyBytes)
    return Status::error(
        format("%s: %lld bytes after the last tensor", name.c_str(),
               static_cast<long long>(body + bodyBytes - end)));
  return Status();
}

const TensorView *SafeTensors::find(const std::string &tensor) const {
  auto found = entries.find(tensor);
  return found == entries.end() ? nullptr : &found->second;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static std::string makeHeader(const std::vector<TensorSource> &tensors,
                              const std::map<std::string, std::string> &meta) {
  std::string text = "{\"__metadata__\":{";
  for (const auto &[key, value] : meta)
    text += (text.back() == '{' ? "" : ",") + quoteJson(key) + ":" +
            quoteJson(value);
  text += "}";
  int64_t offset = 0;
  for (const TensorSource &tensor : tensors) {
    int64_t end = offset + *byteCount(tensor.storedDtype, tensor.shape);
    text += "," + quoteJson(tensor.name) + ":{\"dtype\":\"" +
            safetensorsName(tensor.storedDtype) +
            "\",\"shape\":" + toString(tensor.shape) +
            format(",\"data_offsets\":[%lld,%lld]}",
                   static_cast<long long>(offset), static_cast<long long>(end));
    offset = end;
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

namespace {
/// Elements of a tensor on their way to a file, in the file's type: those that
/// follow each other there are written together.
class Piece {
public:
  /// write(offset in the tensor, data, bytes)
  using Write = std::function<Status(int64_t, const char *, int64_t)>;

  Piece(const TensorSource &tensor, Write write)
      : tensor(tensor), write(std::move(write)), from(byteWidth(tensor.dtype)),
        to(byteWidth(tensor.storedDtype)) {}

  /// `count` elements from number `element` of the tensor on.
  Status add(int64_t element, const char *source, int64_t count) {
    bool converts = tensor.dtype != tensor.storedDtype;
    if (!converts && count * from >= pieceBytes) {
      HONERT_TRY(flush());
      return write(element * to, source, count * to);
    }
    while (count > 0) {
      auto bytes = static_cast<int64_t>(held.size());
      if (begin * to + bytes != element * to || bytes + to > pieceBytes) {
        HONERT_TRY(flush());
        begin = element;
      }
      int64_t taken = std::min(
          count, pieceBytes / to - static_cast<int64_t>(held.size()) / to);
      append(source, taken, converts);
      element += taken;
      source += taken * from;
      count -= taken;
    }
    return Status();
  }
  Status flush() {
    Status status;
    if (!held.empty())
      status =
          write(begin * to, held.data(), static_cast<int64_t>(held.size()));
    held.clear();
    return status;
  }

private:
  void append(const char *source, int64_t count, bool converts) {
    size_t size = held.size();
    held.resize(size + static_cast<size_t>(count * to));
    char *target = held.data() + size;
    if (!converts)
      std::memcpy(target, source, static_cast<size_t>(count * to));
    for (int64_t i = 0; converts && i < count; ++i)
      storeElement(tensor.storedDtype, target + i * to,
                   loadElement(tensor.dtype, source + i * from));
  }

  const TensorSource &tensor;
  Write write;
  int64_t from, to;  // bytes of an element
  int64_t begin = 0; // the first element that is held
  std::vector<char> held;
};
} // namespace

static Status writeTensor(const TensorSource &tensor, Piece::Write write) {
  PartLayout layout =
      tensor.layout.value_or(PartLayout::ofTensor(tensor.shape));
  Piece piece(tensor, std::move(write));
  Status status;
  int64_t from = byteWidth(tensor.dtype);
  int64_t most = tensor.passed ? 16 * pieceBytes / from : layout.size();
  for (int64_t lo = 0; lo < layout.size() && status.ok(); lo += most) {
    layout.forEachRun(lo, std::min(lo + most, layout.size()),
                      [&](int64_t element, int64_t place, int64_t length) {
                        if (status.ok())
                          status = piece.add(
                              element, tensor.data + place * from, length);
                      });
    if (tensor.passed)
      tensor.passed();
  }
  HONERT_TRY(status);
  return piece.flush();
}

/// What this rank writes. The checksum sees it in the file's order.
static Status writeOwn(AtomicFile &file, const std::string &header,
                       const std::vector<TensorSource> &tensors,
                       ProcessGroup &world, FileChecksum *checksum) {
  auto write = [&](int64_t offset, const void *data, int64_t bytes) {
    if (checksum)
      checksum->add(data, bytes);
    return file.writeAt(offset, data, bytes);
  };
  uint64_t length = header.size();
  auto begin = static_cast<int64_t>(8 + length);
  if (world.isFirst()) {
    HONERT_TRY(write(0, &length, 8));
    HONERT_TRY(write(8, header.data(), begin - 8));
  }
  for (const TensorSource &tensor : tensors) {
    if (tensor.isWritten)
      HONERT_TRY(writeTensor(
          tensor, [&](int64_t offset, const char *data, int64_t bytes) {
            return write(begin + offset, data, bytes);
          }));
    begin += *byteCount(tensor.storedDtype, tensor.shape);
  }
  return world.size() > 1 ? file.sync() : Status(); // commit() syncs too
}

Status
honert::writeSafeTensors(const std::string &path,
                         const std::vector<TensorSource> &tensors,
                         const std::map<std::string, std::string> &metadata,
                         ProcessGroup &world, FileChecksum *checksum) {
  AtomicFile file;
  std::string header = makeHeader(tensors, metadata);
  auto bytes = static_cast<int64_t>(8 + header.size());
  for (const TensorSource &tensor : tensors)
    bytes += *byteCount(tensor.storedDtype, tensor.shape);
  Status created = world.isFirst() ? file.create(path) : Status();
  if (created.ok() && world.isFirst() && world.size() > 1)
    created = file.resize(bytes);
  HONERT_TRY(world.agree(created));
  std::string name = file.temporaryName();
  HONERT_TRY(broadcastText(world, name));
  Status status = world.isFirst() ? Status() : file.join(path, name);
  if (status.ok())
    status = writeOwn(file, header, tensors, world,
                      world.size() > 1 ? nullptr : checksum);
  HONERT_TRY(world.agree(status));
  return world.agree(world.isFirst() ? file.commit() : Status());
}
