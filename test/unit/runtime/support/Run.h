//===- Run.h - Runs a program's command line inside a test ----------------===//

#ifndef TEST_UNIT_RUNTIME_RUN_H
#define TEST_UNIT_RUNTIME_RUN_H

#include "io/data/TokenSource.h"
#include "support/TinyModel.h"

#include <string>
#include <vector>

namespace test {

/// What a command did.
struct Outcome {
  int code;
  std::string out, err;
};

/// honert_main over `program` with the arguments given.
Outcome run(honert_program *program, std::vector<std::string> arguments);
/// The same over `model` with the arguments given.
Outcome train(const TinyModel &model, std::vector<std::string> arguments);

/// A folder that is removed at the end of the test.
class Folder {
public:
  Folder();
  ~Folder();
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;

  std::string operator/(const std::string &name) const {
    return path + "/" + name;
  }
  const std::string path;
};

std::string readFile(const std::string &path);
void writeFile(const std::string &path, const std::string &bytes);
bool exists(const std::string &path);
/// Names in a folder, without those that start with a dot.
std::vector<std::string> namesIn(const std::string &path);

/// The bytes of `values` as they lie in memory.
template <typename T> std::string bytesOf(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(T));
}
/// A .npy file of version 1.
std::string npy(const std::string &description, const std::string &shape,
                const std::string &elements);
/// A safetensors file with this header.
std::string safetensors(const std::string &header, const std::string &body);

/// What --data FILE is read from.
std::vector<honert::TokenSource> oneSource(const std::string &file);

/// A file of `count` ids < TinyModel::vocab with structure to learn, as
/// headerless uint16.
void writeTokens(const std::string &path, int count);

} // namespace test

#endif // TEST_UNIT_RUNTIME_RUN_H
