# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs that run wherever glibc 2.35 does: everything else is inside.

# Read by find_package(Protobuf), which follows in the folders that need it.
set(Protobuf_USE_STATIC_LIBS ON)

# fusec_add_tool(name [INSTALL] SOURCES a.cpp ... LIBS x y ...)
# A relocatable program; INSTALL puts a stripped copy into bin/. A test checks
# that it needs neither a newer glibc nor another shared library.
function(fusec_add_tool name)
  cmake_parse_arguments(ARG "INSTALL" "" "SOURCES;LIBS" ${ARGN})
  set(root ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/..)
  add_executable(${name} ${ARG_SOURCES} ${root}/tools/support/Arc4Random.cpp)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS})
  target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc)
  fusec_set_sanitizer_options(${name})
  # Without a shared library of its own around, a search path would only name
  # the machine that built it.
  set_target_properties(${name} PROPERTIES SKIP_BUILD_RPATH ON)
  if(ARG_INSTALL)
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(CODE "execute_process(COMMAND \"${CMAKE_STRIP}\"
                  \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/${name}\" COMMAND_ERROR_IS_FATAL ANY)")
  endif()
  if(FUSEC_BUILD_TESTS AND NOT FUSEC_SANITIZE)
    add_test(NAME ${name}-symbols COMMAND ${root}/tools/check-symbols.sh $<TARGET_FILE:${name}>)
  endif()
endfunction()
