// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads a bundle and runs it on the driver named in FUSEC_DRIVER, whose device
// memory is host memory and whose kernel doubles its input.

#include <fusec/fusec.hpp>

#include <cstdio>
#include <vector>

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  try {
    const int64_t batch = 100;
    std::vector<float> x(batch * 4, 1.5f), y(batch * 4), z(2 * batch * 4);
    fusec::Model model = fusec::Model::load(argv[1], 0);
    fusec::Session session = model.session();
    session.bind("x", fusec::Tensor(x.data(), FUSEC_F32, {batch, 4}));
    session.bind("y", fusec::Tensor(y.data(), FUSEC_F32, {batch, 4}));
    session.bind("z", fusec::Tensor(z.data(), FUSEC_F32, {2 * batch, 4}));
    session.prepare();
    session.run();
    std::printf("%s: %u launches, z[0] = %g\n", model.target().c_str(),
                session.launchCount(), z[0]);
    return z[0] == 3.0f ? 0 : 1;
  } catch (const fusec::Error &error) {
    std::fprintf(stderr, "%s: %s\n", fusec_status_name(error.status()),
                 error.what());
    return 1;
  }
}
