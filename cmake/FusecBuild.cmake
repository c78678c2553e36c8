# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compiler settings that every target shares, and the helpers that define
# libraries and unit tests.

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Most of a file's time are templates that its neighbours instantiate as well, so
# that several are compiled as one: six passes take 11 s instead of 27. Who works on
# one file for long switches it off: -DCMAKE_UNITY_BUILD=OFF.
if(NOT DEFINED CMAKE_UNITY_BUILD)
  set(CMAKE_UNITY_BUILD ON)
endif()
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
# The same sources must give the same binary wherever they lie.
add_compile_options(-Wall -Wextra -Wno-unused-parameter -ffunction-sections -fdata-sections
                    -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
find_program(FUSEC_LLD ld.lld)
if(FUSEC_LLD)
  add_link_options(-fuse-ld=lld)
endif()
add_link_options(-Wl,--gc-sections)
include(FusecSanitize)

# fusec_add_library(name SOURCES a.cpp ... LIBS x y ...)
# A static library of the compiler; includes are relative to the project root.
function(fusec_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_LIBS})
endfunction()

# fusec_precompile(name [FROM owner])
# Most of what a file of the compiler takes to compile is reading the dialect and
# the MLIR headers under it. They are compiled once for `owner`, and read as that
# by all that name it.
function(fusec_precompile name)
  cmake_parse_arguments(ARG "" "FROM" "" ${ARGN})
  if(ARG_FROM)
    target_precompile_headers(${name} REUSE_FROM ${ARG_FROM})
  else()
    target_precompile_headers(${name} PRIVATE
      <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/PatternMatch.h> <mlir/Pass/Pass.h>
      <llvm/ADT/StringSwitch.h> <llvm/Support/FormatVariadic.h> <llvm/Support/MemoryBuffer.h>
      <algorithm> <map> <memory> <optional> <set> <string> <vector>
      ${PROJECT_SOURCE_DIR}/ir/FusecOps.h)
  endif()
  # What ccache needs to keep such files.
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()

# fusec_compile_alone(a.cpp ...)
# Files of the current folder's targets whose names are those of other files too.
function(fusec_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# What ThreadSanitizer is run on: programs with threads, the label of their
# tests, and the target that builds no more than them.
add_custom_target(threads)
# What reads damaged files, in the same way: tools/test.sh builds and runs it
# with the preset fuzz, where all is sanitised.
add_custom_target(damaged)

# fusec_add_unittest(name [THREADS] [DAMAGED] SOURCES a.cpp ... LIBS x y ...)
# A GoogleTest program, registered with CTest under its own name.
function(fusec_add_unittest name)
  cmake_parse_arguments(ARG "THREADS;DAMAGED" "" "SOURCES;LIBS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest GTest::gtest_main)
  fusec_set_sanitizer_options(${name})
  add_test(NAME ${name} COMMAND ${name})
  set(labels "")
  if(ARG_THREADS)
    list(APPEND labels threads)
    add_dependencies(threads ${name})
  endif()
  if(ARG_DAMAGED)
    list(APPEND labels damaged)
    add_dependencies(damaged ${name})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}")
endfunction()
