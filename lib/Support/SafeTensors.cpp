//===- SafeTensors.cpp - Reading tensors of a package ---------------------===//

#include "hone/Support/SafeTensors.h"

#include "hone/Support/Json.h"
#include "hone/Support/ParseFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hone;

/// Name and bytes of an element type in a header.
static std::pair<StringRef, int64_t> describeElement(Type element) {
  if (element.isF64())
    return {"F64", 8};
  if (element.isF32())
    return {"F32", 4};
  if (element.isBF16())
    return {"BF16", 2};
  if (element.isF16())
    return {"F16", 2};
  if (element.isInteger(64))
    return {"I64", 8};
  if (element.isInteger(32))
    return {"I32", 4};
  if (element.isInteger(8))
    return {"I8", 1};
  if (element.isFloat8E4M3FN())
    return {"F8_E4M3", 1};
  if (element.isFloat8E5M2())
    return {"F8_E5M2", 1};
  return {"BOOL", 1};
}

static std::string describeShape(ArrayRef<int64_t> shape) {
  return "[" +
         llvm::join(
             llvm::map_range(shape,
                             [](int64_t size) { return std::to_string(size); }),
             ", ") +
         "]";
}

llvm::Expected<SafeTensors> SafeTensors::open(StringRef path) {
  auto failure = [&](const llvm::Twine &message) {
    return makeError(path + ": " + message);
  };
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return failure("cannot be read: " + file.getError().message());
  SafeTensors result;
  result.path = path.str();
  result.buffer = std::move(*file);
  StringRef text = result.buffer->getBuffer();
  constexpr size_t lengthBytes = 8;
  if (text.size() < lengthBytes)
    return failure(llvm::Twine(text.size()) +
                   " bytes, expected the header's length in 8");
  uint64_t length = llvm::support::endian::read64le(text.data());
  if (length > text.size() - lengthBytes)
    return failure("header of " + llvm::Twine(length) +
                   " bytes, expected at most the " +
                   llvm::Twine(text.size() - lengthBytes) + " that follow");
  auto header = parseJson(text.substr(lengthBytes, length));
  if (!header)
    return failure("header " + llvm::toString(header.takeError()));
  const llvm::json::Object *table = header->getAsObject();
  if (!table)
    return failure("header is not a JSON object");
  StringRef data = text.drop_front(lengthBytes + length);
  for (const auto &[name, value] : *table) {
    if (name == "__metadata__")
      continue;
    auto wrong = [&, name = StringRef(name)](const llvm::Twine &message) {
      return failure("tensor '" + name + "': " + message);
    };
    const llvm::json::Object *object = value.getAsObject();
    auto *shape = object ? object->getArray("shape") : nullptr;
    auto *offsets = object ? object->getArray("data_offsets") : nullptr;
    auto dtype = object ? object->getString("dtype") : std::nullopt;
    if (!shape || !dtype || !offsets || offsets->size() != 2)
      return wrong("expected dtype, shape and two data_offsets");
    Entry entry;
    entry.dtype = dtype->str();
    for (const llvm::json::Value &size : *shape)
      entry.shape.push_back(size.getAsInteger().value_or(-1));
    int64_t begin = (*offsets)[0].getAsInteger().value_or(-1);
    int64_t end = (*offsets)[1].getAsInteger().value_or(-1);
    if (begin < 0 || end < begin || uint64_t(end) > data.size())
      return wrong(llvm::formatv("bytes {0} to {1}, expected inside [0, {2})",
                                 begin, end, data.size()));
    entry.data = data.slice(begin, end);
    result.entries[StringRef(name)] = std::move(entry);
  }
  return result;
}

llvm::Expected<StringRef> SafeTensors::bytes(StringRef name) const {
  auto found = entries.find(name);
  if (found == entries.end())
    return makeError(path + ": tensor '" + name + "': missing");
  return found->second.data;
}

llvm::Expected<StringRef> SafeTensors::bytes(StringRef name,
                                             RankedTensorType type) const {
  auto wrong = [&](const llvm::Twine &message) {
    return makeError(path + ": tensor '" + name + "': " + message);
  };
  auto found = entries.find(name);
  if (found == entries.end())
    return wrong("missing");
  const Entry &entry = found->second;
  auto [dtype, width] = describeElement(type.getElementType());
  if (entry.dtype != dtype || ArrayRef(entry.shape) != type.getShape())
    return wrong("is " + entry.dtype + describeShape(entry.shape) +
                 ", expected " + dtype + describeShape(type.getShape()));
  int64_t expected = type.getNumElements() * width;
  if (int64_t(entry.data.size()) != expected)
    return wrong(llvm::Twine(entry.data.size()) + " bytes, expected " +
                 llvm::Twine(expected));
  return entry.data;
}
