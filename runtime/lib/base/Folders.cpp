//===- Folders.cpp - Folders of checkpoints, made and removed -------------===//
//
// What is removed is reached from an open folder by names that are not
// followed: where a link lies, at most the link goes, never what it leads to.
//
//===----------------------------------------------------------------------===//

#include "base/FileLock.h"
#include "base/Files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace honert;

Status honert::systemError(const std::string &path, const char *what) {
  return Status::error(path + ": " + what + ": " + std::strerror(errno));
}

/// "a/b//" is "a/b"; "/" stays.
static std::string withoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path;
}

std::string honert::folderOf(const std::string &path) {
  size_t slash = path.find_last_of('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string honert::baseName(const std::string &path) {
  size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

bool honert::isFolder(const std::string &path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

bool honert::isLink(const std::string &path) {
  struct stat facts;
  return lstat(path.c_str(), &facts) == 0 && S_ISLNK(facts.st_mode);
}

/// Names in a folder that is open, which it closes. False: some may be missing;
/// errno says why.
static bool readNames(DIR *folder, std::vector<std::string> &names) {
  errno = 0; // the end is no error
  while (dirent *entry = readdir(folder)) {
    if (std::strcmp(entry->d_name, ".") != 0 &&
        std::strcmp(entry->d_name, "..") != 0)
      names.emplace_back(entry->d_name);
    errno = 0;
  }
  int error = errno;
  closedir(folder);
  std::sort(names.begin(), names.end());
  errno = error;
  return error == 0;
}

Status honert::listFolder(const std::string &path,
                          std::vector<std::string> &names) {
  names.clear();
  DIR *folder = opendir(path.c_str());
  if (!folder || !readNames(folder, names))
    return systemError(path, "cannot be read");
  return Status();
}

void honert::removeFolder(const std::string &path) {
  std::string parentName = folderOf(path), name = baseName(path);
  int parent = open(parentName.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0)
    return;
  int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int folder = openat(parent, name.c_str(), flags);
  if (folder >= 0) {
    int copy = dup(folder);
    std::vector<std::string> names;
    if (DIR *listed = copy < 0 ? nullptr : fdopendir(copy))
      (void)readNames(listed, names); // what is not seen stays
    else if (copy >= 0)
      close(copy);
    for (const std::string &entry : names)
      unlinkat(folder, entry.c_str(), 0); // fails for folders
    close(folder);
    unlinkat(parent, name.c_str(), AT_REMOVEDIR);
  }
  close(parent);
}

Status honert::makeFolder(const std::string &path) {
  if (isFolder(path))
    return Status();
  if (mkdir(path.c_str(), 0777) != 0) {
    Status failed = systemError(path, "cannot be made");
    if (!isFolder(path)) // another process may have made it meanwhile
      return failed;
  }
  return syncFolder(folderOf(withoutSlashes(path)));
}

Status honert::syncFolder(const std::string &path) {
  int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // One who may write into a folder need not be allowed to read it.
  if (descriptor < 0 && errno == EACCES)
    return Status();
  if (descriptor < 0)
    return systemError(path, "cannot be synced");
  int result = fsync(descriptor), error = errno;
  close(descriptor);
  errno = error;
  // Some file systems cannot sync folders and say so; nothing more can be done.
  if (result != 0 && errno != EINVAL)
    return systemError(path, "cannot be synced");
  return Status();
}

//===----------------------------------------------------------------------===//
// Leftovers
//===----------------------------------------------------------------------===//

/// Removes the file `name` of an open folder if no process writes it any more:
/// the lock of its writer ended with that.
static void removeAbandoned(int folder, const std::string &name) {
  int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  int descriptor = openat(folder, name.c_str(), flags);
  if (descriptor < 0)
    return;
  struct stat facts;
  bool isFile = fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode);
  // Removed while the lock is held, so that a writer that has just made the
  // file sees that it is gone.
  if (isFile && lockFile(descriptor) == FileLock::held)
    unlinkat(folder, name.c_str(), 0);
  close(descriptor);
}

void honert::removeLeftovers(const std::string &path) {
  std::string folderName = folderOf(path);
  std::string prefix = temporaryPrefix(path);
  int folder = open(folderName.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    return;
  std::vector<std::string> names;
  (void)listFolder(folderName, names); // what is not seen stays
  for (const std::string &name : names)
    if (hasRandomName(name, prefix))
      removeAbandoned(folder, name);
  close(folder);
}
