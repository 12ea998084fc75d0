//===- Locations.h - Places in the user's source ----------------*- C++ -*-===//

#ifndef HONE_IR_LOCATIONS_H
#define HONE_IR_LOCATIONS_H

#include "mlir/IR/Location.h"

#include <string>

namespace hone {

/// "FILE:LINE:COL" of the innermost file location in `location`; without one
/// its first name, or "".
std::string describeLocation(mlir::Location location);

} // namespace hone

#endif // HONE_IR_LOCATIONS_H
