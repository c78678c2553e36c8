// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes to types, sizes and constants.

#include "test/fuzz/GraphMutator.h"

using namespace fusec::fuzz;
using ::onnx::AttributeProto, ::onnx::GraphProto, ::onnx::NodeProto,
    ::onnx::TensorProto, ::onnx::TensorShapeProto, ::onnx::ValueInfoProto;

static const int types[] = {1, 1, 1,  10, 10, 16, 16, 7,  7,  6,  9,  9, 2,
                            3, 5, 11, 12, 13, 4,  8,  14, 17, 18, 21, 0, 99};

void GraphMutator::changeType() {
  int from = 1, to = pick(types, random);
  if (chance(3)) {
    // One value only.
    if (ValueInfoProto *input = pickFrom(graph.mutable_input()))
      input->mutable_type()->mutable_tensor_type()->set_elem_type(to);
    return;
  }
  if (graph.input_size() > 0)
    from = graph.input(int(random() % unsigned(graph.input_size())))
               .type()
               .tensor_type()
               .elem_type();
  for (auto *list : {graph.mutable_input(), graph.mutable_output(),
                     graph.mutable_value_info()})
    for (ValueInfoProto &value : *list)
      if (value.type().tensor_type().elem_type() == from)
        value.mutable_type()->mutable_tensor_type()->set_elem_type(to);
  for (TensorProto &tensor : *graph.mutable_initializer())
    if (tensor.data_type() == from) {
      tensor.set_data_type(to);
      fitTensor(tensor);
    }
}

void GraphMutator::changeSize() {
  auto *list = chance(8) ? graph.mutable_output() : graph.mutable_input();
  ValueInfoProto *value = pickFrom(list);
  if (!value)
    return;
  TensorShapeProto &shape =
      *value->mutable_type()->mutable_tensor_type()->mutable_shape();
  if (shape.dim_size() == 0 || chance(8)) {
    shape.add_dim()->set_dim_value(pickNumber());
    return;
  }
  if (chance(10)) {
    shape.mutable_dim()->RemoveLast();
    return;
  }
  auto &dim = *shape.mutable_dim(int(random() % unsigned(shape.dim_size())));
  static const char *const dims[] = {"n", "m", "batch", "d0", "a.b"};
  int64_t from = dim.dim_value(), to = pickNumber();
  bool named = chance(4);
  std::string name = pick(dims, random);
  if (named)
    dim.set_dim_param(name);
  else
    dim.set_dim_value(to);
  if (from <= 1 || chance(3))
    return;
  // Everything of this size, so that what fitted still does.
  for (ValueInfoProto &other : *graph.mutable_input())
    for (auto &size : *other.mutable_type()
                           ->mutable_tensor_type()
                           ->mutable_shape()
                           ->mutable_dim())
      if (size.dim_value() == from && named)
        size.set_dim_param(name);
      else if (size.dim_value() == from)
        size.set_dim_value(to);
  if (named || to <= 0 || to > 1024)
    return;
  for (TensorProto &tensor : *graph.mutable_initializer()) {
    for (int i = 0; i != tensor.dims_size(); ++i)
      if (tensor.dims(i) == from)
        tensor.set_dims(i, to);
    fitTensor(tensor);
  }
}

/// Makes the bytes as many as the type and the sizes say, where that is little.
void GraphMutator::fitTensor(TensorProto &tensor) {
  uint64_t bytes = tensor.data_type() == 1 || tensor.data_type() == 6     ? 4
                   : tensor.data_type() == 7 || tensor.data_type() == 11  ? 8
                   : tensor.data_type() == 10 || tensor.data_type() == 16 ? 2
                                                                          : 1;
  for (int64_t size : tensor.dims()) {
    if (size < 0 || size > 4096 || bytes > 65536)
      return;
    bytes *= uint64_t(size);
  }
  if (bytes > 65536)
    return;
  std::string *raw = tensor.mutable_raw_data();
  std::string pattern = *raw;
  raw->resize(bytes);
  for (size_t i = pattern.size(); i < bytes; ++i)
    (*raw)[i] = pattern.empty() ? char(i) : pattern[i % pattern.size()];
  tensor.clear_float_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
}

void GraphMutator::changeTensor() {
  TensorProto *tensor = pickFrom(graph.mutable_initializer());
  if (!tensor || chance(4)) {
    // Becomes the size, the axes or the index of something.
    tensor = graph.add_initializer();
    tensor->set_name("c" + std::to_string(random() % 100000));
    tensor->set_data_type(TensorProto::INT64);
    unsigned count = random() % 5;
    if (count != 4)
      tensor->add_dims(count);
    for (unsigned i = 0; i != (count == 4 ? 1 : count); ++i)
      tensor->add_int64_data(pickNumber());
    if (NodeProto *node = pickFrom(graph.mutable_node()))
      node->add_input(tensor->name());
    return;
  }
  switch (random() % 4) {
  case 0:
    if (tensor->dims_size())
      tensor->set_dims(int(random() % unsigned(tensor->dims_size())),
                       pickNumber());
    break;
  case 1:
    if (tensor->int64_data_size()) {
      tensor->set_int64_data(
          int(random() % unsigned(tensor->int64_data_size())), pickNumber());
      return;
    }
    tensor->add_dims(1);
    break;
  case 2:
    if (!tensor->raw_data().empty())
      tensor->set_raw_data(
          mutateBytes(tensor->raw_data(), tensor->raw_data().size()));
    break;
  default:
    // An input instead, or a value of one of the inputs.
    ValueInfoProto *input = graph.add_input();
    input->set_name(tensor->name());
    auto &type = *input->mutable_type()->mutable_tensor_type();
    type.set_elem_type(tensor->data_type());
    for (int64_t size : tensor->dims())
      type.mutable_shape()->add_dim()->set_dim_value(size);
    if (chance(2))
      graph.mutable_initializer()->RemoveLast();
    return;
  }
  if (!chance(4))
    fitTensor(*tensor);
}
