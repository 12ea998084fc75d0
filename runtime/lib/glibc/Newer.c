/*===- Newer.c - What releases of glibc after 2.28 brought -----------------===*
 *
 * Programs are linked against glibc as it was at HONE_GLIBC (stubs,
 * tools/honec/glibc-stub.sh), so that they run with that release and with later
 * ones. Objects that were compiled with the headers of a later release call
 * functions that it lacks: these. All are hidden, so libraries that the program
 * opens find glibc's own.
 *
 *===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Defines a symbol of glibc under its own name. The name in C is another one,
   as the headers of this machine may declare it in another way. */
#define DEFINES(symbol) __asm__(#symbol) __attribute__((visibility("hidden")))

/*===----------------------------------------------------------------------===*
 * Start
 *===----------------------------------------------------------------------===*/

typedef void (*Function)(void);
typedef void (*Constructor)(int, char **, char **);
typedef int (*Main)(int, char **, char **);

#if defined(__x86_64__)
__asm__(".symver startOfGlibc, __libc_start_main@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver startOfGlibc, __libc_start_main@GLIBC_2.17");
#endif
extern int startOfGlibc(Main main, int argc, char **argv, Constructor construct,
                        Function destruct, Function finishLoader,
                        void *stackEnd);

extern Constructor firstEarly[] __asm__("__preinit_array_start")
    __attribute__((visibility("hidden")));
extern Constructor endEarly[] __asm__("__preinit_array_end")
    __attribute__((visibility("hidden")));
extern Constructor first[] __asm__("__init_array_start")
    __attribute__((visibility("hidden")));
extern Constructor end[] __asm__("__init_array_end")
    __attribute__((visibility("hidden")));
extern void initSection(void) __asm__("_init");

static void runConstructors(int argc, char **argv, char **environment) {
  for (Constructor *each = firstEarly; each != endEarly; ++each)
    (*each)(argc, argv, environment);
  initSection();
  for (Constructor *each = first; each != end; ++each)
    (*each)(argc, argv, environment);
}

/* Since 2.34 the start-up object leaves constructors to the C library; before,
   the library was told what runs them. Later ones still do as they are told. */
int start(Main main, int argc, char **argv, Constructor none, Function nothing,
          Function finishLoader, void *stackEnd) DEFINES(__libc_start_main);
int start(Main main, int argc, char **argv, Constructor none, Function nothing,
          Function finishLoader, void *stackEnd) {
  return startOfGlibc(main, argc, argv, runConstructors, 0, finishLoader,
                      stackEnd);
}

/*===----------------------------------------------------------------------===*
 * Exceptions (2.35): libgcc's unwinder asks which object holds an address
 *===----------------------------------------------------------------------===*/

/* glibc's struct dl_find_object, as libgcc reads it on these machines. */
struct Found {
  unsigned long long flags;
  void *mapStart, *mapEnd;
  void *linkMap;
  void *frames; /* PT_GNU_EH_FRAME */
  unsigned long long reserved[7];
};

struct Question {
  uintptr_t address;
  struct Found *answer;
};

static int holdsAddress(struct dl_phdr_info *object, size_t size, void *data) {
  struct Question *question = (struct Question *)data;
  const ElfW(Phdr) *segment = 0, *frames = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *each = &object->dlpi_phdr[i];
    uintptr_t start = object->dlpi_addr + each->p_vaddr;
    if (each->p_type == PT_GNU_EH_FRAME)
      frames = each;
    else if (each->p_type == PT_LOAD && question->address >= start &&
             question->address - start < each->p_memsz)
      segment = each;
  }
  if (!segment || !frames)
    return 0;
  uintptr_t start = object->dlpi_addr + segment->p_vaddr;
  question->answer->flags = 0;
  question->answer->mapStart = (void *)start;
  question->answer->mapEnd = (void *)(start + segment->p_memsz);
  question->answer->linkMap = 0;
  question->answer->frames = (void *)(object->dlpi_addr + frames->p_vaddr);
  return 1;
}

int findObject(void *address, struct Found *answer) DEFINES(_dl_find_object);
int findObject(void *address, struct Found *answer) {
  struct Question question = {(uintptr_t)address, answer};
  return dl_iterate_phdr(holdsAddress, &question) ? 0 : -1;
}

/*===----------------------------------------------------------------------===*
 * Files (2.33)
 *===----------------------------------------------------------------------===*/

#if defined(__x86_64__)
#define STAT_VERSION 1
#else
#define STAT_VERSION 0
#endif
extern int __xstat(int, const char *, struct stat *);
extern int __lxstat(int, const char *, struct stat *);
extern int __fxstat(int, int, struct stat *);
extern int __xmknod(int, const char *, mode_t, dev_t *);

/* struct stat and struct stat64 are the same on these machines. */
#define DEFINE_STAT(name, symbol, Of, of, function)                            \
  int name(Of of, struct stat *result) DEFINES(symbol);                        \
  int name(Of of, struct stat *result) {                                       \
    return function(STAT_VERSION, of, result);                                 \
  }
DEFINE_STAT(statOfPath, stat, const char *, path, __xstat)
DEFINE_STAT(statOfPath64, stat64, const char *, path, __xstat)
DEFINE_STAT(statOfLink, lstat, const char *, path, __lxstat)
DEFINE_STAT(statOfLink64, lstat64, const char *, path, __lxstat)
DEFINE_STAT(statOfFile, fstat, int, file, __fxstat)
DEFINE_STAT(statOfFile64, fstat64, int, file, __fxstat)

int makeNode(const char *path, mode_t mode, dev_t device) DEFINES(mknod);
int makeNode(const char *path, mode_t mode, dev_t device) {
  return __xmknod(0, path, mode, &device);
}

/*===----------------------------------------------------------------------===*
 * Threads, memory, randomness
 *===----------------------------------------------------------------------===*/

/* Whether reference counts may be changed without atomic instructions (2.32).
   Never: a program of ours has threads. */
char singleThreaded DEFINES(__libc_single_threaded) = 0;

typedef int (*ClockWait)(pthread_cond_t *, pthread_mutex_t *, clockid_t,
                         const struct timespec *);

/* 2.30. An earlier release waits by the clock of the day alone: should somebody
   set that clock during the wait, it ends early or late. */
int waitUntil(pthread_cond_t *condition, pthread_mutex_t *mutex,
              clockid_t clock, const struct timespec *deadline)
    DEFINES(pthread_cond_clockwait);
int waitUntil(pthread_cond_t *condition, pthread_mutex_t *mutex,
              clockid_t clock, const struct timespec *deadline) {
  ClockWait newer = (ClockWait)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
  if (newer)
    return newer(condition, mutex, clock, deadline);
  struct timespec now, today;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &today);
  today.tv_sec += deadline->tv_sec - now.tv_sec;
  today.tv_nsec += deadline->tv_nsec - now.tv_nsec;
  if (today.tv_nsec < 0) {
    today.tv_nsec += 1000000000;
    --today.tv_sec;
  } else if (today.tv_nsec >= 1000000000) {
    today.tv_nsec -= 1000000000;
    ++today.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &today);
}

/* 2.33: what LLVM asks about the heap, for statistics that nobody prints. */
struct HeapSizes {
  size_t sizes[10];
};
struct HeapSizes heapSizes(void) DEFINES(mallinfo2);
struct HeapSizes heapSizes(void) {
  struct HeapSizes none = {{0}};
  return none;
}

/* 2.36. */
uint32_t randomBits(void) DEFINES(arc4random);
uint32_t randomBits(void) {
  uint32_t bits;
  if (getentropy(&bits, sizeof bits) != 0)
    abort();
  return bits;
}
