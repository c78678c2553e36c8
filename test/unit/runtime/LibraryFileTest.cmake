# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The shared library as a file: small, needing little, exporting its C
# functions under a version and nothing else.
# Variables: LIBRARY, SCRATCH.

cmake_minimum_required(VERSION 3.25)
find_program(STRIP strip REQUIRED)
find_program(READELF readelf REQUIRED)

file(MAKE_DIRECTORY ${SCRATCH})
execute_process(COMMAND ${STRIP} -o ${SCRATCH}/stripped.so ${LIBRARY} COMMAND_ERROR_IS_FATAL ANY)
file(SIZE ${SCRATCH}/stripped.so size)
if(size GREATER_EQUAL 1048576)
  message(SEND_ERROR "expected less than 1 MB, found ${size} bytes")
endif()

execute_process(COMMAND ${READELF} -dW ${LIBRARY} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "NEEDED[^\n]*" needed "${dynamic}")
foreach(line IN LISTS needed)
  if(NOT line MATCHES "\\[(libc|libm|libdl|libpthread|libstdc\\+\\+|libgcc_s|ld-linux-[a-z0-9-]+)\\.so\\.[0-9]+\\]")
    message(SEND_ERROR "expected system libraries only, found ${line}")
  endif()
endforeach()
if(NOT dynamic MATCHES "SONAME[^\n]*\\[libfusec_rt\\.so\\.0\\]")
  message(SEND_ERROR "expected the SONAME libfusec_rt.so.0")
endif()
if(dynamic MATCHES "R(UN)?PATH")
  message(SEND_ERROR "expected no run path")
endif()

execute_process(COMMAND ${READELF} --dyn-syms -W ${LIBRARY} OUTPUT_VARIABLE symbols
                COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" lines "${symbols}")
set(functions 0)
foreach(line IN LISTS lines)
  if(line MATCHES "GLIBC_2\\.([0-9]+)" AND CMAKE_MATCH_1 GREATER 35)
    message(SEND_ERROR "expected no symbol above GLIBC_2.35, found ${line}")
  endif()
  if(line MATCHES " (GLOBAL|WEAK) +DEFAULT +[0-9]+ +([^ ]+)")
    set(symbol ${CMAKE_MATCH_2})
    if(NOT symbol MATCHES "^fusec_[a-z_]+@@FUSEC_0$")
      message(SEND_ERROR "expected symbols fusec_*@@FUSEC_0 only, found ${symbol}")
    endif()
    math(EXPR functions "${functions} + 1")
  endif()
endforeach()
if(functions LESS 20)
  message(SEND_ERROR "expected at least 20 exported functions, found ${functions}")
endif()
