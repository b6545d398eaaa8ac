# One function per kind of target, so that every folder's CMakeLists.txt is a list of names.

add_library(stg_options INTERFACE)
target_compile_features(stg_options INTERFACE cxx_std_20)
target_compile_options(stg_options INTERFACE -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers
  -Wno-dangling-reference)
# GCC 12 has no -Wno-dangling-reference and ignores it silently unless something else is wrong.
target_compile_definitions(stg_options INTERFACE STG_VERSION="${PROJECT_VERSION}")
target_include_directories(stg_options INTERFACE "${CMAKE_SOURCE_DIR}/include")
target_include_directories(stg_options SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_libraries(stg_options INTERFACE fmt::fmt Threads::Threads)
if(STG_CHECKED)
  target_compile_definitions(stg_options INTERFACE STG_CHECKED=1)
endif()
if(STG_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
  # The tables of sanitizers are full of addresses: two million relocations, most of what a process takes to start.
  add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  target_compile_definitions(stg_options INTERFACE STG_SANITIZE=1)
endif()
if(STG_FUZZ)
  # Coverage of the code under test; only the fuzz targets themselves link libFuzzer's main.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# stg_library(Name DEPENDS Other...): lib/Name/*.cpp as target stgName. A folder without sources yet is header-only.
function(stg_library name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/lib/${name}/*.cpp")
  list(TRANSFORM arg_DEPENDS PREPEND stg)
  if(sources)
    add_library(stg${name} STATIC ${sources})
    # What is installed does not pass our options on.
    target_link_libraries(stg${name} PUBLIC $<BUILD_INTERFACE:stg_options> ${arg_DEPENDS} ${arg_LINK})
  else()
    add_library(stg${name} INTERFACE)
    target_link_libraries(stg${name} INTERFACE stg_options ${arg_DEPENDS} ${arg_LINK})
  endif()
endfunction()

# stg_tool(stg-opt DEPENDS Other...): tools/stg-opt/*.cpp, installed into bin.
function(stg_tool name)
  cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tools/${name}/*.cpp")
  list(TRANSFORM arg_DEPENDS PREPEND stg)
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE stg_options ${arg_DEPENDS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  install(TARGETS ${name} RUNTIME DESTINATION bin)
endfunction()

# stg_unittest(Name DEPENDS Other...): unittests/Name/*.cpp as one GoogleTest binary, with the main of stgTestMain.
# NO_TEST: the caller says how ctest runs it.
function(stg_unittest name)
  cmake_parse_arguments(arg "NO_TEST" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/unittests/${name}/*.cpp")
  if(NOT sources)
    return()
  endif()
  list(TRANSFORM arg_DEPENDS PREPEND stg)
  add_executable(${name}Tests ${sources})
  target_link_libraries(${name}Tests PRIVATE stg_options stgTestMain stg${name} ${arg_DEPENDS} GTest::gtest GTest::gmock)
  target_include_directories(${name}Tests PRIVATE "${CMAKE_SOURCE_DIR}/unittests")
  if(NOT arg_NO_TEST)
    add_test(NAME unit-${name} COMMAND ${name}Tests)
  endif()
endfunction()
