//===- CallerInputs.cpp - From a caller's tensors to a step's inputs ------===//

#include "train/in_process/CallerInputs.h"
#include "io/data/IdBounds.h"

#include <cstring>

using namespace honert;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

namespace {
/// Kinds of elements, as DLPack numbers them.
enum Code : uint8_t {
  integer = 0,
  unsignedInteger = 1,
  floating = 2,
  bfloat = 4,
  boolean = 6,
  e4m3fn = 10,
  e5m2 = 12
};
struct ElementType {
  uint8_t code, bits;
};
} // namespace

static ElementType elementTypeOf(DType dtype) {
  auto bits = static_cast<uint8_t>(8 * byteWidth(dtype));
  switch (dtype) {
  case DType::f32:
  case DType::f64:
  case DType::f16:
    return {floating, bits};
  case DType::bf16:
    return {bfloat, bits};
  case DType::i64:
  case DType::i32:
  case DType::i8:
    return {integer, bits};
  case DType::i1:
    return {boolean, bits};
  case DType::f8e4m3:
    return {e4m3fn, bits};
  case DType::f8e5m2:
    return {e5m2, bits};
  }
  __builtin_unreachable();
}

void honert::describeTensor(DType dtype, const Shape &dims,
                            honert_tensor &tensor) {
  ElementType type = elementTypeOf(dtype);
  tensor = {};
  tensor.device = hostDevice;
  tensor.rank = static_cast<int32_t>(dims.size());
  tensor.code = type.code;
  tensor.bits = type.bits;
  tensor.lanes = 1;
  tensor.dims = dims.data();
}

static bool isInteger(const honert_tensor &tensor) {
  return tensor.code == integer || tensor.code == unsignedInteger;
}

/// Whether every element is an int64.
static bool isConvertible(const honert_tensor &tensor) {
  return isInteger(tensor) &&
         (tensor.bits == 8 || tensor.bits == 16 || tensor.bits == 32 ||
          (tensor.bits == 64 && tensor.code == integer));
}

