# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ASan and UBSan: for everything (FUSEC_SANITIZE), or for second copies of the
# libraries that read untrusted files, which the tests of damaged files link in
# every build.

set(FUSEC_SANITIZER_FLAGS -fno-omit-frame-pointer -fno-sanitize-recover=undefined -g1)
if(FUSEC_SANITIZE)
  add_compile_options(-fsanitize=${FUSEC_SANITIZE} ${FUSEC_SANITIZER_FLAGS})
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

# fusec_add_sanitized_copy(library [OBJECTS objects])
# library-sanitized: a static library of the same sources (or those of an object
# library). It is built with -O1, which takes less time than the original. A
# program links copies or originals, never both of one library.
function(fusec_add_sanitized_copy library)
  cmake_parse_arguments(ARG "" "OBJECTS" "" ${ARGN})
  if(NOT FUSEC_BUILD_TESTS)
    return()
  endif()
  set(copy ${library}-sanitized)
  if(FUSEC_SANITIZE)
    add_library(${copy} ALIAS ${library})
    return()
  endif()
  set(origin ${library})
  if(ARG_OBJECTS)
    set(origin ${ARG_OBJECTS})
  endif()
  get_target_property(sources ${origin} SOURCES)
  get_target_property(dependencies ${origin} MANUALLY_ADDED_DEPENDENCIES)
  add_library(${copy} STATIC ${sources})
  target_include_directories(${copy} PUBLIC $<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>
                                     PRIVATE $<TARGET_PROPERTY:${origin},INCLUDE_DIRECTORIES>)
  if(dependencies)
    add_dependencies(${copy} ${dependencies})
  endif()
  foreach(target IN ITEMS ${library} ${ARG_OBJECTS})
    get_target_property(used ${target} LINK_LIBRARIES)
    foreach(item IN LISTS used)
      if(TARGET ${item}-sanitized)
        set(item ${item}-sanitized)
      endif()
      if(item)
        target_link_libraries(${copy} PUBLIC ${item})
      endif()
    endforeach()
  endforeach()
  target_compile_options(${copy} PUBLIC -fsanitize=address,undefined ${FUSEC_SANITIZER_FLAGS} -O1)
  target_link_options(${copy} PUBLIC -fsanitize=address,undefined)
  target_sources(${copy} INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:${PROJECT_SOURCE_DIR}/tools/support/SanitizerOptions.cpp>)
endfunction()
