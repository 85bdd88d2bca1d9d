// The web app's files, made part of the program when it is built.
#pragma once

#include <span>
#include <string_view>

namespace terrace::serve {

struct AppFile {
  std::string_view path;  ///< such as index.html or app/app.js
  std::string_view etag;  ///< by the content, with its quotes
  std::string_view body;
};

/// What web/dist holds.
std::span<const AppFile> app_files();

}  // namespace terrace::serve
