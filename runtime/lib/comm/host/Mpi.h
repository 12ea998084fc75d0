//===- Mpi.h - Open MPI, opened when a program needs it -------------------===//
//
// Types and values are declared here, so that one executable starts on any
// machine; where mpi.h is found, CheckHeader.cpp compares.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_COMM_HOST_MPI_H
#define HONERT_COMM_HOST_MPI_H

#include "comm/group/LauncherEnvironment.h"
#include "program/ProcessGroup.h"

namespace honert {

using MPI_Comm = struct ompi_communicator_t *;
using MPI_Datatype = struct ompi_datatype_t *;
using MPI_Errhandler = struct ompi_errhandler_t *;
using MPI_Request = struct ompi_request_t *;
using MPI_Status = struct ompi_status_public_t;

enum : int {
#define MPI_VALUE(name, value) name = value,
#include "comm/host/Mpi.def"
#undef MPI_VALUE
};

/// The functions and objects of libmpi.so.40.
struct MpiFunctions {
#define MPI_FUNCTION(name, parameters) int(*name) parameters = nullptr;
#define MPI_OBJECT(type, name) type name = nullptr;
#include "comm/host/Mpi.def"
#undef MPI_FUNCTION
#undef MPI_OBJECT

  /// Opens the library. Errors: there is none, or it is not Open MPI.
  Status open();
  /// Success, or "what: the library's text".
  Status check(int code, const std::string &what) const;
  std::string versionText() const;
};

/// Joins the processes that an MPI launcher started, as rank `place.rank` of
/// `place.size`. A wait of more than `timeout` seconds (0: any) ends the
/// process.
Status connectMpi(const LauncherEnvironment &place, double timeout,
                  std::unique_ptr<ProcessGroup> &world);

} // namespace honert

#endif // HONERT_COMM_HOST_MPI_H
