# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs the library, moves the tree, builds a project against it through
# find_package and through pkg-config, and runs both.
# Variables: BUILD, SCRATCH, CONSUMER, CXX, FLAGS, DRIVER, WRITER.

cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nexpected status 0, found ${status}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(run_consumer program)
  run(${CMAKE_COMMAND} -E env FUSEC_DRIVER=${DRIVER} LD_LIBRARY_PATH=${SCRATCH}/moved/lib
      ${program} ${SCRATCH}/model.fusec)
  if(NOT output MATCHES "sm_90a: 2 launches, z\\[0\\] = 3")
    message(FATAL_ERROR "${program}: unexpected output: ${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})
run(${WRITER} ${SCRATCH}/model.fusec)
run(${CMAKE_COMMAND} --install ${BUILD} --component runtime --prefix ${SCRATCH}/installed)
file(RENAME ${SCRATCH}/installed ${SCRATCH}/moved)

run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${SCRATCH}/consumer -DCMAKE_PREFIX_PATH=${SCRATCH}/moved
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${FLAGS})
run(${CMAKE_COMMAND} --build ${SCRATCH}/consumer)
run_consumer(${SCRATCH}/consumer/consumer)
run_consumer(${SCRATCH}/consumer/consumer-static)

find_program(PKG_CONFIG pkg-config REQUIRED)
run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${SCRATCH}/moved/lib/pkgconfig
    ${PKG_CONFIG} --cflags --libs fusec)
separate_arguments(arguments UNIX_COMMAND "${FLAGS} ${output}")
run(${CXX} -std=c++17 ${CONSUMER}/main.cpp -o ${SCRATCH}/consumer-pc ${arguments})
run_consumer(${SCRATCH}/consumer-pc)
