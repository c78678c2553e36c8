// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges of NVTX around what a run enqueues, which Nsight Systems shows: where
// FUSEC_NVTX=1 asks for them, and a tool is attached that takes them.

#ifndef FUSEC_RUNTIME_SRC_NVTX_H
#define FUSEC_RUNTIME_SRC_NVTX_H

namespace fusec::rt::nvtx {

class Ranges {
public:
  // Null where none are asked for, or nothing takes them. Looked for once in a
  // process.
  static const Ranges *find();

  void push(const char *name) const;
  void pop() const;

private:
  struct Domain;
  struct EventAttributes;
  using DomainCreate = Domain *(*)(const char *name);
  using RangePush = int (*)(Domain *domain, const EventAttributes *event);
  using RangePop = int (*)(Domain *domain);

  static Ranges load();

  Domain *domain = nullptr; // "fusec"
  RangePush rangePush = nullptr;
  RangePop rangePop = nullptr;
};

// From its making to its end; none where `ranges` is null.
class Range {
public:
  Range(const Ranges *ranges, const char *name) : ranges(ranges) {
    if (ranges)
      ranges->push(name);
  }
  ~Range() {
    if (ranges)
      ranges->pop();
  }
  Range(const Range &) = delete;
  Range &operator=(const Range &) = delete;

private:
  const Ranges *ranges;
};

} // namespace fusec::rt::nvtx

#endif
