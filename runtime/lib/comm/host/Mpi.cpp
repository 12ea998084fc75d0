//===- Mpi.cpp - Open MPI, opened when a program needs it -----------------===//

#include "comm/host/Mpi.h"
#include "comm/group/Watchdog.h"
#include "comm/host/MessageProcessGroup.h"

#include <dlfcn.h>

using namespace honert;

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

Status MpiFunctions::open() {
  // What Open MPI opens itself looks for its symbols: RTLD_GLOBAL.
  void *library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    library = dlopen("libmpi.so", RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    const char *why = dlerror();
    return Status::error(format("libmpi.so.40: cannot be opened (%s); expected "
                                "Open MPI 4 or 5",
                                why ? why : "no such library"));
  }
#define MPI_FUNCTION(function, parameters)                                     \
  function = reinterpret_cast<int(*) parameters>(dlsym(library, #function));   \
  if (!function)                                                               \
    return Status::error("libmpi.so: has no " #function                        \
                         "; expected Open MPI 4 or 5");
#define MPI_OBJECT(type, object)                                               \
  object = reinterpret_cast<type>(dlsym(library, #object));                    \
  if (!object)                                                                 \
    return Status::error("libmpi.so: has no " #object                          \
                         "; expected Open MPI 4 or 5");
#include "comm/host/Mpi.def"
#undef MPI_FUNCTION
#undef MPI_OBJECT
  return Status();
}

Status MpiFunctions::check(int code, const std::string &what) const {
  if (code == MPI_SUCCESS)
    return Status();
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  (void)MPI_Error_string(code, text, &length);
  return Status::error(what + ": " + text);
}

std::string MpiFunctions::versionText() const {
  char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
  int length = 0;
  (void)MPI_Get_library_version(text, &length);
  std::string version = text;
  return version.substr(0, version.find(','));
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

namespace {
class MpiPointToPoint final : public PointToPoint {
public:
  explicit MpiPointToPoint(const LauncherEnvironment &place) : place(place) {}

  /// Starts the library, which only the calling thread uses from now on.
  Status start();
  /// Ends it, together with all other ranks.
  void finish() { (void)mpi.MPI_Finalize(); }
  /// Ends the processes of all ranks.
  void abort(int code) { (void)mpi.MPI_Abort(mpi.ompi_mpi_comm_world, code); }

  int64_t rank() const override { return place.rank; }
  int64_t size() const override { return place.size; }
  Status send(int64_t to, int64_t tag, const void *data, int64_t bytes,
              Message &message) override;
  Status receive(int64_t from, int64_t tag, void *data, int64_t bytes,
                 Message &message) override;
  Status test(Message &message, bool &isDone) override;

private:
  const LauncherEnvironment place;
  MpiFunctions mpi;
};
} // namespace

Status MpiPointToPoint::start() {
  HONERT_TRY(mpi.open());
  int provided = 0, rank = 0, size = 0;
  HONERT_TRY(mpi.check(
      mpi.MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided),
      "the start of MPI"));
  MPI_Comm all = mpi.ompi_mpi_comm_world;
  HONERT_TRY(
      mpi.check(mpi.MPI_Comm_set_errhandler(all, mpi.ompi_mpi_errors_return),
                "the start of MPI"));
  HONERT_TRY(mpi.check(mpi.MPI_Comm_rank(all, &rank), "the rank of MPI"));
  HONERT_TRY(mpi.check(mpi.MPI_Comm_size(all, &size), "the ranks of MPI"));
  if (rank == place.rank && size == place.size)
    return Status();
  return Status::error(format(
      "%s is rank %d of %d, but %s started rank %lld of %lld; expected Open "
      "MPI's own mpirun, or srun --mpi=pmix",
      mpi.versionText().c_str(), rank, size, place.launcher.c_str(),
      static_cast<long long>(place.rank), static_cast<long long>(place.size)));
}

static std::string textOf(const char *what, int64_t rank) {
  return format("a message %s rank %lld", what, static_cast<long long>(rank));
}

Status MpiPointToPoint::send(int64_t to, int64_t tag, const void *data,
                             int64_t bytes, Message &message) {
  MPI_Request request = nullptr;
  int code = mpi.MPI_Isend(data, static_cast<int>(bytes), mpi.ompi_mpi_byte,
                           static_cast<int>(to), static_cast<int>(tag),
                           mpi.ompi_mpi_comm_world, &request);
  message = {to, request};
  return code == MPI_SUCCESS ? Status() : mpi.check(code, textOf("to", to));
}

Status MpiPointToPoint::receive(int64_t from, int64_t tag, void *data,
                                int64_t bytes, Message &message) {
  MPI_Request request = nullptr;
  int code = mpi.MPI_Irecv(data, static_cast<int>(bytes), mpi.ompi_mpi_byte,
                           static_cast<int>(from), static_cast<int>(tag),
                           mpi.ompi_mpi_comm_world, &request);
  message = {from, request};
  return code == MPI_SUCCESS ? Status() : mpi.check(code, textOf("from", from));
}

Status MpiPointToPoint::test(Message &message, bool &isDone) {
  auto *request = static_cast<MPI_Request>(message.handle);
  int done = 0;
  int code = mpi.MPI_Test(&request, &done, /*status=*/nullptr);
  isDone = done != 0;
  return code == MPI_SUCCESS
             ? Status()
             : mpi.check(code, textOf("to or from", message.peer));
}

//===----------------------------------------------------------------------===//
// The world
//===----------------------------------------------------------------------===//

namespace {
class MpiProcessGroup final : public MessageProcessGroup {
public:
  MpiProcessGroup(const LauncherEnvironment &place, double timeout)
      : MessageProcessGroup(std::make_unique<MpiPointToPoint>(place)),
        watchdog(log(), place.rank, timeout) {}

  Status start();
  void leave(const Status &ended) override;

private:
  MpiPointToPoint &mpi() { return static_cast<MpiPointToPoint &>(*peers); }

  Watchdog watchdog;
  bool isStarted = false;
};
} // namespace

Status MpiProcessGroup::start() {
  int64_t number = log().begin("the start of MPI");
  log().wait(number);
  Status status = mpi().start();
  log().end(number);
  isStarted = status.ok();
  return status;
}

void MpiProcessGroup::leave(const Status &ended) {
  if (!isStarted)
    return;
  int64_t number = log().begin("the end of the run");
  log().wait(number);
  if (ended.ok() || failureIsKnown)
    mpi().finish();
  else
    mpi().abort(ended.exitCode());
  log().end(number);
}

Status honert::connectMpi(const LauncherEnvironment &place, double timeout,
                          std::unique_ptr<ProcessGroup> &world) {
  auto connected = std::make_unique<MpiProcessGroup>(place, timeout);
  Status status = connected->start();
  world = std::move(connected);
  return status;
}
