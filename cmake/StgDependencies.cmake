# Finds what the project is built on, and says what to install where something is missing.

# LLVM's version file accepts major.minor only, and a bare `LLVM` may pick an older one.
find_package(LLVM 19.1 REQUIRED CONFIG)
if(NOT LLVM_ENABLE_RTTI)
  message(FATAL_ERROR "this LLVM was built without RTTI; ANTLR's headers need it. Debian's llvm-19-dev has it")
endif()
llvm_map_components_to_libnames(STG_LLVM_LIBS support)

find_package(Protobuf REQUIRED)
find_package(ZLIB 1.2.12 REQUIRED) # crc32_combine_gen
find_package(fmt REQUIRED)
find_package(Threads REQUIRED)
# For stg-mount only: a machine without it has all else.
find_path(FUSE3_INCLUDE fuse3/fuse_lowlevel.h)
find_library(FUSE3_LIB fuse3)
if(NOT FUSE3_INCLUDE OR NOT FUSE3_LIB)
  message(STATUS "no libfuse3: stg-mount is not built. Debian's libfuse3-dev has it")
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# ANTLR: Debian's CMake config lacks the include path, so find the parts by hand. Tool and runtime must agree on the
# format of the serialised ATN: tools from 4.10 on write version 4, runtimes from 4.10 on read version 4.
find_path(ANTLR4_RUNTIME_INCLUDE antlr4-runtime.h PATH_SUFFIXES antlr4-runtime REQUIRED)
find_library(ANTLR4_RUNTIME_LIB NAMES libantlr4-runtime.a antlr4-runtime REQUIRED)
set(ANTLR4_JAR "" CACHE FILEPATH "ANTLR tool as a jar, instead of `antlr4` in PATH")
if(ANTLR4_JAR)
  set(ANTLR4_COMMAND java -jar ${ANTLR4_JAR})
else()
  find_program(ANTLR4_TOOL antlr4 REQUIRED)
  set(ANTLR4_COMMAND ${ANTLR4_TOOL})
endif()
if(EXISTS "${ANTLR4_RUNTIME_INCLUDE}/atn/SerializedATNView.h")
  set(STG_ATN_READ 4)
else()
  set(STG_ATN_READ 3)
endif()
execute_process(COMMAND ${ANTLR4_COMMAND} OUTPUT_VARIABLE STG_ANTLR_BANNER ERROR_VARIABLE STG_ANTLR_BANNER)
string(REGEX MATCH "Version ([0-9]+\\.[0-9]+)" _ "${STG_ANTLR_BANNER}")
if(CMAKE_MATCH_1 VERSION_GREATER_EQUAL 4.10)
  set(STG_ATN_WRITTEN 4)
else()
  set(STG_ATN_WRITTEN 3)
endif()
if(NOT STG_ATN_READ EQUAL STG_ATN_WRITTEN)
  message(FATAL_ERROR "the ANTLR tool (${CMAKE_MATCH_1}) writes ATN version ${STG_ATN_WRITTEN}, the C++ runtime reads "
    "version ${STG_ATN_READ}. Install a matching pair, or `npm i antlr4ng-cli@2.0.0` and set ANTLR4_JAR to its jar")
endif()
