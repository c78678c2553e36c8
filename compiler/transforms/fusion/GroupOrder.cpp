// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/fusion/GroupOrder.h"
#include "llvm/ADT/STLExtras.h"

using namespace fusec;

GroupOrder::GroupOrder(unsigned count, llvm::ArrayRef<unsigned> ids)
    : labels(count + 1), previous(count + 1), next(count + 1) {
  previous[getEnd()] = next[getEnd()] = getEnd();
  for (unsigned id : ids)
    insertBehind(previous[getEnd()], id);
  relabel();
}

/// Labels as far apart as can be.
void GroupOrder::relabel() {
  uint64_t distance = UINT64_MAX / (labels.size() + 1), label = 0;
  labels[getEnd()] = 0;
  for (unsigned id = next[getEnd()]; id != getEnd(); id = next[id])
    labels[id] = label += distance;
}

void GroupOrder::remove(unsigned id) {
  next[previous[id]] = next[id];
  previous[next[id]] = previous[id];
}

void GroupOrder::insertBehind(unsigned place, unsigned id) {
  previous[id] = place;
  next[id] = next[place];
  previous[next[id]] = id;
  next[place] = id;
}

void GroupOrder::moveBehind(unsigned place,
                            llvm::MutableArrayRef<unsigned> ids) {
  llvm::sort(ids, [&](unsigned a, unsigned b) { return isBefore(a, b); });
  for (unsigned id : ids)
    remove(id);
  unsigned behind = next[place];
  uint64_t label = labels[place],
           limit = behind == getEnd() ? UINT64_MAX : labels[behind];
  for (unsigned id : llvm::reverse(ids))
    insertBehind(place, id);
  uint64_t distance = (limit - label) / (ids.size() + 1);
  if (distance == 0)
    return relabel();
  for (unsigned id : ids)
    labels[id] = label += distance;
}
