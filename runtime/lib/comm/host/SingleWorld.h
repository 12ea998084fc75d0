//===- SingleWorld.h - A process that is alone ------------------*- C++ -*-===//

#ifndef HONERT_COMM_HOST_SINGLEWORLD_H
#define HONERT_COMM_HOST_SINGLEWORLD_H

#include "program/World.h"

namespace honert {

/// A process that is alone.
std::unique_ptr<World> makeSingleWorld();

} // namespace honert

#endif // HONERT_COMM_HOST_SINGLEWORLD_H
