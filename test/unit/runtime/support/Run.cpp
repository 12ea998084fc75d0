//===- Run.cpp - Runs a program's command line inside a test --------------===//

#include "support/Run.h"
#include "support/Describe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace test;

Outcome test::run(honert_program *program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "./train");
  std::vector<char *> argv;
  for (std::string &argument : arguments)
    argv.push_back(argument.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.code = honert_main(program, int(argv.size()), argv.data());
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

Outcome test::train(const TinyModel &model,
                    std::vector<std::string> arguments) {
  ProgramPtr program(honert_program_new(), honert_program_free);
  describe(model, program.get());
  return run(program.get(), std::move(arguments));
}

static std::string makeFolder() {
  std::string name = testing::TempDir() + "/honert-XXXXXX";
  if (!mkdtemp(name.data()))
    ADD_FAILURE() << "no temporary folder";
  return name;
}

Folder::Folder() : path(makeFolder()) {}
Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

std::string test::readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void test::writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::vector<honert::TokenSource> test::oneSource(const std::string &file) {
  honert::TokenSource source;
  source.files = {file};
  return {source};
}

bool test::exists(const std::string &path) {
  return std::filesystem::exists(path);
}

std::vector<std::string> test::namesIn(const std::string &path) {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(path)) {
    std::string name = entry.path().filename();
    if (name[0] != '.')
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string test::npy(const std::string &description, const std::string &shape,
                      const std::string &elements) {
  std::string header = "{'descr': '" + description +
                       "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize((header.size() + 10) / 64 * 64 + 64 - 11, ' ');
  header += '\n';
  std::string file = "\x93NUMPY";
  file += '\1';
  file += '\0';
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file + header + elements;
}

std::string test::safetensors(const std::string &header,
                              const std::string &body) {
  return bytesOf(std::vector<uint64_t>{header.size()}) + header + body;
}

void test::writeTokens(const std::string &path, int count) {
  std::vector<uint16_t> ids;
  uint32_t state = 1;
  for (int i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    // Mostly the successor of the id before.
    uint32_t next =
        state >> 28 ? (ids.empty() ? 0 : ids.back() + 1) : state >> 8;
    ids.push_back(static_cast<uint16_t>(next % TinyModel::vocab));
  }
  writeFile(path, bytesOf(ids));
}
