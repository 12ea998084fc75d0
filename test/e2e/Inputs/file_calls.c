//===- file_calls.c - Records what a process does to files ----------------===//
//
// To preload. Appends a line to the file $CALLS_OUT for each call that changes
// files below the folder $CALLS_ROOT, after it succeeded:
//   create PATH | write PATH OFFSET HEX | truncate PATH SIZE | sync PATH
//   rename FROM TO | unlink PATH | mkdir PATH
// With CALLS_NO_EXCHANGE, renameat2() refuses all flags as NFS does. With
// CALLS_LIST_FAILS, a folder below the root is listed up to an I/O error.
//
//===----------------------------------------------------------------------===//

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name, ...)                                                        \
  ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))(__VA_ARGS__)

/// Where the root begins in `path`; null: elsewhere.
static const char *inRoot(const char *path) {
  const char *root = getenv("CALLS_ROOT");
  return root && strncmp(path, root, strlen(root)) == 0 ? path : NULL;
}

static const char *nameOf(int descriptor, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, 4095);
  path[length > 0 ? length : 0] = '\0';
  return inRoot(path);
}

/// A line: words and, in hexadecimal, bytes.
static void record(const char *words, const void *data, size_t bytes) {
  const char *out = getenv("CALLS_OUT");
  if (!out)
    return;
  int saved = errno;
  size_t length = strlen(words);
  char *line = malloc(length + 2 * bytes + 1);
  memcpy(line, words, length);
  for (size_t i = 0; i != bytes; ++i)
    snprintf(line + length + 2 * i, 3, "%02x",
             ((const unsigned char *)data)[i]);
  length += 2 * bytes;
  line[length++] = '\n';
  pthread_mutex_lock(&mutex);
  int file = REAL(open, out, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  ssize_t wrote = write(file, line, length);
  if (file < 0 || wrote != (ssize_t)length)
    abort();
  close(file);
  pthread_mutex_unlock(&mutex);
  free(line);
  errno = saved;
}

static void recordOne(const char *what, const char *path) {
  char words[4200];
  snprintf(words, sizeof words, "%s %s", what, path);
  record(words, NULL, 0);
}

#define OPEN(name)                                                             \
  int name(const char *path, int flags, ...) {                                 \
    va_list list;                                                              \
    va_start(list, flags);                                                     \
    mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;                  \
    va_end(list);                                                              \
    struct stat facts;                                                         \
    int isNew = (flags & O_CREAT) && stat(path, &facts) != 0;                  \
    int descriptor = REAL(name, path, flags, mode);                            \
    if (descriptor >= 0 && isNew && inRoot(path))                              \
      recordOne("create", path);                                               \
    return descriptor;                                                         \
  }
OPEN(open)
OPEN(open64)

#define PWRITE(name, off_type)                                                 \
  ssize_t name(int file, const void *data, size_t bytes, off_type offset) {    \
    ssize_t wrote = REAL(name, file, data, bytes, offset);                     \
    char path[4096], words[4200];                                              \
    if (wrote > 0 && nameOf(file, path)) {                                     \
      snprintf(words, sizeof words, "write %s %lld ", path,                    \
               (long long)offset);                                             \
      record(words, data, (size_t)wrote);                                      \
    }                                                                          \
    return wrote;                                                              \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define FTRUNCATE(name, off_type)                                              \
  int name(int file, off_type size) {                                          \
    int result = REAL(name, file, size);                                       \
    char path[4096], words[4200];                                              \
    if (result == 0 && nameOf(file, path)) {                                   \
      snprintf(words, sizeof words, "truncate %s %lld", path,                  \
               (long long)size);                                               \
      record(words, NULL, 0);                                                  \
    }                                                                          \
    return result;                                                             \
  }
FTRUNCATE(ftruncate, off_t)
FTRUNCATE(ftruncate64, off64_t)

int fsync(int file) {
  int result = REAL(fsync, file);
  char path[4096];
  if (result == 0 && nameOf(file, path))
    recordOne("sync", path);
  return result;
}

int rename(const char *from, const char *to) {
  int result = REAL(rename, from, to);
  char words[8400];
  if (result == 0 && inRoot(to)) {
    snprintf(words, sizeof words, "rename %s %s", from, to);
    record(words, NULL, 0);
  }
  return result;
}

int renameat2(int fromFolder, const char *from, int toFolder, const char *to,
              unsigned flags) {
  if (flags && getenv("CALLS_NO_EXCHANGE")) {
    errno = EINVAL;
    return -1;
  }
  return REAL(renameat2, fromFolder, from, toFolder, to, flags);
}

struct dirent *readdir(DIR *folder) {
  char path[8400];
  struct dirent *entry = REAL(readdir, folder);
  if (getenv("CALLS_LIST_FAILS") && nameOf(dirfd(folder), path) &&
      !(entry && strcmp(entry->d_name, ".") == 0)) {
    errno = EIO;
    return NULL;
  }
  return entry;
}

int unlink(const char *path) {
  int result = REAL(unlink, path);
  if (result == 0 && inRoot(path))
    recordOne("unlink", path);
  return result;
}

int unlinkat(int folder, const char *name, int flags) {
  char path[8400];
  int isInside = nameOf(folder, path) != NULL;
  int result = REAL(unlinkat, folder, name, flags);
  if (result == 0 && isInside) {
    strcat(strcat(path, "/"), name);
    recordOne("unlink", path);
  }
  return result;
}

int mkdir(const char *path, mode_t mode) {
  int result = REAL(mkdir, path, mode);
  if (result == 0 && inRoot(path))
    recordOne("mkdir", path);
  return result;
}
