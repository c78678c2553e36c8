# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# fmt, for text with values in it. Debian has it as a shared library, which a
# relocatable program may not need, and as headers, so that it is built here.
# Nothing of the runtime library links it.

find_package(fmt 9 REQUIRED)
add_library(FusecFmt STATIC ${PROJECT_SOURCE_DIR}/tools/support/Fmt.cpp)
target_include_directories(FusecFmt SYSTEM PUBLIC
  $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)
