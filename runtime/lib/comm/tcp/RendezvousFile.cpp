//===- RendezvousFile.cpp - A file that says where rank 0 listens ---------===//

#include "comm/tcp/RendezvousFile.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace honert;

/// What such a file begins with, and more than it holds.
static const char *const title = "hone-meeting-1";
static constexpr size_t most = 1024;

static Status error(const std::string &path, const std::string &what) {
  return Status::error(path + ": " + what);
}

static Status systemError(const std::string &path) {
  return error(path, std::strerror(errno));
}

std::string RendezvousFile::text() const {
  return format("%s %s %lld %llu %s\n", title, host.c_str(),
                static_cast<long long>(port),
                static_cast<unsigned long long>(run), toHex(secret).c_str());
}

bool RendezvousFile::parse(const std::string &text) {
  std::istringstream words(text);
  std::string first, digits, more;
  words >> first >> host >> port >> run >> digits;
  return words && first == title && port > 0 && port <= 65535 &&
         fromHex(digits, secret) && !(words >> more);
}

/// Makes a file of another name beside `path`. Two containers may have equal
/// process numbers, so that the name is random.
static Status createBeside(const std::string &path, std::string &name,
                           int &file) {
  Digest random;
  HONERT_TRY(fillRandom(random.data(), random.size()));
  name = path + "." + toHex(random).substr(0, 16);
  file = open(name.c_str(),
              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  return file < 0 ? systemError(name) : Status();
}

/// Whether files that this process makes beside `path` belong to `user`: a file
/// server may take root, or everybody, for nobody.
static bool ownsNewFiles(const std::string &path, uid_t user) {
  std::string name;
  int file;
  if (!createBeside(path, name, file).ok())
    return false;
  struct stat made = {};
  bool isOwner = fstat(file, &made) == 0 && made.st_uid == user;
  close(file);
  (void)unlink(name.c_str());
  return isOwner;
}

/// Whether an open file may be one of this user's. Users whom a server takes
/// for one cannot be told apart by it: another secret must do that.
Status RendezvousFile::checkKind(const std::string &path, int descriptor) {
  struct stat found = {};
  if (fstat(descriptor, &found) != 0)
    return systemError(path);
  if (!S_ISREG(found.st_mode))
    return error(path, "expected a regular file, or none");
  unsigned owner = found.st_uid, user = geteuid();
  if (owner != user && owner != squashedUser) {
    if (!ownsNewFiles(path, owner))
      return error(path,
                   format("belongs to user %u, expected user %u or no file",
                          owner, user));
    if (!hasOtherSecret)
      return error(
          path,
          format("belongs to user %u, as do all files that user %u makes there "
                 "and perhaps those of other users; expected HONE_SECRET or "
                 "HONE_SECRET_FILE as well, or MASTER_ADDR and MASTER_PORT "
                 "instead of a file",
                 owner, user));
    squashedUser = owner;
  }
  if (found.st_mode & (S_IWGRP | S_IWOTH))
    return error(path, "other users may write it, expected chmod 600");
  return Status();
}

static Status readAll(const std::string &path, int file, std::string &text) {
  text.resize(most);
  size_t bytes = 0;
  while (bytes < text.size()) {
    ssize_t came = ::read(file, text.data() + bytes, text.size() - bytes);
    if (came < 0 && errno != EINTR)
      return systemError(path);
    if (came == 0)
      break;
    bytes += static_cast<size_t>(std::max<ssize_t>(came, 0));
  }
  text.resize(bytes);
  return Status();
}

/// O_NONBLOCK: nobody may ever write to a pipe.
Status RendezvousFile::read(const std::string &path, bool &isThere) {
  isThere = false;
  int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 && (errno == ENOENT || errno == ESTALE))
    return Status();
  if (file < 0)
    return errno == ELOOP ? error(path, "is a link, expected a regular file, "
                                        "or none")
                          : systemError(path);
  std::string found;
  Status status = checkKind(path, file);
  if (status.ok())
    status = readAll(path, file, found);
  close(file);
  HONERT_TRY(status);
  isThere = !found.empty();
  if (isThere && !parse(found))
    return error(path, "expected no file, or one that an earlier run left, got "
                       "a file of something else");
  return Status();
}

/// Closes the file, too. What the others would refuse is not written.
Status RendezvousFile::writeAll(const std::string &path, int descriptor) {
  Status status = checkKind(path, descriptor);
  std::string all = text();
  if (status.ok() && ::write(descriptor, all.data(), all.size()) !=
                         static_cast<ssize_t>(all.size()))
    status = systemError(path);
  if (close(descriptor) != 0 && status.ok())
    status = systemError(path);
  return status;
}

Status RendezvousFile::write(const std::string &path) {
  RendezvousFile earlier = *this;
  bool isThere;
  HONERT_TRY(earlier.read(path, isThere));
  std::string temporary;
  int file;
  HONERT_TRY(createBeside(path, temporary, file));
  Status status = writeAll(temporary, file);
  if (status.ok() && std::rename(temporary.c_str(), path.c_str()) != 0)
    status = systemError(path);
  if (!status.ok())
    (void)unlink(temporary.c_str());
  return status;
}

void RendezvousFile::remove(const std::string &path) const {
  RendezvousFile found = *this;
  bool isThere;
  if (found.read(path, isThere).ok() && isThere && found.secret == secret)
    (void)unlink(path.c_str());
}
