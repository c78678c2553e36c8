# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The sanitizers of a build (FUSEC_SANITIZE), and what the fuzzers need.

if(FUSEC_SANITIZE)
  # ASan looks for what object-size does, which takes a sixth of compiling.
  add_compile_options(-fsanitize=${FUSEC_SANITIZE} -fno-sanitize=object-size -fno-omit-frame-pointer
                      -fno-sanitize-recover=undefined -g1)
  add_link_options(-fsanitize=${FUSEC_SANITIZE})
endif()
# libFuzzer follows what code an input reaches.
if(FUSEC_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "FUSEC_FUZZ needs clang, found ${CMAKE_CXX_COMPILER_ID}; use the preset fuzz")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# fusec_set_sanitizer_options(program)
# Puts the defaults of the sanitizers' options into a program of a sanitised build.
function(fusec_set_sanitizer_options name)
  if(FUSEC_SANITIZE)
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tools/support/SanitizerOptions.cpp)
  endif()
endfunction()
