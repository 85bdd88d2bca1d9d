# Writes a C++ source with the files of a folder in it, for src/serve/app_files.h:
#   cmake -DFOLDER=web/dist -DOUTPUT=app_files.cpp -P cmake/embed_files.cmake
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE files RELATIVE ${FOLDER} ${FOLDER}/*)
list(SORT files)
if(NOT "index.html" IN_LIST files)
  message(FATAL_ERROR "${FOLDER} holds no index.html; scripts/web builds it")
endif()

set(arrays "")
set(entries "")
set(number 0)
foreach(file IN LISTS files)
  file(READ ${FOLDER}/${file} hex HEX)
  file(SHA256 ${FOLDER}/${file} hash)
  string(SUBSTRING ${hash} 0 32 hash)
  string(REGEX REPLACE "(................................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," chars "${hex}")
  string(APPEND arrays "constexpr char file_${number}[] = {\n${chars}};\n")
  string(APPEND entries "    {\"${file}\", \"\\\"${hash}\\\"\", {file_${number}, sizeof file_${number}}},\n")
  math(EXPR number "${number} + 1")
endforeach()

file(WRITE ${OUTPUT} "// Made by cmake/embed_files.cmake.
#include \"serve/app_files.h\"

namespace terrace::serve {
namespace {

${arrays}
constexpr AppFile files[] = {
${entries}};

}  // namespace

std::span<const AppFile> app_files() { return files; }

}  // namespace terrace::serve
")
