//===- Npy.cpp - NumPy's array files --------------------------------------===//

#include "io/data/Npy.h"

#include <cstring>

using namespace honert;

constexpr std::string_view magic = "\x93NUMPY";
constexpr size_t maxHeaderBytes = 10'000;

namespace {
struct NpyFacts {
  const char *name;
  const char *description; // NumPy's "descr"
  int64_t width;
  std::optional<DType> program;
};
const NpyFacts facts[] = {
    {"float32", "<f4", 4, DType::f32},  {"float64", "<f8", 8, DType::f64},
    {"float16", "<f2", 2, DType::f16},  {"uint16", "<u2", 2, std::nullopt},
    {"uint32", "<u4", 4, std::nullopt}, {"int64", "<i8", 8, DType::i64},
    {"int32", "<i4", 4, DType::i32},    {"int8", "|i1", 1, DType::i8},
    {"bool", "|b1", 1, DType::i1},
};

/// The header is the text of a Python dict with three keys; this reads that
/// and nothing else.
class HeaderReader {
public:
  explicit HeaderReader(std::string_view text) : text(text) {}

  bool read(std::string &description, bool &fortran, Shape &shape) {
    int seen = 0;
    if (!accept("{"))
      return false;
    while (!accept("}")) {
      std::string key;
      bool known = false;
      if (!readString(key) || !accept(":"))
        return false;
      if (key == "descr") {
        known = readString(description);
        seen |= 1;
      } else if (key == "fortran_order") {
        fortran = accept("True");
        known = fortran || accept("False");
        seen |= 2;
      } else if (key == "shape") {
        known = readShape(shape);
        seen |= 4;
      }
      if (!known)
        return false;
      if (!accept(",")) {
        if (!accept("}"))
          return false;
        break;
      }
    }
    skipSpace();
    return seen == 7 && at == text.size();
  }

private:
  void skipSpace() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n'))
      ++at;
  }
  bool accept(std::string_view word) {
    skipSpace();
    if (text.substr(at, word.size()) != word)
      return false;
    at += word.size();
    return true;
  }
  bool readString(std::string &value) {
    if (!accept("'"))
      return false;
    size_t end = text.find('\'', at);
    if (end == text.npos)
      return false;
    value = text.substr(at, end - at);
    at = end + 1;
    return true;
  }
  bool readShape(Shape &shape) {
    if (!accept("("))
      return false;
    while (!accept(")")) {
      skipSpace();
      int64_t size = 0;
      size_t begin = at;
      for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
        if (__builtin_mul_overflow(size, int64_t{10}, &size) ||
            __builtin_add_overflow(size, int64_t{text[at] - '0'}, &size))
          return false;
      if (at == begin || shape.size() == 64)
        return false;
      shape.push_back(size);
      if (!accept(","))
        return accept(")");
    }
    return true;
  }

  std::string_view text;
  size_t at = 0;
};
} // namespace

static const NpyFacts &factsOf(NpyType type) {
  return facts[static_cast<int>(type)];
}

const char *honert::name(NpyType type) { return factsOf(type).name; }
int64_t honert::byteWidth(NpyType type) { return factsOf(type).width; }
std::optional<DType> honert::programType(NpyType type) {
  return factsOf(type).program;
}

bool honert::isNpy(std::string_view file) {
  return file.substr(0, magic.size()) == magic;
}

/// The header's text; empty if the file is too short for what it declares.
static Status locateHeader(const std::string &path, std::string_view file,
                           std::string_view &header, int64_t &offset) {
  if (!isNpy(file) || file.size() < 10)
    return Status::error(path + ": is no .npy file");
  auto byte = [&](size_t i) { return static_cast<unsigned char>(file[i]); };
  unsigned version = byte(6);
  if ((version != 1 && version != 2) || byte(7) != 0)
    return Status::error(format("%s: .npy version %u.%u, expected 1.0 or 2.0",
                                path.c_str(), version, byte(7)));
  size_t start = version == 1 ? 10 : 12;
  size_t length = byte(8) | byte(9) << 8;
  if (version == 2 && file.size() >= 12)
    length |= static_cast<size_t>(byte(10)) << 16 |
              static_cast<size_t>(byte(11)) << 24;
  if (length > maxHeaderBytes)
    return Status::error(
        format("%s: .npy header of %zu bytes, expected at most "
               "%zu",
               path.c_str(), length, maxHeaderBytes));
  if (file.size() < start || length > file.size() - start)
    return Status::error(path + ": .npy header is truncated");
  header = file.substr(start, length);
  offset = static_cast<int64_t>(start + length);
  return Status();
}

Status honert::readNpy(const std::string &path, std::string_view file,
                       NpyArray &array) {
  std::string_view header;
  HONERT_TRY(locateHeader(path, file, header, array.offset));
  std::string description;
  bool fortran = false;
  array.shape.clear();
  if (!HeaderReader(header).read(description, fortran, array.shape))
    return Status::error(path + ": .npy header is malformed");
  const NpyFacts *type = nullptr;
  for (const NpyFacts &each : facts)
    if (description == each.description)
      type = &each;
  if (!type)
    return Status::error(format("%s: .npy element type '%s', expected a "
                                "little-endian integer, float or "
                                "bool",
                                path.c_str(), description.c_str()));
  array.type = static_cast<NpyType>(type - facts);
  if (fortran && array.shape.size() > 1)
    return Status::error(path + ": .npy in Fortran order, expected C order");
  std::optional<int64_t> count = elementCount(array.shape);
  int64_t bytes, present = static_cast<int64_t>(file.size()) - array.offset;
  if (!count || __builtin_mul_overflow(*count, type->width, &bytes) ||
      bytes != present)
    return Status::error(
        format("%s: .npy shape %s of %s, but %lld bytes of elements",
               path.c_str(), toString(array.shape).c_str(), type->name,
               static_cast<long long>(present)));
  return Status();
}
