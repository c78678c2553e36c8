// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Activity records of kernels from CUPTI, loaded at run time.

#ifndef FUSEC_RUNTIME_SRC_CUPTI_H
#define FUSEC_RUNTIME_SRC_CUPTI_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fusec::rt::cupti {

struct KernelRecord {
  std::string name;
  uint64_t start, end; // nanoseconds
  uint32_t device, stream, correlation;
};

struct Functions;

// While it lives, CUPTI keeps a record of each kernel of the process. Its
// callbacks have no user's pointer: there is one at a time in a process.
class Activity {
public:
  // `path` or, where it is empty, $FUSEC_CUPTI, or a library of the usual name
  // and place. Null with `reason` set where there is none, or it refuses.
  static std::unique_ptr<Activity> start(const std::string &path,
                                         std::string &reason);
  ~Activity();
  Activity(const Activity &) = delete;
  Activity &operator=(const Activity &) = delete;

  // On the clock of the records.
  uint64_t now() const;
  // The kernels recorded since the last call, in the order of their launches
  // and, of one launch, of their starts. The caller has waited for them. False
  // with `reason` set where records were lost.
  bool take(std::vector<KernelRecord> &records, std::string &reason);

private:
  Activity() = default;

  const Functions *functions = nullptr;
  void *subscriber = nullptr;
  bool isEnabled = false;
};

} // namespace fusec::rt::cupti

#endif
