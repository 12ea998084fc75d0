//===- Npy.h - NumPy's array files ----------------------------------------===//

#ifndef HONERT_IO_DATA_NPY_H
#define HONERT_IO_DATA_NPY_H

#include "base/Files.h"
#include "base/Types.h"

namespace honert {

/// The element types of array files that are read.
enum class NpyType { f32, f64, f16, u16, u32, i64, i32, i8, boolean };

/// "uint16"
const char *name(NpyType type);
int64_t byteWidth(NpyType type);
/// The element type of a program that equals `type`, if there is one.
std::optional<DType> programType(NpyType type);

/// Where the elements of an array file lie.
struct NpyArray {
  NpyType type;
  Shape shape;
  int64_t offset; ///< of the first element in the file
};

/// True if the file starts as an array file does.
bool isNpy(std::string_view file);

/// Reads the header of a mapped array file: version 1 or 2, C order, little
/// endian, header of at most 10,000 bytes (NumPy's cap), and exactly as many
/// bytes as the shape says.
Status readNpy(const std::string &path, std::string_view file, NpyArray &array);

} // namespace honert

#endif // HONERT_IO_DATA_NPY_H
