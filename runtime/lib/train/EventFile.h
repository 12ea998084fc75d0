//===- EventFile.h - Curves for TensorBoard -------------------------------===//
//
// A file of records, each 8 bytes of length, the masked CRC-32C of these, the
// data and their masked CRC-32C; the data are protocol buffers, of which few
// fields are used:
//   Event    1 wall_time, double; 2 step, int64; 3 file_version, string;
//            5 summary, Summary
//   Summary  1 value, repeated Value
//   Value    1 tag, string; 2 simple_value, float
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_TRAIN_EVENTFILE_H
#define HONERT_TRAIN_EVENTFILE_H

#include "base/Status.h"

#include <cstdint>
#include <cstdio>
#include <vector>

namespace honert {

/// A point of a curve.
struct Scalar {
  const char *name;
  double value;
};

/// Scalars in a file of TensorBoard's format, one file for each process that
/// worked on the run. They lie in one folder, whose curves TensorBoard joins.
class EventFile {
public:
  EventFile() = default;
  ~EventFile();
  EventFile(const EventFile &) = delete;
  EventFile &operator=(const EventFile &) = delete;

  /// Makes `folder`. Without `resume` it must hold no file of another run.
  static Status prepare(const std::string &folder, bool resume);
  /// Begins a file in `folder` after cutting off those of earlier processes
  /// behind `doneSteps`.
  Status open(const std::string &folder, int64_t doneSteps);
  bool isOpen() const { return file; }
  /// Writes what step `step` showed. After the first failure the file is
  /// closed.
  Status write(int64_t step, const std::vector<Scalar> &scalars);

private:
  Status writeEvent(const std::string &members, int64_t step);

  std::string path;
  std::FILE *file = nullptr;
};

} // namespace honert

#endif // HONERT_TRAIN_EVENTFILE_H
