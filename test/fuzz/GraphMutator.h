// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes to what a model computes: its nodes, what they read, their
// attributes, types, sizes and names. Most leave it a model that imports.

#ifndef FUSEC_TEST_FUZZ_GRAPHMUTATOR_H
#define FUSEC_TEST_FUZZ_GRAPHMUTATOR_H

#include "frontends/onnx/proto/onnx.pb.h"
#include "test/fuzz/FuzzTarget.h"

namespace fusec::fuzz {

/// An empty string where the bytes are no ModelProto.
std::string mutateGraph(std::string_view bytes, std::string_view donor,
                        Random &random);

class GraphMutator {
public:
  GraphMutator(::onnx::ModelProto &model, const ::onnx::ModelProto &donor,
               Random &random)
      : model(model), graph(*model.mutable_graph()), donor(donor),
        random(random) {}

  void mutate();

private:
  // What is read, and by what.
  void rewire();
  void addNode();
  void repeatNodes();
  void spliceDonor();
  void swapNodes();
  void dropNode();
  void changeOp();
  void changeAttribute();
  // Types and sizes.
  void changeType();
  void changeSize();
  void changeTensor();
  void fitTensor(::onnx::TensorProto &tensor);
  // The rest.
  void rename();
  void makeFunction();
  void changeOpset();
  void changeOptions();

  bool chance(unsigned n) { return random() % n == 0; }
  template <typename List> auto *pickFrom(List *list) {
    return list->empty() ? nullptr
                         : list->Mutable(int(random() % list->size()));
  }
  /// Names of values: inputs, initializers and results.
  std::vector<std::string> getNames() const;
  std::string pickName();
  int64_t pickNumber();
  void addOutput(const std::string &name);

  ::onnx::ModelProto &model;
  ::onnx::GraphProto &graph;
  const ::onnx::ModelProto &donor;
  Random &random;
};

} // namespace fusec::fuzz

#endif // FUSEC_TEST_FUZZ_GRAPHMUTATOR_H
