// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/unit/nvrtc/Testing.h"

using namespace llvm;
using namespace fusec;
using namespace fusec::test;

static std::string found(StringRef path = {}) {
  Expected<std::string> file = findNvrtc(path);
  return file ? *file : "error: " + toString(file.takeError());
}

static std::string real(const std::string &path) {
  SmallString<256> result;
  sys::fs::real_path(path, result);
  return std::string(result);
}

TEST(FindNvrtc, TakesTheNamedFileOrFolder) {
  Folder folder;
  std::string thirteen = folder.write("a/libnvrtc.so.13", ""),
              twelve = folder.write("a/libnvrtc.so.12", "");
  std::string plain = folder.write("b/libnvrtc.so", "");
  EXPECT_EQ(found(twelve), real(twelve));
  EXPECT_EQ(found(folder.path("a")), real(thirteen));
  Environment variable("FUSEC_NVRTC", folder.path("b"));
  EXPECT_EQ(found(), real(plain));
  EXPECT_EQ(found(twelve), real(twelve)) << "the option precedes the variable";
}

TEST(FindNvrtc, NeverReplacesWhatWasNamed) {
  Folder folder;
  EXPECT_NE(found(folder.path())
                .find("expected libnvrtc.so.13 or libnvrtc.so.12 in folder"),
            std::string::npos);
  EXPECT_NE(found(folder.path("missing")).find("--nvrtc: expected the file"),
            std::string::npos);
  Environment variable("FUSEC_NVRTC", folder.path("missing"));
  EXPECT_NE(found().find("FUSEC_NVRTC: expected the file"), std::string::npos);
}

TEST(FindNvrtc, SearchesWheelsThenTheLoader) {
  Folder folder;
  Environment none("FUSEC_NVRTC", std::nullopt);
  std::string onPath = folder.write("py/bin/python3", "");
  sys::fs::setPermissions(onPath, sys::fs::all_all);
  std::string wheel = folder.write(
      "py/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
      "");
  std::string newer = folder.write(
      "venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13", "");
  std::string loader = folder.write("lib/libnvrtc.so.13", "");
  Environment library("LD_LIBRARY_PATH", folder.path("lib"));
  Environment path("PATH", folder.path("py/bin"));
  {
    Environment venv("VIRTUAL_ENV", folder.path("venv"));
    EXPECT_EQ(found(), real(newer));
  }
  Environment venv("VIRTUAL_ENV", std::nullopt);
  EXPECT_EQ(found(), real(wheel));
  sys::fs::remove(wheel);
  EXPECT_EQ(found(), real(loader));
}