/// "int64 of shape [8, 64]", as NumPy and PyTorch call types.
static std::string describe(const honert_tensor &tensor) {
  std::string name;
  switch (tensor.code) {
  case integer:
    name = format("int%d", tensor.bits);
    break;
  case unsignedInteger:
    name = format("uint%d", tensor.bits);
    break;
  case floating:
    name = format("float%d", tensor.bits);
    break;
  case bfloat:
    name = format("bfloat%d", tensor.bits);
    break;
  case boolean:
    name = "bool";
    break;
  default:
    name = format("elements of DLPack's code %d with %d bits", tensor.code,
                  tensor.bits);
  }
  if (tensor.lanes != 1)
    name += format(" x %d", tensor.lanes);
  return name + " of shape " +
         toString(Shape(tensor.dims, tensor.dims + tensor.rank));
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

CallerInputs::CallerInputs(const Program &program) {
  for (const Argument &argument : program.arguments)
    if (argument.kind == Kind::input) {
      inputs.push_back(&argument);
      layouts.emplace_back(argument, argument.parts.front(), program.mesh,
                           /*rank=*/0);
    }
}

Status CallerInputs::checkOne(const Argument &argument,
                              const honert_tensor &tensor,
                              int64_t microBatches) const {
  const char *name = argument.fqn.c_str();
  if (tensor.device != hostDevice)
    return Status::error(format("input '%s': lies on a device (DLPack's type "
                                "%d), expected memory of the host: x.cpu()",
                                name, tensor.device));
  Shape dims = argument.whole;
  if (microBatches > 1)
    dims.insert(dims.begin(), microBatches);
  honert_tensor expected;
  describeTensor(argument.dtype, dims, expected);
  bool isConverted = isInteger(expected) && isConvertible(tensor);
  bool isEqual = tensor.code == expected.code && tensor.bits == expected.bits;
  if ((isEqual || isConverted) && tensor.lanes == 1 &&
      Shape(tensor.dims, tensor.dims + tensor.rank) == dims)
    return Status();
  return Status::error(format(
      "input '%s': %s, expected %s%s", name, describe(tensor).c_str(),
      describe(expected).c_str(),
      microBatches > 1
          ? format(": %lld micro-batches", static_cast<long long>(microBatches))
                .c_str()
          : ""));
}

Status CallerInputs::check(const honert_tensor *const *tensors, int64_t count,
                           int64_t microBatches) const {
  if (count != static_cast<int64_t>(inputs.size())) {
    std::string names;
    for (const Argument *input : inputs)
      names += (names.empty() ? "" : ", ") + input->fqn;
    return Status::error(format("inputs: %lld, expected %zu (%s)",
                                static_cast<long long>(count), inputs.size(),
                                names.c_str()));
  }
  for (size_t i = 0; i != inputs.size(); ++i)
    HONERT_TRY(checkOne(*inputs[i], *tensors[i], microBatches));
  return Status();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

namespace {
/// Neighbours of a tensor that lie `stride` elements apart: one row of its last
/// dimension, or all of a dense tensor.
struct Row {
  const char *data;
  int64_t first;  ///< number of the first element in the tensor
  int64_t length; ///< elements
  int64_t stride;
};
} // namespace

static bool isDense(const int64_t *dims, const int64_t *strides, int rank) {
  int64_t expected = 1;
  for (int dim = rank; dim-- > 0; expected *= dims[dim])
    if (strides && dims[dim] != 1 && strides[dim] != expected)
      return false;
  return true;
}

/// Calls `body(row)` for the rows of the tensor at `data` until one fails.
template <typename Body>
static Status forEachRow(const char *data, const int64_t *dims,
                         const int64_t *strides, int rank, int64_t width,
                         Body body) {
  int64_t count = *elementCount(Shape(dims, dims + rank));
  if (count == 0 || isDense(dims, strides, rank))
    return body(Row{data, 0, count, 1});
  int64_t length = dims[rank - 1];
  std::vector<int64_t> index(static_cast<size_t>(rank), 0);
  for (int64_t first = 0; first != count; first += length) {
    int64_t at = 0;
    for (int dim = 0; dim != rank - 1; ++dim)
      at += index[static_cast<size_t>(dim)] * strides[dim];
    HONERT_TRY(body(Row{data + at * width, first, length, strides[rank - 1]}));
    for (int dim = rank - 1; dim-- > 0;) {
      if (++index[static_cast<size_t>(dim)] != dims[dim])
        break;
      index[static_cast<size_t>(dim)] = 0;
    }
  }
  return Status();
}

template <typename T> static int64_t readAs(const char *address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

using ReadInteger = int64_t (*)(const char *address);

/// How integers of a type that isConvertible() are read.
static ReadInteger readerOf(const honert_tensor &tensor) {
  bool isSigned = tensor.code == integer;
  switch (tensor.bits) {
  case 8:
    return isSigned ? readAs<int8_t> : readAs<uint8_t>;
  case 16:
    return isSigned ? readAs<int16_t> : readAs<uint16_t>;
  case 32:
    return isSigned ? readAs<int32_t> : readAs<uint32_t>;
  default:
    return readAs<int64_t>;
  }
}

namespace {
/// Writes elements of one input.
class Copier {
public:
  Copier(const Argument &argument, const honert_tensor &tensor,
         const PartLayout &layout, char *target)
      : argument(argument), layout(layout), target(target),
        bounds(IdBounds::of(argument)), width(tensor.bits / 8),
        read(isConvertible(tensor) ? readerOf(tensor) : nullptr),
        isExact(elementTypeOf(argument.dtype).code == tensor.code &&
                byteWidth(argument.dtype) == width) {}

  /// The row and its ids' bounds.
  Status copy(const Row &row) const {
    Status status;
    layout.forEachRun(row.first, row.first + row.length,
                      [&](int64_t element, int64_t place, int64_t length) {
                        const char *source = row.data + (element - row.first) *
                                                            row.stride * width;
                        if (status.ok())
                          status = copyRun(source, row.stride, element, place,
                                           length);
                      });
    return status;
  }

private:
  Status copyRun(const char *source, int64_t stride, int64_t element,
                 int64_t place, int64_t length) const {
    int64_t wide = byteWidth(argument.dtype);
    char *to = target + place * wide;
    if (isExact && stride == 1) {
      std::memcpy(to, source, static_cast<size_t>(length * wide));
      return checkCopied(to, element, length);
    }
    for (int64_t i = 0; i != length; ++i, source += stride * width) {
      if (!read) {
        std::memcpy(to + i * wide, source, static_cast<size_t>(wide));
        continue;
      }
      int64_t id = read(source);
      if (argument.vocab > 0 && !bounds.contains(id))
        return refuse(id, element + i);
      HONERT_TRY(store(id, element + i, to + i * wide));
    }
    return Status();
  }

  /// The bounds of ids that have been copied as they are.
  Status checkCopied(const char *ids, int64_t element, int64_t length) const {
    if (argument.vocab == 0)
      return Status();
    if (argument.dtype == DType::i64) {
      const auto *values = reinterpret_cast<const int64_t *>(ids);
      int64_t at = bounds.findOther(values, length);
      return at == length ? Status() : refuse(values[at], element + at);
    }
    for (int64_t i = 0; i != length; ++i)
      if (int64_t id = read(ids + i * width); !bounds.contains(id))
        return refuse(id, element + i);
    return Status();
  }

  Status refuse(int64_t id, int64_t element) const {
    return Status::error(
        format("input '%s': id %lld at position %lld, %s", argument.fqn.c_str(),
               static_cast<long long>(id), static_cast<long long>(element),
               bounds.expected(id).c_str()));
  }

  Status store(int64_t value, int64_t element, char *to) const {
    int64_t width = byteWidth(argument.dtype);
    int64_t most = INT64_MAX >> (64 - 8 * width);
    if (value > most || value < -most - 1)
      return Status::error(format(
          "input '%s': %lld at position %lld, expected %lld to %lld, "
          "which its type %s holds",
          argument.fqn.c_str(), static_cast<long long>(value),
          static_cast<long long>(element), static_cast<long long>(-most - 1),
          static_cast<long long>(most), name(argument.dtype)));
    std::memcpy(to, &value, static_cast<size_t>(width)); // little-endian
    return Status();
  }

  const Argument &argument;
  const PartLayout &layout;
  char *target;
  IdBounds bounds;
  int64_t width;    ///< bytes of an element of the tensor
  ReadInteger read; ///< null: no integers
  bool isExact;     ///< the tensor has the program's type
};
} // namespace

Status CallerInputs::load(const honert_tensor *const *tensors, int64_t micro,
                          int64_t microBatches, Arena &arena) const {
  for (size_t i = 0; i != inputs.size(); ++i) {
    const honert_tensor &tensor = *tensors[i];
    const int64_t *dims = tensor.dims, *strides = tensor.strides;
    int rank = tensor.rank;
    int64_t width = tensor.bits / 8;
    const char *data =
        static_cast<const char *>(tensor.data) + tensor.byte_offset;
    if (microBatches > 1) { // the first dimension counts them
      int64_t inner = *elementCount(Shape(dims + 1, dims + rank));
      data += micro * (strides ? strides[0] : inner) * width;
      ++dims, --rank;
      strides = strides ? strides + 1 : nullptr;
    }
    Copier copier(*inputs[i], tensor, layouts[i], arena.at(inputs[i]->offset));
    HONERT_TRY(forEachRow(data, dims, strides, rank, width,
                          [&](const Row &row) { return copier.copy(row); }));
  }
  return Status();
}
