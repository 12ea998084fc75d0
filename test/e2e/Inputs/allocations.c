/* Watches what a training program allocates between its steps. Preloaded, it
 * stands in front of libc's allocating functions; a step (or validation) has
 * ended when the program flushes a line of its log, or with $WATCH_STDOUT a
 * token of its text to standard output. Written at the end, to
 * $WATCH_OUT.events: a line "STEP FUNCTION BYTES CALLERS" for each allocation
 * of at least $WATCH_BYTES after the first step and before the end of the last,
 * number $WATCH_STEPS; then a line "largest BYTES". At the end of steps 1 and
 * $WATCH_STEPS, $WATCH_OUT.1 and $WATCH_OUT.last get copies of
 * /proc/self/status and /proc/self/smaps; at the end of the process
 * $WATCH_OUT.end gets the first of these.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

enum { mostEvents = 256, mostCallers = 6 };

static struct Event {
  int step, callers;
  const char *function;
  size_t bytes;
  void *caller[mostCallers];
} events[mostEvents];

static atomic_int step = -1; /* the last that ended; 0: the log's first line */
static atomic_int count;     /* of events, kept or not */
static atomic_ulong largest; /* bytes between steps */
static size_t threshold = 1 << 16;
static int lastStep = -1;
static const char *out;
static int watchesText;          /* $WATCH_STDOUT */
static _Thread_local int inside; /* backtrace() must not report itself */

static void watch(const char *function, size_t bytes) {
  int now = atomic_load(&step);
  if (now < 1 || now >= lastStep || inside)
    return;
  unsigned long most = atomic_load(&largest);
  while (bytes > most && !atomic_compare_exchange_weak(&largest, &most, bytes))
    ;
  if (bytes < threshold)
    return;
  int index = atomic_fetch_add(&count, 1);
  if (index >= mostEvents)
    return;
  inside = 1;
  struct Event *event = &events[index];
  event->step = now + 1;
  event->function = function;
  event->bytes = bytes;
  event->callers = backtrace(event->caller, mostCallers);
  inside = 0;
}

void *malloc(size_t bytes) {
  watch("malloc", bytes);
  return __libc_malloc(bytes);
}

void *calloc(size_t number, size_t size) {
  watch("calloc", number * size);
  return __libc_calloc(number, size);
}

void *realloc(void *old, size_t bytes) {
  watch("realloc", bytes);
  return __libc_realloc(old, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
  watch("memalign", bytes);
  return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  watch("aligned_alloc", bytes);
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  watch("posix_memalign", bytes);
  *memory = __libc_memalign(alignment, bytes);
  return *memory || bytes == 0 ? 0 : ENOMEM;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file,
           off_t offset) {
  watch("mmap", bytes);
  return (void *)syscall(SYS_mmap, address, bytes, protection, flags, file,
                         offset);
}

void *mmap64(void *address, size_t bytes, int protection, int flags, int file,
             off_t offset) {
  return mmap(address, bytes, protection, flags, file, offset);
}

static int create(const char *suffix) {
  char path[4096];
  snprintf(path, sizeof path, "%s.%s", out, suffix);
  return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

static void copy(const char *path, int to) {
  char buffer[4096];
  int from = open(path, O_RDONLY | O_CLOEXEC);
  for (ssize_t bytes;
       from >= 0 && (bytes = read(from, buffer, sizeof buffer)) > 0;)
    if (write(to, buffer, bytes) != bytes)
      abort();
  close(from);
}

static void record(const char *suffix, int withMappings) {
  int to = create(suffix);
  copy("/proc/self/status", to);
  if (withMappings)
    copy("/proc/self/smaps", to);
  close(to);
}

int fflush(FILE *stream) {
  static int (*real)(FILE *);
  if (!real)
    real = (int (*)(FILE *))dlsym(RTLD_NEXT, "fflush");
  int isLog = stream && stream != stdout && stream != stderr;
  if (out && (watchesText ? stream == stdout : isLog)) {
    int now = atomic_load(&step) + 1;
    if (now == 1)
      record("1", 1);
    if (now == lastStep)
      record("last", 1);
    atomic_store(&step, now);
  }
  return real(stream);
}

__attribute__((constructor)) static void begin(void) {
  void *caller[1];
  backtrace(caller, 1); /* loads what it needs now */
  out = getenv("WATCH_OUT");
  watchesText = getenv("WATCH_STDOUT") != NULL;
  if (getenv("WATCH_BYTES"))
    threshold = strtoul(getenv("WATCH_BYTES"), NULL, 10);
  if (getenv("WATCH_STEPS"))
    lastStep = atoi(getenv("WATCH_STEPS"));
}

__attribute__((destructor)) static void end(void) {
  if (!out)
    return;
  record("end", 0);
  int to = create("events");
  int kept = count < mostEvents ? count : mostEvents;
  for (int i = 0; i < kept; ++i) {
    char **names = backtrace_symbols(events[i].caller, events[i].callers);
    dprintf(to, "%d %s %zu", events[i].step, events[i].function,
            events[i].bytes);
    for (int j = 2; j < events[i].callers;
         ++j) { /* without watch() and the function */
      const char *slash = strrchr(names[j], '/');
      const char *name = slash ? slash + 1 : names[j];
      dprintf(to, " %.*s", (int)strcspn(name, " "),
              name); /* without the address */
    }
    dprintf(to, "\n");
    free(names);
  }
  dprintf(to, "largest %lu\n", atomic_load(&largest));
  close(to);
}
