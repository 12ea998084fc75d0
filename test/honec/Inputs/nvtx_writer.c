/*===- nvtx_writer.c - A profiler that writes the ranges it is told -------===*
 *
 * NVTX_INJECTION64_PATH names it, built as a shared library. Each range is a
 * line of the file that NVTX_WRITER_FILE names, indented by its depth, behind
 * its domain. It relies on what NVTX 3 documents for profilers and on nothing
 * of Hone's.
 *===----------------------------------------------------------------------===*/

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void (*function)(void);
struct callbacks {
  size_t bytes;
  int (*module_functions)(int module, function ***table, unsigned *count);
};
struct version_info {
  size_t bytes;
  uint32_t version, reserved;
  void (*set_profiler_version)(uint32_t version);
};
struct attributes {
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;
  const char *message;
};

static FILE *file;
static int depth;
static char domain_name[64];

static int push(void *domain, const struct attributes *attributes) {
  if (domain != domain_name || attributes->version != 3 ||
      attributes->size != sizeof *attributes || attributes->message_type != 1)
    abort();
  fprintf(file, "%*s[%s] %s\n", 2 * depth, "", domain_name,
          attributes->message);
  return depth++;
}

static int pop(void *domain) {
  if (domain != domain_name || depth == 0)
    abort();
  if (--depth == 0)
    fflush(file);
  return depth;
}

static void *create_domain(const char *name) {
  snprintf(domain_name, sizeof domain_name, "%s", name);
  return domain_name;
}

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t)) {
  const struct version_info *version = export_table(3);
  const struct callbacks *callbacks = export_table(1);
  const char *name = getenv("NVTX_WRITER_FILE");
  function **table;
  unsigned count;
  if (!name || !(file = fopen(name, "w")))
    return 0;
  version->set_profiler_version(3);
  if (version->bytes != sizeof *version || version->version != 3 ||
      callbacks->bytes != sizeof *callbacks ||
      callbacks->module_functions(0, &table, &count) ||
      !callbacks->module_functions(5, &table, &count) || count != 16)
    abort();
  *table[4] = (function)push;
  *table[5] = (function)pop;
  *table[12] = (function)create_domain;
  return 1;
}
