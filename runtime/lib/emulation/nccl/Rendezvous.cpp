//===- Rendezvous.cpp - Where the ranks of the fake NCCL meet -------------===//

#include "emulation/nccl/Rendezvous.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace honert::fake;

static constexpr int64_t headerBytes = 4096;
static_assert(std::atomic<int64_t>::is_always_lock_free);
static_assert(Rendezvous::largest * sizeof(int64_t) <= headerBytes);

static int64_t totalBytes(int64_t ranks) {
  return headerBytes + ranks * (Rendezvous::noteBytes + Rendezvous::dataBytes);
}

std::shared_ptr<Rendezvous> Rendezvous::join(const std::string &name,
                                             int64_t ranks, int64_t rank) {
  std::string path = "/" + name;
  int file = shm_open(path.c_str(), O_CREAT | O_RDWR, 0600);
  if (file < 0)
    return nullptr;
  void *memory = MAP_FAILED;
  if (ftruncate(file, totalBytes(ranks)) == 0)
    memory = mmap(nullptr, static_cast<size_t>(totalBytes(ranks)),
                  PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED)
    return nullptr;
  std::shared_ptr<Rendezvous> rendezvous(
      new Rendezvous(path, memory, ranks, rank));
  return rendezvous->arrive() == 1 ? rendezvous : nullptr;
}

Rendezvous::~Rendezvous() {
  forget(); // where some rank never came
  munmap(memory, static_cast<size_t>(totalBytes(count)));
}

void Rendezvous::forget() {
  if (own == 0 && !std::exchange(isForgotten, true))
    (void)shm_unlink(name.c_str());
}

int64_t Rendezvous::arrive() {
  return visits(own).fetch_add(1, std::memory_order_acq_rel) + 1;
}

int64_t Rendezvous::missing(int64_t times) const {
  for (int64_t rank = 0; rank != count; ++rank)
    if (visits(rank).load(std::memory_order_acquire) < times)
      return rank;
  return -1;
}

char *Rendezvous::note(int64_t rank) const {
  return memory + headerBytes + rank * (noteBytes + dataBytes);
}
