//===- CheckHeader.cpp - Our declarations against Open MPI's --------------===//
//
// Compiled where Open MPI's mpi.h is found. No code: a wrong value, object or
// signature in the list does not compile.
//
//===----------------------------------------------------------------------===//

#include <mpi.h>

#include <type_traits>

#define MPI_VALUE(name, value)                                                 \
  static_assert(static_cast<int>(name) == (value), #name);
#define MPI_FUNCTION(name, parameters)                                         \
  static_assert(std::is_same_v<decltype(&::name), int(*) parameters>, #name);
// A handle is the address of an object that begins with what it points to.
#define MPI_OBJECT(type, name)                                                 \
  static_assert(std::is_class_v<decltype(::name)> && std::is_pointer_v<type>,  \
                #name);
#include "comm/host/Mpi.def"

// As Mpi.h passes it for a status that nobody reads.
static_assert(MPI_STATUS_IGNORE == nullptr);
