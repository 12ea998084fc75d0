// Uses what glibc brought after 2.28 (runtime/lib/glibc/Newer.c), most of it by
// way of the C++ library.

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <thread>

static int words = 0;

__attribute__((constructor)) static void construct(int argc, char **, char **) {
  words = argc;
}

namespace {
struct Last {
  ~Last() { std::puts("destroyed"); }
} last;
} // namespace

__attribute__((noinline)) static void throwOne() {
  throw std::runtime_error("thrown");
}

static void catchOne(const char *where) {
  try {
    throwOne();
  } catch (const std::exception &exception) {
    std::printf("caught%s: %s\n", where, exception.what());
  }
}

int main(int, char **argv) {
  std::printf("constructed with %d arguments\n", words);
  catchOne("");
  std::thread([] { catchOne(" in a thread"); }).join();
  if (std::filesystem::is_regular_file(argv[1]))
    std::puts("this file is a regular file");
  if (!std::filesystem::exists(std::string(argv[1]) + "/none"))
    std::puts("no such file");

  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock<std::mutex> lock(mutex);
  auto start = std::chrono::steady_clock::now();
  never.wait_for(lock, std::chrono::milliseconds(30));
  std::chrono::duration<double, std::milli> waited =
      std::chrono::steady_clock::now() - start;
  std::printf("waited %.0f ms\n", waited.count());

  std::random_device random("default");
  if (random() != random() || random() != random())
    std::puts("random numbers differ");
  return 0;
}
